"""The rules of Osiron, over one position.

Spaces, the triangles of a hexagon (their index runs along the rows from ``a1``):

    d |      19 20 21 22 23
    c |   12 13 14 15 16 17 18
    b |    5  6  7  8  9 10 11
    a |       0  1  2  3  4

They border along the rows, and up and down where the triangles share a side. The 30 bordering
pairs are the actions, sorted by lower and higher space. Player 0 is light: all that is not
light is dark. The canonical
turn is by half, ``space -> 23 - space``.

Much here is integers that stand for several things at once:

- a set of spaces has bit ``space`` set for each of them, a set of pairs likewise;
- counts are one hexadecimal digit for each of the seven circles, so that they can be added;
- a set of circles has the highest bit of each one's digit set.

Tables:

- ``ends`` [30, 2]: the lower and the higher space of each pair;
- ``exchange`` [31]: the set of these two, empty for `NO_PAIR`;
- ``beside`` [30]: the set of the other pairs that have a space in common with each pair;
- ``ones_around`` [24]: counts, one for each circle that a space lies in;
- ``gained`` [30]: counts that light gains by going from the lower to the higher space;
- ``counting`` [2]: the set of circles that count for each player;
- ``excluded`` [2]: the set of spaces of the circles that do not;
- ``start``: the light spaces at the start; ``is_random``: draw them instead;
- ``repetition``: occurrences of a position that end the game, or 0; ``max_plies``: the ply cap;
- ``space_at`` [28]: the set of the one space on each cell of the observation; empty for the cells
  beside the board;
- ``counting_around`` [2, 28]: the set of circles around that space that count for each player.
"""

import numpy as np

from ..engine import rule as engine
from ..engine.rule import rule

SPACES = 24
PAIRS = 30
CIRCLES = 7
CELLS = 28  # of the observation: four rows of seven, of which the spaces are 24

ALL_SPACES = (1 << SPACES) - 1
NO_PAIR = PAIRS

ONES = 0x1111111  # counts: one for each circle
CIRCLE_SIZE = 6

# Observation planes; "own" means the observing player's.
OWN_PIECES, OTHER_PIECES = range(2)
OWN_THREE, OWN_FOUR, OWN_FIVE, OTHER_THREE, OTHER_FOUR, OTHER_FIVE = range(2, 8)
FORBIDDEN, OWN_EXCLUDED, OTHER_EXCLUDED, BOARD, IS_LIGHT = range(8, 13)
NUM_PLANES = 13


def state_dtype(turns_kept: int) -> np.dtype:
    """The position, and the positions before it.

    ``light`` is the set of spaces with a light piece, ``mixed`` the set of pairs with one piece
    of each colour, ``light_around`` counts the light pieces in each circle; ``forbidden`` is the
    pair exchanged last, or `NO_PAIR`. ``history[mover, turn]`` is the `position_key` that each
    player had before them in each of their turns, and zero where there is none yet.
    """
    return engine.state_dtype(
        ("forbidden", np.uint8),
        ("light", np.int32),
        ("mixed", np.int32),
        ("light_around", np.int32),
        ("history", np.int32, (2, turns_kept)),
    )


@rule
def init(tables, state, rng):
    """Write the start of the setup, or draw one."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.forbidden = NO_PAIR
    state.light = _random_start(tables, rng) if tables.is_random else tables.start
    state.mixed = _mixed_pairs(tables, int(state.light))
    state.light_around = _light_around(tables, int(state.light))
    for mover in range(2):
        for turn in range(state.history.shape[1]):
            state.history[mover, turn] = 0
    state.history[0, 0] = position_key(state)


@rule
def is_legal(tables, state, action):
    """Exchange two pieces of different colours, but not the two exchanged last."""
    return (int(state.mixed) >> action & 1) & (action != int(state.forbidden))


@rule
def step(tables, state, action):
    """Exchange the two pieces: both change colour, and so all pairs with one of them mix or not."""
    mover = int(state.mover)
    gained = int(tables.gained[action])
    is_lower_light = state.light >> int(tables.ends[action, 0]) & 1
    state.light_around += gained if is_lower_light else -gained
    state.light ^= tables.exchange[action]
    state.mixed ^= tables.beside[action]
    state.forbidden = action
    state.ply += 1
    state.mover = 1 - mover
    light_around = int(state.light_around)
    if has_circle(tables, light_around, mover):
        state.outcome = engine.PLAYER_0_WINS + mover
    elif has_circle(tables, light_around, 1 - mover):
        state.outcome = engine.PLAYER_0_WINS + 1 - mover
    elif tables.repetition > 0 and _note_position(state) >= tables.repetition:
        state.outcome = engine.DRAW
    elif state.ply >= tables.max_plies:
        state.outcome = engine.TRUNCATED


@rule
def observe(tables, state, player, planes):
    """Thirteen planes over the cells (constants above).

    The planes ``OWN_THREE`` to ``OTHER_FIVE`` show the spaces of circles that count for a player
    and hold at least so many of their pieces.
    """
    own = pieces(int(state.light), player)
    other = pieces(int(state.light), 1 - player)
    own_count = pieces_around(int(state.light_around), player)
    own_three = at_least(own_count, 3)
    own_four = at_least(own_count, 4)
    own_five = at_least(own_count, 5)
    other_count = pieces_around(int(state.light_around), 1 - player)
    other_three = at_least(other_count, 3)
    other_four = at_least(other_count, 4)
    other_five = at_least(other_count, 5)
    forbidden = int(tables.exchange[state.forbidden])
    own_excluded = int(tables.excluded[player])
    other_excluded = int(tables.excluded[1 - player])
    for cell in range(CELLS):
        space = int(tables.space_at[cell])
        own_around = int(tables.counting_around[player, cell])
        other_around = int(tables.counting_around[1 - player, cell])
        planes[OWN_PIECES, cell] = own & space != 0
        planes[OTHER_PIECES, cell] = other & space != 0
        planes[OWN_THREE, cell] = own_three & own_around != 0
        planes[OWN_FOUR, cell] = own_four & own_around != 0
        planes[OWN_FIVE, cell] = own_five & own_around != 0
        planes[OTHER_THREE, cell] = other_three & other_around != 0
        planes[OTHER_FOUR, cell] = other_four & other_around != 0
        planes[OTHER_FIVE, cell] = other_five & other_around != 0
        planes[FORBIDDEN, cell] = forbidden & space != 0
        planes[OWN_EXCLUDED, cell] = own_excluded & space != 0
        planes[OTHER_EXCLUDED, cell] = other_excluded & space != 0
        planes[BOARD, cell] = space != 0
        planes[IS_LIGHT, cell] = player == 0


@rule
def score(tables, state):
    """Estimate who is ahead: each further piece in a circle that counts doubles its weight."""
    lead = 0
    for player in range(2):
        around = pieces_around(int(state.light_around), player)
        for circle in range(CIRCLES):
            is_counting = tables.counting[player] >> 4 * circle + 3 & 1
            lead += (1 - 2 * player) * (is_counting << (around >> 4 * circle & 7))
    return lead


@rule
def is_turned(tables, state, player):
    """True for the dark player, who sees the board turned by half, as light sees it."""
    return player == 1


@rule
def pieces(light, player):
    """The set of spaces with a piece of ``player``, where ``light`` has player 0's."""
    return light ^ (ALL_SPACES if player else 0)


@rule
def pieces_around(light_around, player):
    """The counts of pieces of ``player``, where ``light_around`` has player 0's."""
    return CIRCLE_SIZE * ONES - light_around if player else light_around


@rule
def at_least(around, number):
    """The set of circles of which ``around`` counts at least ``number``, from 1 to 8."""
    return around + (8 - number) * ONES & 8 * ONES


@rule
def has_circle(tables, light_around, player):
    """Whether ``player`` fully occupies a circle that counts for them."""
    occupied = at_least(pieces_around(light_around, player), CIRCLE_SIZE)
    return occupied & tables.counting[player] != 0


@rule
def position_key(state):
    """Colouring and forbidden pair in 29 bits; with the player to move, the position."""
    return int(state.light) | int(state.forbidden) << SPACES


@rule
def _note_position(state):
    """Write the position into the history; return how often it is there now."""
    key = np.int32(position_key(state))
    mover = state.ply & 1
    turn = state.ply >> 1
    count = 1
    for earlier in range(turn):
        count += state.history[mover, earlier] == key
    state.history[mover, turn] = key
    return count


@rule
def _mixed_pairs(tables, light):
    mixed = 0
    for pair in range(PAIRS):
        lower = light >> int(tables.ends[pair, 0])
        higher = light >> int(tables.ends[pair, 1])
        mixed |= ((lower ^ higher) & 1) << pair
    return mixed


@rule
def _light_around(tables, light):
    """The pieces in each circle, where ``light`` is the set of spaces with one."""
    around = 0
    for space in range(SPACES):
        around += (light >> space & 1) * int(tables.ones_around[space])
    return around


@rule
def _random_start(tables, rng):
    """A random half of the spaces, all halves without a complete circle being as likely."""
    light = _random_half(rng)
    light_around = _light_around(tables, light)
    while has_circle(tables, light_around, 0) or has_circle(tables, light_around, 1):
        light = _random_half(rng)
        light_around = _light_around(tables, light)
    return light


@rule
def _random_half(rng):
    light = 0
    wanted = SPACES // 2
    for space in range(SPACES):
        is_taken = engine.random_below(rng, SPACES - space) < wanted
        light |= is_taken << space
        wanted -= is_taken
    return light
