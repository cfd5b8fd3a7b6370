"""What people see of a position of Corso.

Each cell has a slot for what lies on it and one for its mark. View tables: none.
"""

from ..engine.position_text import FINE, OWN, note
from ..engine.rule import rule
from .rules import DYE, MARBLE, OPEN, init, points, result

#: Choices of a cell: what it holds, numbered as in the rules.
#: Choices of a mark: none, the last action, dyed by it, dyed and taken from the other player.
NO_MARK, LAST, DYED, TAKEN = range(4)

#: Why a cell cannot be chosen.
IS_DYED, IS_TAKEN = range(2)

#: Why no game has reached a position.
UNEQUAL, STRAY, TOO_FEW = range(OWN, OWN + 3)


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
    """The action's number among the words, whose second half has expansions, such as ``c3!``."""
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


@rule
def write_text(tables, state, said):
    """Write what each cell holds."""
    for cell in range(len(state.cells)):
        said.board[cell] = state.cells[cell]


@rule
def read_text(tables, state, said):
    """Write the position with these marbles and dye, after the fewest plies that the counts allow.

    What an expansion dyes stays dyed. So each marble that it expanded is a full cell from then on:
    dyed, as all cells beside it. All dye is on full cells or beside them. Both players have had the
    right number of turns, each of which left a marble or was part of making a full cell. Every
    position that play reaches is accepted. Some that it does not reach are accepted too, and then
    so is every position after them.
    """
    init(tables, state, None)
    mover = int(said.mover)
    for cell in range(len(state.cells)):
        state.cells[cell] = said.board[cell]
        state.open_cells -= said.board[cell] != OPEN
    marbles_0, marbles_1 = _count(state, MARBLE), _count(state, MARBLE + 1)
    dye_0, dye_1 = _count(state, DYE), _count(state, DYE + 1)
    if dye_0 + dye_1 == 0 and marbles_0 != marbles_1 + mover:
        note(said, marbles_0, marbles_1, mover)
        return UNEQUAL
    full = 0
    for cell in range(len(state.cells)):
        if state.cells[cell] < DYE:
            continue
        beside = _is_full(tables, state, cell)
        full += int(beside)
        for k in range(4):
            beside |= _is_full(tables, state, tables.neighbours[cell, k])
        if not beside:
            size = 1
            while size * size < len(state.cells):
                size += 1
            note(said, size - cell // size, cell % size + 1, 0)
            return STRAY
    # Whoever has dye has placed one more marble, and expanded it: two plies, one full cell.
    least_0, least_1 = marbles_0 + 2 * int(dye_0 > 0), marbles_1 + 2 * int(dye_1 > 0)
    # Who is behind placed another marble that was expanded, or expanded it too: one ply or two.
    behind = abs(least_1 + mover - least_0)
    needed = int(dye_0 > 0) + int(dye_1 > 0) + (behind + 1) // 2
    if needed > full:
        note(said, needed, full, 0)
        return TOO_FEW
    state.ply = 2 * max(least_1, least_0 - mover) + mover
    state.mover = mover
    if state.open_cells == 0:
        first, second = points(tables, state)
        state.outcome = result(first - second)
    return FINE


@rule
def _is_full(tables, state, cell):
    """Whether a cell and all cells beside it are dyed."""
    full = state.cells[cell] >= DYE
    for k in range(4):
        full &= state.cells[tables.neighbours[cell, k]] >= DYE
    return full


@rule
def _count(state, content):
    count = 0
    for cell in range(len(state.cells)):
        count += int(state.cells[cell] == content)
    return count
