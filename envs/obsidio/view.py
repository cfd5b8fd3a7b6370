"""What people see of a position of Obsidio.

Each cell has a slot for what lies on it and one for its marks. View tables: none.
"""

from ..engine.rule import ONGOING, rule
from .rules import (
    CLAIMING,
    CONTROL,
    EMPTY,
    NEEDED,
    PLAYABLE,
    SECOND,
    START,
    TARGET,
    look,
    open_turn,
)

#: Choices of a cell: what it holds, numbered as in the rules, or a mark that it may be taken.
PLAYABLE_CELL = 5
#: Marks of a cell, added up: the token from which lines of sight start, the last action.
LAST_TOKEN = 1
LAST_ACTION = 2

#: Reasons why an action is illegal; from ``TOO_FEW`` on, one by colour and number of tokens.
IS_TAKEN, NO_SWAP_RULE, NO_SWAP_NOW, SECOND_IS_DUE, MORE_TO_DO, NO_LIGHT_CELL = range(6)
TOO_NEAR, FIRST_SEES_IT_NOT, ONLY_CLAIMS, OTHER_DARK, OTHER_LIGHT, TOO_FEW = range(6, 12)
REASONS = TOO_FEW + 2 * NEEDED

#: Tasks of the mover.
MOVE, MOVE_OR_SWAP, PLACE_SECOND, CLAIM_ON = range(4)


@rule
def show(tables, view, before, state, action, shown):
    """Write what each cell holds, which cells are open, the last token and the last action."""
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
def reason(tables, state, action):
    """The reason follows from what is on the cell, or from the stage of the turn."""
    cells = len(state.cells)
    is_second = state.stage == SECOND
    if action == cells + 1:
        return NO_SWAP_NOW if tables.swap_rule else NO_SWAP_RULE
    if action == cells:
        return SECOND_IS_DUE if is_second else MORE_TO_DO
    if state.cells[action] != EMPTY:
        return IS_TAKEN
    is_light = tables.is_light[action] != 0
    last = REASONS * int(state.last)
    if is_second:
        if not is_light:
            return NO_LIGHT_CELL
        for k in range(tables.too_near.shape[1]):
            if tables.too_near[state.last, k] == action:
                return last + TOO_NEAR
        return last + FIRST_SEES_IT_NOT
    if tables.kind[action] == TARGET:
        colour = int(state.mover ^ state.black)
        return TOO_FEW + NEEDED * colour + int(state.influence[colour, action])
    if state.stage == CLAIMING:
        return ONLY_CLAIMS
    return last + (OTHER_LIGHT if is_light else OTHER_DARK)


@rule
def role(tables, state, player):
    """The player's colour."""
    return player ^ int(state.black)


@rule
def owner(tables, state, cell):
    """1 for a target that player 0 has claimed, -1 for player 1, else 0."""
    content = int(state.cells[cell])
    if content < CONTROL:
        return 0
    return 1 - 2 * ((content - CONTROL) ^ int(state.black))


@rule
def takes(tables, before, state, cell):
    """Whether the last action claimed the target on this cell."""
    return (before.cells[cell] == EMPTY) & (state.cells[cell] >= CONTROL)


@rule
def give_turn(tables, state):
    """End the turn here, so that the other player begins one."""
    state.stage = START
    state.mover = 1 - state.mover
    dark_in_sight, light_in_sight = look(tables, state)
    open_turn(tables, state, dark_in_sight, light_in_sight)
    state.open[len(state.cells) + 1] = 0
    return True
