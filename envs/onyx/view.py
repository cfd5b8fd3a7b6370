"""What people see of a position of Onyx.

There are four runs of slots. The first three have one slot for each place, numbered as in the
rules: what lies there; the dark edge of the line from there to the next place of the winning
chain; and that line itself, a separate slot so that it lies above all edges. The last run has a
slot for each point: the mark of the last action. View tables: none.
"""

from ..engine.position_text import FINE, OWN, note, plies_of, say
from ..engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED, rule
from .rules import (
    EMPTY,
    FIRST,
    JOINED,
    LAST,
    STONE,
    STONES,
    H,
    V,
    count_corner,
    crosses,
    init,
    join_anew,
)

#: Choices of a place: 0, nothing; 1 and 2, a stone, numbered as in the rules; GHOST + 1 and
#: GHOST + 2, where such a stone was captured; MIDPOINT, a midpoint that may be taken.
GHOST = 2
MIDPOINT = 5
#: Choices of a line and its edge: none, or LINK + the number of the neighbour it leads to.
LINK = 1

#: Reasons why a point cannot be chosen, or sides cannot be swapped.
IS_TAKEN, NO_MIDPOINT, NO_SWAP_RULE, NO_SWAP_NOW = range(4)

#: Fields of a position's text, and its faults, the first two by colour.
MIDPOINTS, PLIES, SWAPPED = range(3)
UNEVEN, IS_OVER, CROSSED = OWN, OWN + 2, OWN + 4


@rule
def show(tables, view, before, state, action, shown):
    """Write stones, captured ones, open midpoints, the winning chain, and the last action."""
    places = len(state.board)
    swap = len(state.open) - 1
    for place in range(places):
        stone = int(state.board[place]) & STONES
        taken = int(before.board[place]) & STONES
        shown[place] = taken + GHOST if (stone == EMPTY) & (taken != EMPTY) else stone
        shown[places + place] = 0
        shown[2 * places + place] = 0
    for midpoint in range(places // 2, swap):
        if state.outcome == ONGOING and state.open[midpoint]:
            shown[tables.places[midpoint]] = MIDPOINT
    if (state.outcome == PLAYER_0_WINS) | (state.outcome == PLAYER_1_WINS):
        winner = int(state.outcome == PLAYER_1_WINS)
        _show_chain(tables, state, winner ^ int(state.v_player), shown)
    for point in range(swap):
        shown[3 * places + point] = int(point == action)


@rule
def task(tables, state):
    """1 if sides may be swapped."""
    return int(state.open[len(state.open) - 1])


@rule
def reason(tables, state, action):
    """The reason follows from whether sides can be swapped at all, or what is on the point."""
    swap = len(state.open) - 1
    if action == swap:
        return NO_SWAP_RULE if tables.swap_ply < 0 else NO_SWAP_NOW
    is_taken = (state.board[tables.places[action]] & STONES) != EMPTY
    return IS_TAKEN if is_taken else NO_MIDPOINT


@rule
def role(tables, state, player):
    """The player's colour."""
    return player ^ int(state.v_player)


@rule
def takes(tables, before, state, cell):
    """Whether a stone was captured."""
    return ((before.board[cell] & STONES) != EMPTY) & ((state.board[cell] & STONES) == EMPTY)


@rule
def give_turn(tables, state):
    """Let the other player move: the same points are open, but not the swap."""
    state.mover = 1 - state.mover
    state.open[len(state.open) - 1] = 0
    return True


@rule
def _show_chain(tables, state, colour, shown):
    """Show a shortest chain that joins the edges of a colour, found from the first to the last.

    Until it is found, the slots of the lines hold 1 + the place from which each place was reached,
    and those of their edges the places in the order in which they were reached.
    """
    places = len(state.board)
    own = STONE << colour
    reached = 0
    for place in range(places):
        is_first = (tables.edges[colour, place] & FIRST) != 0
        if is_first and (state.board[place] & own) != 0:
            shown[2 * places + place] = 1 + place
            shown[places + reached] = place
            reached += 1
    looked_at = 0
    end = -1
    while looked_at < reached and end < 0:
        place = int(shown[places + looked_at])
        looked_at += 1
        if (tables.edges[colour, place] & LAST) != 0:
            end = place
        for k in range(tables.neighbours.shape[1]):
            near = int(tables.neighbours[place, k])
            if (state.board[near] & own) != 0 and shown[2 * places + near] == 0:
                shown[2 * places + near] = 1 + place
                shown[places + reached] = near
                reached += 1
    _show_links(tables, shown, end, places)


@rule
def _show_links(tables, shown, end, places):
    """Show the lines from ``end`` to where `_show_chain` began, and no others."""
    for place in range(places):
        shown[places + place] = 0
    place = end
    while place >= 0:
        previous = int(shown[2 * places + place]) - 1
        for k in range(tables.neighbours.shape[1]):
            if tables.neighbours[place, k] == previous:
                shown[places + place] = LINK + k
        place = previous if previous != place else -1
    for other in range(places):
        shown[2 * places + other] = shown[places + other]


@rule
def write_text(tables, state, said):
    """Write the stones, and the plies that they do not tell."""
    corners = len(state.board) // 2
    for corner in range(corners):
        said.board[corner] = state.board[corner] & STONES
    for square in range(len(state.occupied)):
        stone = int(state.board[tables.middles[square]]) & STONES
        if stone != EMPTY:
            say(said, MIDPOINTS, 2 * square + stone - STONE)
    if state.ply != _least_plies(tables, state):
        say(said, PLIES, int(state.ply))
    if state.v_player:
        say(said, SWAPPED, 0)


@rule
def read_text(tables, state, said):
    """Write the position with these stones, and the connections that follow."""
    init(tables, state, None)
    corners, swap, mover = len(state.board) // 2, len(state.open) - 1, int(said.mover)
    for place in range(len(state.board)):
        state.board[place] = said.board[place] if place < corners else EMPTY
    for number in range(said.counts[MIDPOINTS]):
        value = int(said.values[MIDPOINTS, number])
        state.board[tables.middles[value >> 1]] = STONE + (value & 1)
    if tables.swap_ply >= 0 and said.counts[SWAPPED] > 0:
        state.v_player = 1
    state.mover = mover
    least = _least_plies(tables, state)
    if least < 0:
        note(said, _stones(state.board, V), _stones(state.board, H), 0)
        return UNEVEN + (mover ^ int(state.v_player))
    plies = plies_of(said, PLIES, least, int(tables.max_plies), 4)
    if plies < 0:
        return -plies
    state.ply = plies
    for square in range(len(state.occupied)):
        state.occupied[square] = 0
    for point in range(swap):
        state.open[point] = state.board[tables.places[point]] == EMPTY
    state.open[swap] = plies == tables.swap_ply
    for corner in range(corners):
        if state.board[corner] != EMPTY:
            for k in range(tables.square_count[corner]):
                square, own = int(tables.squares[corner, k]), int(state.board[corner])
                count_corner(tables, state, square, 1)
                if crosses(tables, state, corner, k, own, STONES ^ own):
                    note(said, 2 * square, 2 * square + 1, 0)
                    return CROSSED
    for colour in range(2):
        join_anew(tables, state, colour)
    moved = 1 - mover ^ int(state.v_player)
    for colour in range(2):
        own = JOINED | STONE << colour
        for place in range(len(state.board)):
            if int(state.board[place]) & own == own:
                if colour != moved:
                    note(said, 1 - mover, 0, 0)
                    return IS_OVER + colour
                state.outcome = PLAYER_0_WINS + 1 - mover
    if state.outcome == ONGOING and plies == tables.max_plies:
        state.outcome = TRUNCATED
    return FINE


@rule
def _stones(board, colour):
    count = 0
    for place in range(len(board)):
        count += int((board[place] & STONES) == STONE << colour)
    return count


@rule
def _least_plies(tables, state):
    """A lower bound on the plies that lead to so many stones; -1 if no number does.

    Stones are placed in turn, and go in pairs, so only 4, 8, ... more plies can lead there too.
    """
    to_move = int(state.mover) ^ int(state.v_player)
    more_v = _stones(state.board, V) - _stones(tables.start_board, V)
    more_h = _stones(state.board, H) - _stones(tables.start_board, H)
    if (more_v - more_h - to_move) % 2 != 0:
        return -1
    turns = max(more_h, more_v - to_move)  # of H
    if turns < 0:
        turns %= 2
    if state.v_player and turns + to_move == 0:
        turns = 2
    return 2 * turns + to_move + int(state.v_player)
