"""What people see of a position of Hex.

Each cell has a slot for its stone, and one for its mark: the last stone, or one of the chain that
won.
"""

from ludarium.envs.engine.position_text import FINE, OWN, note
from ludarium.envs.engine.rule import PLAYER_0_WINS, rule

from .rules import FIRST, LAST, STONES, init, join

JOINED = FIRST | LAST

#: Why a cell cannot be chosen, or sides cannot be swapped.
IS_TAKEN, NO_SWAP_RULE, NO_SWAP_NOW = range(3)

#: Why no game has reached a position.
UNEQUAL, WON_BEFORE = range(OWN, OWN + 2)


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
def give_turn(tables, state):
    """Change whose turn it is; nothing else has to change."""
    state.mover = 1 - state.mover
    return True


@rule
def write_text(tables, state, said):
    """Write the stones."""
    for cell in range(len(state.board)):
        said.board[cell] = state.board[cell] & STONES


@rule
def read_text(tables, state, said):
    """Write the position with these stones."""
    init(tables, state, None)
    mover, counts, lead = int(said.mover), 0, 0
    for cell in range(len(state.board)):
        counts += int(said.board[cell] != 0)
        lead += int(said.board[cell] == 1) - int(said.board[cell] == 2)
    is_swapped = lead == mover - 1 and tables.swap_ply >= 0 and counts > lead
    if lead != mover and not is_swapped:
        note(said, (counts + lead) // 2, (counts - lead) // 2, mover)
        return UNEQUAL
    state.mover = mover
    state.ply = counts + int(is_swapped)
    for cell in range(len(state.board)):
        player = int(said.board[cell]) - 1
        if player >= 0 and join(tables, state, cell, player) == FIRST | LAST:
            if player == mover:
                return WON_BEFORE
            state.outcome = PLAYER_0_WINS + player
    return FINE
