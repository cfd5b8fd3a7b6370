"""What people see of a position of Corso.

Each cell has a slot for what lies on it and one for its mark. View tables: none.
"""

from ..engine.rule import rule
from .rules import DYE, MARBLE, OPEN

#: Choices of a cell: what it holds, numbered as in the rules.
#: Choices of a mark: none, the last action, dyed by it, dyed and taken from the other player.
NO_MARK, LAST, DYED, TAKEN = range(4)

#: Why a cell cannot be chosen.
IS_DYED, IS_TAKEN = range(2)


@rule
def show(tables, view, before, state, action, shown):
    """Write what each cell holds, and what the last action did there."""
    cells = len(state.cells)
    for cell in range(cells):
        old = int(before.cells[cell])
        new = int(state.cells[cell])
        mark = NO_MARK
        if cell == action:
            mark = LAST
        elif new != old:
            was_others = (old != OPEN) & ((old - MARBLE) % 2 != (new - DYE) % 2)
            mark = TAKEN if was_others else DYED
        shown[cell] = new
        shown[cells + cell] = mark


@rule
def word(tables, state, action):
    """The second half of the words has expansions, written with an exclamation mark."""
    return action + len(state.cells) * int(state.cells[action] != OPEN)


@rule
def reason(tables, state, action):
    """The reason follows from what is on the cell."""
    return IS_DYED if state.cells[action] >= DYE else IS_TAKEN


@rule
def owner(tables, state, cell):
    """The owner of the marble or dye on a cell."""
    return tables.owner[state.cells[cell]]


@rule
def takes(tables, before, state, cell):
    """Whether a cell was the opponent's and is now the mover's."""
    opponent = 2 * int(before.mover) - 1
    was_taken = tables.owner[state.cells[cell]] == -opponent
    return (tables.owner[before.cells[cell]] == opponent) & was_taken


@rule
def give_turn(tables, state):
    """Change whose turn it is; nothing else depends on it."""
    state.mover = 1 - state.mover
    return True
