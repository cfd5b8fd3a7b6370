"""What people see of a position of tic-tac-toe: two slots for each cell."""

from ludarium.envs.engine.rule import rule

from .rules import CELLS


@rule
def show(tables, view, before, state, action, shown):
    """The mark on each cell, and whether it is the last one."""
    for cell in range(CELLS):
        shown[cell] = state.cells[cell]
        shown[CELLS + cell] = int(cell == action)
