"""What people see of a position of Connect Four.

Each cell has a slot for its stone, and one for its mark: the last stone, or one of a row that won.
"""

from ludarium.envs.engine.bits import ZERO, bit
from ludarium.envs.engine.position_text import FINE, OWN
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, rule

from .rules import has_four, init

#: Why no game has reached a position.
IN_THE_AIR, UNEQUAL, WON_BEFORE = range(OWN, OWN + 3)


@rule
def show(tables, view, before, state, action, shown):
    """The stones, the last one, and the rows of four."""
    cells = len(tables.cells)
    last = ZERO
    if action >= 0:
        last = bit(action * tables.stride + int(state.filled[action]) - 1)
    row = _in_rows(tables, state.stones[0]) | _in_rows(tables, state.stones[1])
    for cell in range(cells):
        place = bit(int(tables.cells[cell]))
        stone = 0
        for player in range(2):
            if (state.stones[player] & place) != ZERO:
                stone = 1 + player
        shown[cell] = stone
        shown[cells + cell] = int(((last | row) & place) != ZERO)


@rule
def give_turn(tables, state):
    """Change whose turn it is; nothing else depends on it."""
    state.mover = 1 - state.mover
    return True


@rule
def _in_rows(tables, stones):
    """The stones that are part of four in a row."""
    found = ZERO
    for direction in range(4):
        step = tables.steps[direction]
        pairs = stones & (stones >> step)
        row = pairs & (pairs >> (step + step))
        for _ in range(4):
            found |= row
            row = row << step
    return found


@rule
def write_text(tables, state, said):
    """Write the stones."""
    for cell in range(len(tables.cells)):
        place = bit(int(tables.cells[cell]))
        said.board[cell] = 0
        for player in range(2):
            if (state.stones[player] & place) != ZERO:
                said.board[cell] = 1 + player


@rule
def read_text(tables, state, said):
    """Write the position with these stones."""
    init(tables, state, None)
    cells, width, mover, lead = len(tables.cells), len(state.filled), int(said.mover), 0
    for cell in range(cells):
        stone = int(said.board[cell])
        if stone > 0:
            if state.filled[cell % width] < cell // width:
                return IN_THE_AIR
            state.filled[cell % width] += 1
            state.stones[stone - 1] |= bit(int(tables.cells[cell]))
            state.ply += 1
            lead += 3 - 2 * stone
    if lead != mover:
        return UNEQUAL
    state.mover = mover
    if has_four(tables, state.stones[mover]):
        return WON_BEFORE
    if has_four(tables, state.stones[1 - mover]):
        state.outcome = PLAYER_0_WINS + 1 - mover
    elif state.ply == cells:
        state.outcome = DRAW
    return FINE
