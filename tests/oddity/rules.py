"""The rules of Oddity, over one position.

Three piles of counters, of random height at first. A player takes one counter from a pile, or
two and then plays again, or adds one to the first pile. Who takes the last counter wins.

Actions: ``2 * pile + taken - 1``, and `ADD`. Tables: ``max_plies``, the ply cap;
``fractions`` [6], heights as fractions of the highest.
"""

import numpy as np

from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule

PILES = 3
START = 3  # highest pile at the start
HIGHEST = 5
ADD = 2 * PILES


def state_dtype() -> np.dtype:
    """The position: the counters in each pile."""
    return engine.state_dtype(("piles", np.int8, (PILES,)))


@rule
def init(tables, state, rng):
    """Draw the heights of the piles."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    for pile in range(PILES):
        state.piles[pile] = 1 + engine.random_below(rng, START)


@rule
def is_legal(tables, state, action):
    """Take what is there, or add while there is room."""
    if action == ADD:
        return state.piles[0] < HIGHEST
    return state.piles[action // 2] > action % 2


@rule
def step(tables, state, action):
    """Take one counter, or two to play again, or add one."""
    mover = int(state.mover)
    state.ply += 1
    if action == ADD:
        state.piles[0] += 1
    else:
        state.piles[action // 2] -= action % 2 + 1
    if _counters(state) == 0:
        state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    elif state.ply >= tables.max_plies:
        state.outcome = engine.TRUNCATED
    if action == ADD or action % 2 == 0:
        state.mover = 1 - mover


@rule
def observe(tables, state, player, planes):
    """The heights of the piles as fractions, whether it is the player's turn, and who it is."""
    engine.clear(planes)
    for pile in range(PILES):
        planes[0, pile] = tables.fractions[state.piles[pile]]
    planes[0, PILES] = state.mover == player
    planes[0, PILES + 1] = player == 0


@rule
def is_turned(tables, state, player):
    """Player 1 sees the last two piles the other way round."""
    return player == 1


@rule
def _counters(state):
    count = 0
    for pile in range(PILES):
        count += state.piles[pile]
    return count
