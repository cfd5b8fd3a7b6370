"""The rules of tic-tac-toe, over the bits of each player's marks.

Tables: ``lines`` uint64[8] has the cells of each line, ``full`` uint64 those of the board.
"""

import numpy as np

from ludarium.envs.engine import bits
from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule

CELLS = 9


def state_dtype() -> np.dtype:
    """The position: the marks of both players."""
    return engine.state_dtype(("marks", np.uint64, (2,)))


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.marks[0] = bits.ZERO
    state.marks[1] = bits.ZERO


@rule
def is_legal(tables, state, action):
    """Mark an empty cell."""
    return ((state.marks[0] | state.marks[1]) & bits.bit(action)) == bits.ZERO


@rule
def step(tables, state, action):
    """Mark the cell; a line of three wins, a full board without one is a draw."""
    mover = int(state.mover)
    state.marks[mover] |= bits.bit(action)
    state.ply += 1
    state.mover = 1 - mover
    for line in range(tables.lines.shape[0]):
        if bits.bit_count(state.marks[mover] & tables.lines[line]) == 3:
            state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    if state.outcome == engine.ONGOING and (state.marks[0] | state.marks[1]) == tables.full:
        state.outcome = engine.DRAW


@rule
def observe(tables, state, player, planes):
    """Own marks, the other's, empty cells."""
    for cell in range(CELLS):
        own = (state.marks[player] & bits.bit(cell)) != bits.ZERO
        other = (state.marks[1 - player] & bits.bit(cell)) != bits.ZERO
        planes[0, cell] = own
        planes[1, cell] = other
        planes[2, cell] = not (own | other)


@rule
def score(tables, state):
    """One for a win of player 0, minus one for a win of player 1."""
    return engine.reward(state.outcome, 0)
