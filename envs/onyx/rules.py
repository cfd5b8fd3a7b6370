r"""The rules of Onyx, over one position.

The board of size 6, rank 1 at the bottom. Between four corners lies a unit cell: without a diagonal
it is a square, which has a midpoint; a diagonal divides it into two triangles:

    6 +---+---+---+---+---+        Places: the corner of file and rank f, r (from 0) has the
      | / |   | / |   | / |        place r * size + f, the midpoint of the square to the upper
    5 +---+---+---+---+---+        right of that corner the place size**2 + r * size + f.
      |   | \ |   | \ |   |        So corners and midpoints are two boards of size**2 places;
    4 +---+---+---+---+---+        where there is no square, a midpoint's place stays empty.
      | / |   | / |   | / |
    3 +---+---+---+---+---+        Points: where stones can go: the corners, then the midpoints by
      |   | \ |   | \ |   |        place and without gaps. Actions: the points, then the swap.
    2 +---+---+---+---+---+
      | / |   | / |   | / |        Colours: V joins rank 1 to the last rank, H file a to the
    1 +---+---+---+---+---+        last file. Swapping sides swaps who plays which.
      a   b   c   d   e   f

The canonical turn is the transposition, files for ranks: then H joins bottom to top, as V does.
It turns squares into squares and leaves the diagonals as they are.

Tables (n = size**2 corners, 2 n places):

- ``places`` [points]: the place of each point;
- ``neighbours`` [2 n, 7]: the places that lines join to a place, filled up with itself;
- ``edges`` [2, 2 n]: `FIRST` or `LAST` where a place is on that edge of a colour, else 0;
  ``rim`` [2, 2 size]: the places on either edge of a colour;
- ``square_count`` [n]: how many squares a corner belongs to; ``squares``, ``opposites`` [n, 2]
  and ``sides`` [n, 2, 2]: their numbers (in the order of the midpoints), the opposite corner in
  each and the other two; ``middles`` [squares]: the places of their midpoints;
- ``is_square``, ``is_rising`` [n]: whether the unit cell to the upper right of a corner is a
  square, or has a rising diagonal;
- ``start_*``: fields of the start; ``swap_ply``: plies played when swapping is allowed, or -1;
  ``max_plies``: the ply cap.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule

# Colours.
V = 0
H = 1

# Contents of a place, as bits. A stone is STONE << colour, with FIRST or LAST or both if stones of
# its colour connect it to the first edge (rank 1, file a) or the last edge of that colour.
EMPTY = 0
STONE = 1
STONES = 3
FIRST = 4
LAST = 8
JOINED = FIRST | LAST

# Observation planes; "own" means the observing player's. MAY_SWAP exists under the swap rule.
OWN_CORNERS, OTHER_CORNERS, OWN_MIDPOINTS, OTHER_MIDPOINTS = range(4)
JOINED_FIRST, JOINED_LAST = 4, 5
SQUARES, RISING_DIAGONALS, PLAYS_V, MAY_SWAP = range(6, 10)


def state_dtype(size: int, squares: int) -> np.dtype:
    """The dtype of a position: what each place holds, who plays V, and what follows from them.

    - ``v_player``: index of the player whose colour is V;
    - ``open``: whether each action may be played; the end of the game does not clear it;
    - ``occupied``: how many corners of each square have stones;
    - ``board``: what each place holds;
    - ``wave``: scratch space for walks along chains.
    """
    corners = size**2
    return engine.state_dtype(
        ("v_player", np.int8),
        ("open", np.int8, (corners + squares + 1,)),
        ("occupied", np.int8, (squares,)),
        ("board", np.uint8, (2 * corners,)),
        ("wave", np.uint16, (corners + squares,)),
        scratch=("wave",),
    )


@rule
def init(tables, state, rng):
    """Write the start."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.v_player = 0
    for action in range(len(state.open)):
        state.open[action] = tables.start_open[action]
    for square in range(len(state.occupied)):
        state.occupied[square] = tables.start_occupied[square]
    for place in range(len(state.board)):
        state.board[place] = tables.start_board[place]
    for entry in range(len(state.wave)):
        state.wave[entry] = 0


@rule
def is_legal(tables, state, action):
    """Whether the point is open, or the swap of sides is offered."""
    return state.open[action] == 1


@rule
def step(tables, state, action):
    """Put a stone on a point, or swap sides."""
    swap = len(state.open) - 1
    mover = int(state.mover)
    state.ply += 1
    state.mover = 1 - mover
    if action == swap:
        state.v_player = 1 - int(state.v_player)
    elif _place_stone(tables, state, action, mover ^ int(state.v_player)):
        state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    state.open[swap] = state.ply == tables.swap_ply
    if state.outcome == engine.ONGOING and state.ply >= tables.max_plies:
        state.outcome = engine.TRUNCATED


@rule
def observe(tables, state, player, planes):
    """Write the planes of the constants above; unit cells are seen at their lower left corners."""
    # One branch for each colour: its bits are then constants, which makes the code faster.
    if player == state.v_player:
        _observe_as(tables, state, V, planes)
    else:
        _observe_as(tables, state, H, planes)


@rule
def is_turned(tables, state, player):
    """True for the player of H, who joins bottom to top, like V, once the board is turned."""
    return player != state.v_player


@rule
def _observe_as(tables, state, colour, planes):
    corners = planes.shape[1]
    own = STONE << colour
    other = STONE << (1 - colour)
    for cell in range(corners):
        content = state.board[cell]
        middle = state.board[corners + cell]
        planes[OWN_CORNERS, cell] = (content & own) != 0
        planes[OTHER_CORNERS, cell] = (content & other) != 0
        planes[OWN_MIDPOINTS, cell] = (middle & own) != 0
        planes[OTHER_MIDPOINTS, cell] = (middle & other) != 0
        planes[JOINED_FIRST, cell] = (content & FIRST) != 0
        planes[JOINED_LAST, cell] = (content & LAST) != 0
        planes[SQUARES, cell] = tables.is_square[cell]
        planes[RISING_DIAGONALS, cell] = tables.is_rising[cell]
        planes[PLAYS_V, cell] = colour == V
    if planes.shape[0] > MAY_SWAP:
        may_swap = state.open[len(state.open) - 1]
        for cell in range(corners):
            planes[MAY_SWAP, cell] = may_swap


@rule
def _place_stone(tables, state, point, colour):
    """Put a stone of ``colour`` on the point; return whether it joins the colour's edges."""
    corners = len(state.board) // 2
    place = int(tables.places[point])
    state.open[point] = 0
    if point < corners:
        for k in range(tables.square_count[point]):
            count_corner(tables, state, int(tables.squares[point, k]), 1)
        _capture(tables, state, point, colour)
    return _connect(tables, state, place, colour) == JOINED


@rule
def _capture(tables, state, corner, colour):
    """Remove the stones that a stone of ``colour`` captures by going to the empty ``corner``.

    The squares of a corner share no other corner, so a loss in one does not affect the other.
    """
    own = STONE << colour
    other = STONE << (1 - colour)
    lost = 0
    for k in range(tables.square_count[corner]):
        if crosses(tables, state, corner, k, own, other):
            for side in range(2):
                lost |= int(state.board[tables.sides[corner, k, side]])
                _remove(tables, state, int(tables.sides[corner, k, side]))
    if (lost & JOINED) != 0:
        join_anew(tables, state, 1 - colour)


@rule
def crosses(tables, state, corner, k, own, other):
    """Whether a stone ``own`` on a corner captures two of ``other`` in the k-th of its squares."""
    opposite = int(state.board[tables.opposites[corner, k]])
    one = int(state.board[tables.sides[corner, k, 0]])
    two = int(state.board[tables.sides[corner, k, 1]])
    middle = int(state.board[tables.middles[tables.squares[corner, k]]])
    return (opposite & own) != 0 and (one & two & other) != 0 and middle == EMPTY


@rule
def _remove(tables, state, corner):
    """Take the stone on a corner off the board."""
    state.board[corner] = EMPTY
    state.open[corner] = 1
    for k in range(tables.square_count[corner]):
        count_corner(tables, state, int(tables.squares[corner, k]), -1)


@rule
def count_corner(tables, state, square, change):
    """Add ``change`` to the occupied corners of a square; its midpoint opens or closes."""
    occupied = state.occupied[square] + change
    middle = state.board[tables.middles[square]]
    state.occupied[square] = occupied
    state.open[len(state.board) // 2 + square] = (occupied == 0) & (middle == EMPTY)


@rule
def _connect(tables, state, place, colour):
    """Write a new stone, and the edges that its neighbours or its own place connect its chain to.

    Returns these edges: ``FIRST``, ``LAST``, both or none.
    """
    own = STONE << colour
    joined = int(tables.edges[colour, place])
    for k in range(tables.neighbours.shape[1]):
        content = int(state.board[tables.neighbours[place, k]])
        joined |= (content & JOINED) * ((content & own) != 0)
    state.board[place] = own | joined
    if joined != 0:
        _spread(tables, state, place, own, joined)
    return joined


@rule
def _spread(tables, state, origin, own, joined):
    """Connect the whole chain of the stone at ``origin`` to the edges ``joined``."""
    state.wave[0] = origin
    waiting = 1
    while waiting > 0:
        waiting -= 1
        place = int(state.wave[waiting])
        state.wave[waiting] = 0
        for k in range(tables.neighbours.shape[1]):
            neighbour = int(tables.neighbours[place, k])
            content = int(state.board[neighbour])
            if (content & own) != 0 and (content & joined) != joined:
                state.board[neighbour] = content | joined
                state.wave[waiting] = neighbour
                waiting += 1


@rule
def join_anew(tables, state, colour):
    """Recompute which stones of ``colour`` are connected to its edges."""
    own = STONE << colour
    for place in range(len(state.board)):
        content = int(state.board[place])
        if (content & own) != 0:
            state.board[place] = own
    for k in range(tables.rim.shape[1]):
        place = int(tables.rim[colour, k])
        content = int(state.board[place])
        joined = int(tables.edges[colour, place])
        if (content & own) != 0 and (content & joined) != joined:
            state.board[place] = content | joined
            _spread(tables, state, place, own, joined)
