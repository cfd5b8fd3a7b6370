"""What people see of a position of Obsidio.

Each cell has a slot for what lies on it and one for its marks. View tables: none.
"""

from ..engine.rule import ONGOING, rule
from .rules import CLAIMING, CONTROL, EMPTY, PLAYABLE, SECOND, START, look, open_turn

#: Choices of a cell: what it holds, as the rules number that, or nothing yet, but it may be taken.
PLAYABLE_CELL = 5
#: Its marks, added up: the token that lines of sight begin at, the last action.
LAST_TOKEN = 1
LAST_ACTION = 2

#: What the mover has to do.
MOVE, MOVE_OR_SWAP, PLACE_SECOND, CLAIM_ON = range(4)


@rule
def show(tables, view, before, state, action, shown):
    """What each cell holds, which are open, the last token and the last action."""
    cells = len(state.cells)
    is_on = state.outcome == ONGOING
    for cell in range(cells):
        content = int(state.cells[cell])
        is_open = (content == EMPTY) & ((state.open[cell] & PLAYABLE) != 0)
        shown[cell] = PLAYABLE_CELL if is_open & is_on else content
        last_token = LAST_TOKEN * int((cell == state.last) & is_on)
        shown[cells + cell] = last_token + LAST_ACTION * int(cell == action)


@rule
def task(tables, state):
    """The stage of the turn, and at its start whether colours may be swapped."""
    if state.stage == SECOND:
        return PLACE_SECOND
    if state.stage == CLAIMING:
        return CLAIM_ON
    swap = len(state.cells) + 1
    return MOVE_OR_SWAP if state.open[swap] & PLAYABLE else MOVE


@rule
def role(tables, state, player):
    """The colour."""
    return player ^ int(state.black)


@rule
def points(tables, state, player):
    """Claims."""
    return int(state.claims[player ^ int(state.black)])


@rule
def owner(tables, state, cell):
    """Who has claimed a target."""
    content = int(state.cells[cell])
    if content < CONTROL:
        return 0
    return 1 - 2 * ((content - CONTROL) ^ int(state.black))


@rule
def at_hand(tables, before, state, cell):
    """A target that is claimed."""
    return (before.cells[cell] == EMPTY) & (state.cells[cell] >= CONTROL)


@rule
def pass_turn(tables, state):
    """The turn ends here, and the other player begins one."""
    state.stage = START
    state.mover = 1 - state.mover
    dark_in_sight, light_in_sight = look(tables, state)
    open_turn(tables, state, dark_in_sight, light_in_sight)
    state.open[len(state.cells) + 1] = 0
    return True
