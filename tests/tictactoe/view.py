"""What people see of a position of tic-tac-toe: two slots for each cell."""

from ludarium.envs.engine.rule import rule


@rule
def show(tables, view, before, state, action, shown):
    """The mark on each cell, and whether it is the last one."""
    for cell in range(len(state.cells)):
        shown[2 * cell] = state.cells[cell]
        shown[2 * cell + 1] = int(cell == action)
