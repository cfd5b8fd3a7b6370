"""What people see of a position of Othello.

Each cell has a slot for its disc, and one for its mark.
"""

from ludarium.envs.engine.bits import ZERO, bit
from ludarium.envs.engine.position_text import FINE, OWN
from ludarium.envs.engine.rule import ONGOING, rule

from .rules import init, moves_of, points, result

#: Choices of a mark: none, the last disc, turned by it, a cell that the mover can play on.
NO_MARK, LAST, TURNED, OPEN = range(4)

#: Why a cell cannot be chosen, or a pass is not allowed.
IS_TAKEN, NOTHING_ENCLOSED, MUST_MOVE = range(3)

#: Why no game has reached a position.
EMPTY_MIDDLE, WRONG_START = range(OWN, OWN + 2)


@rule
def show(tables, view, before, state, action, shown):
    """The discs, the last one, those that it turned, and where the mover can play."""
    cells = int(tables.cells)
    for cell in range(cells):
        old = disc_on(before, cell)
        new = disc_on(state, cell)
        mark = NO_MARK
        if cell == action:
            mark = LAST
        elif old != new:
            mark = TURNED
        elif state.outcome == ONGOING and (state.moves & bit(cell)) != ZERO:
            mark = OPEN
        shown[cell] = new
        shown[cells + cell] = mark


@rule
def task(tables, state):
    """1 if the mover can only pass."""
    return int(state.moves == ZERO)


@rule
def reason(tables, state, action):
    """The reason follows from what is on the cell."""
    if action == tables.cells:
        return MUST_MOVE
    return IS_TAKEN if disc_on(state, action) != 0 else NOTHING_ENCLOSED


@rule
def owner(tables, state, cell):
    """The owner of the disc on a cell."""
    disc = disc_on(state, cell)
    return 0 if disc == 0 else 3 - 2 * disc


@rule
def takes(tables, before, state, cell):
    """Whether the mover turned the disc on a cell."""
    old = disc_on(before, cell)
    return (old != 0) & (old != disc_on(state, cell))


@rule
def give_turn(tables, state):
    """Change whose turn it is, and say where that player can move."""
    mover = 1 - int(state.mover)
    state.mover = mover
    state.moves = moves_of(tables, state.discs[mover], state.discs[1 - mover])
    return True


@rule
def disc_on(state, cell):
    """0 without a disc, else 1 + its owner."""
    if (state.discs[0] & bit(cell)) != ZERO:
        return 1
    if (state.discs[1] & bit(cell)) != ZERO:
        return 2
    return 0


@rule
def write_text(tables, state, said):
    """Write the discs."""
    for cell in range(tables.cells):
        said.board[cell] = disc_on(state, cell)


@rule
def read_text(tables, state, said):
    """Write the position with these discs."""
    init(tables, state, None)
    middle, mover, played = state.discs[0] | state.discs[1], int(said.mover), -4
    state.discs[0] = ZERO
    state.discs[1] = ZERO
    for cell in range(tables.cells):
        disc = int(said.board[cell])
        if disc > 0:
            state.discs[disc - 1] |= bit(cell)
            played += 1
        elif (middle & bit(cell)) != ZERO:
            return EMPTY_MIDDLE
    state.mover = mover
    state.ply = played + (played - mover) % 2
    if state.ply > 0 and played == 0:
        return WRONG_START
    own, other = state.discs[mover], state.discs[1 - mover]
    state.moves = moves_of(tables, own, other)
    if state.moves == ZERO and moves_of(tables, other, own) == ZERO:
        first, second = points(tables, state)
        state.outcome = result(first - second)
    return FINE
