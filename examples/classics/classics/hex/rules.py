"""The rules of Hex, over one position.

Player 0 joins the lowest and the highest rank, player 1 the first and the last file. An action is a
cell, or the swap, which is the last: player_0's first stone becomes a stone of player_1 on the cell
with file and rank exchanged.
Tables: ``side``, cells on a side of the board; ``neighbours`` [cells, 6], filled up with the cell
itself at the edges; ``edges`` [2, cells], `FIRST` or `LAST` where a cell is on a side of each
player, else 0; ``swap_ply``, the plies played when swapping is offered, or -1.
"""

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule

#: What a cell holds: nothing, or the stone of player 0 or 1, perhaps joined to the owner's sides.
EMPTY = 0
STONE = 1  # shifted by the player's index
STONES = 3
FIRST = 4
LAST = 8

PLANES = ("own stones", "other stones", "plays upwards", "may swap")
OWN_STONES, OTHER_STONES, PLAYS_UPWARDS, MAY_SWAP = range(4)


def state_dtype(size: int) -> np.dtype:
    """The position: what each cell holds, and a stack of cells that is empty between plies."""
    cells = size**2
    board, stack = ("board", np.uint8, (cells,)), ("stack", np.uint16, (cells,))
    return engine.state_dtype(board, stack, scratch=("stack",))


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    for cell in range(len(state.board)):
        state.board[cell] = EMPTY
        state.stack[cell] = 0


@rule
def is_legal(tables, state, action):
    """Whether the cell is empty, or sides may be swapped."""
    if action == len(state.board):
        return (state.ply == tables.swap_ply) & (state.mover == 1)
    return state.board[action] == EMPTY


@rule
def step(tables, state, action):
    """Place a stone, or swap; the chain that joins both sides of a player wins."""
    mover = int(state.mover)
    cell = action
    if action == len(state.board):
        cell = _take_first_stone(tables, state)
    state.board[cell] = STONE << mover
    state.ply += 1
    state.mover = 1 - mover
    if join(tables, state, cell, mover) == FIRST | LAST:
        state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS


@rule
def observe(tables, state, player, planes):
    """Two planes of stones, and one or two that are the same on all cells (constants above)."""
    may_swap = is_legal(tables, state, len(state.board)) & (state.mover == player)
    for cell in range(len(state.board)):
        stone = int(state.board[cell]) & STONES
        planes[OWN_STONES, cell] = stone == STONE << player
        planes[OTHER_STONES, cell] = stone == STONE << (1 - player)
        planes[PLAYS_UPWARDS, cell] = player == 0
        if tables.swap_ply >= 0:
            planes[MAY_SWAP, cell] = may_swap


@rule
def is_turned(tables, state, player):
    """Player 1 sees files and ranks exchanged, and so plays upwards too."""
    return player == 1


@rule
def may_end(tables, state):
    """Whether the next stone may give the mover enough of them for a chain."""
    return (state.ply + 1) // 2 + 1 >= tables.side


@rule
def _take_first_stone(tables, state):
    """Remove the only stone; returns the cell with file and rank exchanged."""
    found = 0
    for cell in range(len(state.board)):
        if state.board[cell] != EMPTY:
            state.board[cell] = EMPTY
            found = cell
    return found % tables.side * tables.side + found // tables.side


@rule
def join(tables, state, cell, player):
    """Tell a new stone, and all stones joined to it, which sides they reach; returns these."""
    own = STONE << player
    sides = int(tables.edges[player, cell])
    for k in range(6):
        near = int(state.board[tables.neighbours[cell, k]])
        if near & own:
            sides |= near & (FIRST | LAST)
    state.board[cell] = own | sides
    count = 0
    if sides:
        state.stack[0] = cell
        count = 1
    while count:
        count -= 1
        place = int(state.stack[count])
        state.stack[count] = 0
        for k in range(6):
            other = int(tables.neighbours[place, k])
            near = int(state.board[other])
            if (near & own) != 0 and (near & sides) != sides:
                state.board[other] = near | sides
                state.stack[count] = other
                count += 1
    return sides
