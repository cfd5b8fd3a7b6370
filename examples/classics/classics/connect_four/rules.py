"""The rules of Connect Four, over one position.

An action is a column, from the left. Stones are bits: column ``c`` has the bits from ``c * stride``
on, the lowest cell first, and an empty bit on top, so that no row goes round an edge.
Tables: ``height`` of the board; ``stride``, bits of a column; ``cells`` [height * width], the bit
of each cell; ``steps`` [4], from a bit to the next one in each direction of a row.
"""

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.bits import ONE, ZERO, bit
from ludarium.envs.engine.rule import rule

PLANES = ("own stones", "other stones")
OWN_STONES, OTHER_STONES = range(2)


def state_dtype(width: int) -> np.dtype:
    """The position: the stones of each player, and how many are in each column."""
    stones, filled = ("stones", np.uint64, (2,)), ("filled", np.int8, (width,))
    return engine.state_dtype(stones, filled)


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.stones[0] = ZERO
    state.stones[1] = ZERO
    for column in range(len(state.filled)):
        state.filled[column] = 0


@rule
def is_legal(tables, state, action):
    """Whether the column has room."""
    return state.filled[action] < tables.height


@rule
def step(tables, state, action):
    """Drop a stone; four in a row win, a full board without them is a draw."""
    mover = int(state.mover)
    state.stones[mover] |= bit(action * tables.stride + int(state.filled[action]))
    state.filled[action] += 1
    state.ply += 1
    state.mover = 1 - mover
    if has_four(tables, state.stones[mover]):
        state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    elif state.ply == len(tables.cells):
        state.outcome = engine.DRAW


@rule
def observe(tables, state, player, planes):
    """Two planes over the cells (constants above)."""
    for cell in range(len(tables.cells)):
        place = np.uint64(tables.cells[cell])
        planes[OWN_STONES, cell] = int((state.stones[player] >> place) & ONE)
        planes[OTHER_STONES, cell] = int((state.stones[1 - player] >> place) & ONE)


@rule
def may_end(tables, state):
    """Whether the mover has three stones, or one cell alone is empty."""
    return (state.ply >= 6) | (state.ply + 1 >= len(tables.cells))


@rule
def has_four(tables, stones):
    """Whether there are four in a row."""
    found = ZERO  # of each row its first stone; without a branch, as most positions have none
    for direction in range(4):
        step = tables.steps[direction]
        pairs = stones & (stones >> step)
        found |= pairs & (pairs >> (step + step))
    return found != ZERO
