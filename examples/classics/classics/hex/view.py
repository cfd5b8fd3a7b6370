"""What people see of a position of Hex.

Each cell has a slot for its stone, and one for its mark: the last stone, or one of the chain that
won.
"""

from ludarium.envs.engine.rule import rule

from .rules import FIRST, LAST, STONES

JOINED = FIRST | LAST

#: Why a cell cannot be chosen, or sides cannot be swapped.
IS_TAKEN, NO_SWAP_RULE, NO_SWAP_NOW = range(3)


@rule
def show(tables, view, before, state, action, shown):
    """The stones, the last one, and all stones that are joined to both sides."""
    cells = len(state.board)
    for cell in range(cells):
        held = int(state.board[cell])
        is_new = ((int(before.board[cell]) ^ held) & held & STONES) != 0
        shown[cell] = held & STONES
        shown[cells + cell] = int(is_new | ((held & JOINED) == JOINED))


@rule
def task(tables, state):
    """1 if sides may be swapped."""
    return int((state.ply == tables.swap_ply) & (state.mover == 1))


@rule
def reason(tables, state, action):
    """The reason follows from the action alone, and from whether there is a swap rule."""
    if action < len(state.board):
        return IS_TAKEN
    return NO_SWAP_RULE if tables.swap_ply < 0 else NO_SWAP_NOW


@rule
def pass_turn(tables, state):
    """Change whose turn it is; nothing else depends on it."""
    state.mover = 1 - state.mover
    return True
