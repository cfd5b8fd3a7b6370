"""Accuracy: how often an agent's moves keep the exact value.

Matches tell which agent is stronger; exact values tell how far an agent is from perfect play, with
far less noise. The positions are those of an `ExactTest`.
"""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.training.agents import RESIGN, Agent
from ludarium.training.evaluation import IntervalEstimate
from ludarium.training.evaluation.statistics import wilson

from .exact_tests import ExactTest


def chosen_actions(agent: Agent, test: ExactTest) -> np.ndarray:
    """The actions that an agent chooses in a test's positions, int64 [N]; `RESIGN` if it resigns.

    The agent gets whole games, with the moves that led to each position: a program needs them.

    Raises:
        ValueError: the agent plays another game, or fails.
    """
    states = test.states.copy()
    games = [
        GameInPlay(test.game, n, each.position.mover, each.seed, states, list(each.actions))
        for n, each in enumerate(test.positions)
    ]
    agent.begin(games)
    try:
        return agent.play(games, states)
    finally:
        agent.finish(games)


def moves_that_keep(actions: np.ndarray, test: ExactTest) -> np.ndarray:
    """Whether the actions chosen, int64 [N], keep the exact value, bool [N]; `RESIGN` does not."""
    kept: np.ndarray = np.take_along_axis(test.optimal_mask, actions[:, None], axis=1)[:, 0]
    return kept & (actions != RESIGN)


def accuracy(kept: np.ndarray) -> IntervalEstimate:
    """The share of moves that keep the value, of the result of `moves_that_keep`, bool [N]."""
    return wilson(int(kept.sum()), len(kept))
