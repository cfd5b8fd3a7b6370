"""What people see of a position of Connect Four.

Each cell has a slot for its stone, and one for its mark: the last stone, or one of a row that won.
"""

from ludarium.envs.engine.bits import ZERO, bit, shifted
from ludarium.envs.engine.rule import rule


@rule
def show(tables, view, before, state, action, shown):
    """The stones, the last one, and the rows of four."""
    cells = len(tables.cells)
    last = ZERO
    if action >= 0:
        last = bit(action * tables.stride + int(before.filled[action]))
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
def pass_turn(tables, state):
    """Change whose turn it is; nothing else depends on it."""
    state.mover = 1 - state.mover
    return True


@rule
def _in_rows(tables, stones):
    """The stones that are part of four in a row."""
    found = ZERO
    for direction in range(4):
        step = int(tables.steps[direction])
        pairs = stones & shifted(stones, -step)
        first = pairs & shifted(pairs, -2 * step)
        for k in range(4):
            found |= shifted(first, k * step)
    return found
