"""What people see of a position of Onyx.

There are four runs of slots. The first three have one slot for each place, numbered as in the
rules: what lies there; the dark edge of the line from there to the next place of the winning
chain; and that line itself, a separate slot so that it lies above all edges. The last run has a
slot for each point: the mark of the last action. View tables: none.
"""

from ..engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, rule
from .rules import EMPTY, FIRST, LAST, STONE, STONES

#: Choices of a place: 0, nothing; 1 and 2, a stone, numbered as in the rules; GHOST + 1 and
#: GHOST + 2, where such a stone was captured; MIDPOINT, a midpoint that may be taken.
GHOST = 2
MIDPOINT = 5
#: Choices of a line and its edge: none, or LINK + the number of the neighbour it leads to.
LINK = 1

#: Reasons why a point cannot be chosen, or sides cannot be swapped.
IS_TAKEN, NO_MIDPOINT, NO_SWAP_RULE, NO_SWAP_NOW = range(4)


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
