"""What people see of a position of Obsidio.

Each cell has a slot for what lies on it and one for its marks. View tables: none.
"""

from ..engine.position_text import FINE, OWN, note, say
from ..engine.rule import ONGOING, PLAYER_0_WINS, rule
from .rules import (
    CLAIMING,
    CONTROL,
    DARK,
    EMPTY,
    INFLUENCE,
    LIGHT,
    NEEDED,
    PLAYABLE,
    SECOND,
    START,
    TARGET,
    decides,
    init,
    look,
    open_claims,
    open_second,
    open_turn,
    put_influence,
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

#: Fields of a position's text, and its faults. Three of these have two texts each: `FEW_AROUND` by
#: colour, `WRONG_LAST` by whether the last token is named, `WRONG_TURNS` by whether player 0 must
#: have had one turn more.
LAST, TURN, SWAPPED = range(3)
WRONG_TOKEN, FEW_AROUND, WRONG_LAST, WRONG_TURNS = OWN, OWN + 1, OWN + 3, OWN + 5
WRONG_WIN, WRONG_SECOND, WRONG_CLAIMING = range(OWN + 7, OWN + 10)

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


@rule
def write_text(tables, state, said):
    """Write the tokens, the last of them, and how far the turn is."""
    cells = len(state.cells)
    for cell in range(cells):
        said.board[cell] = state.cells[cell]
    if state.last < cells:
        say(said, LAST, int(state.last))
    if state.stage != START:
        say(said, TURN, int(state.stage) - 1)
    if state.black:
        say(said, SWAPPED, 0)


@rule
def read_text(tables, state, said):
    """Write the position with these tokens, and the actions that it leaves open."""
    init(tables, state, None)
    cells, mover = len(state.cells), int(said.mover)
    state.mover = mover
    last = int(said.values[LAST, 0]) if said.counts[LAST] > 0 else cells
    stage = 1 + int(said.values[TURN, 0]) if said.counts[TURN] > 0 else START
    if tables.swap_rule and said.counts[SWAPPED] > 0:
        state.black = 1
    colour = mover ^ int(state.black)
    tokens, teal = 0, 0
    for cell in range(cells):
        token = int(said.board[cell])
        if token == EMPTY:
            continue
        tokens += 1
        teal += int(token == INFLUENCE + 1)
        if (token >= CONTROL) != (tables.kind[cell] == TARGET):
            note(said, cell, 0, 0)
            return WRONG_TOKEN
        if token < CONTROL:
            put_influence(tables, state, cell, token - INFLUENCE)
    for target in range(len(tables.target_cell)):
        cell = int(tables.target_cell[target])
        if said.board[cell] != EMPTY:
            owner = int(said.board[cell]) - CONTROL
            state.cells[cell] = said.board[cell]
            state.claims[owner] += 1
            if state.influence[owner, cell] < NEEDED:
                note(said, cell, int(state.influence[owner, cell]), 0)
                return FEW_AROUND + owner
    token = int(said.board[last]) if last < cells else EMPTY
    if (last < cells) != (tokens > 0) or (last < cells and token == EMPTY):
        note(said, last, 0, 0)
        return WRONG_LAST + int(last < cells)
    state.last = last
    is_won = decides(tables, state, 0) or decides(tables, state, 1)
    fault = _fault_of_turns(tables, state, said, is_won or stage != START)
    if fault != FINE:
        return fault
    state.ply = tokens + int(state.black)
    dark, light = look(tables, state)
    if is_won:
        state.outcome = PLAYER_0_WINS + mover
        return FINE if token == CONTROL + colour and stage == START else WRONG_WIN
    state.stage = stage
    if stage == SECOND:
        is_first = token == INFLUENCE + colour and tables.kind[last] == LIGHT
        return FINE if is_first and open_second(tables, state, light) > 0 else WRONG_SECOND
    if stage == CLAIMING:
        state.open[cells] = PLAYABLE
        is_claim = token == CONTROL + colour
        return FINE if is_claim and open_claims(tables, state, colour) > 0 else WRONG_CLAIMING
    open_turn(tables, state, dark, light)
    is_first_turn = mover == 1 and state.black == 0 and teal == 0
    state.open[cells + 1] = tables.swap_rule != 0 and is_first_turn
    return FINE


@rule
def _fault_of_turns(tables, state, said, has_begun):
    """Refuse tokens that turns in alternation cannot have placed.

    A turn places a dark token, or one or two light ones, or claims; on a full board it may do
    nothing. If player 1 has swapped, it owns black, whose first turn was player 0's.

    ``has_begun`` tells whether the mover has placed tokens in the present turn already.
    """
    for player in range(2):
        colour = player ^ int(state.black)
        dark, light = 0, 0
        for cell in range(len(state.cells)):
            is_own = said.board[cell] == INFLUENCE + colour
            dark += int(is_own and tables.kind[cell] == DARK)
            light += int(is_own and tables.kind[cell] == LIGHT)
        claims = int(state.claims[colour])
        given = int(state.black != 0 and player == 0)
        least = dark + (light + 1) // 2 + int(claims > 0) + given
        most = dark + light + claims + given
        said.numbers[2 * player] = max(least, int(state.black))
        said.numbers[2 * player + 1] = most if state.empty else 2 * len(state.open)
    ahead = int(has_begun == (state.mover == 0))
    said.numbers[4] = state.mover
    is_late = said.numbers[0] > said.numbers[3] + ahead
    return WRONG_TURNS + ahead if is_late or said.numbers[2] + ahead > said.numbers[1] else FINE
