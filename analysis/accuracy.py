"""Accuracy: how often an agent's moves keep the exact value, how exact a network's values are.

Matches tell which agent is stronger; exact values tell how far an agent is from perfect play, with
far less noise. The positions are those of an `ExactTest`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.training.agents import Agent
from ludarium.training.evaluation.statistics import wilson_interval

from .exact_tests import ExactTest


@dataclass(frozen=True)
class Accuracy:
    """How many moves keep the exact value.

    Attributes:
        kept: moves that keep the value.
        positions: moves in all.
    """

    kept: int
    positions: int

    @property
    def share(self) -> float:
        """Fraction of the moves that keep the value; 1 if there are none."""
        return self.kept / self.positions if self.positions else 1.0

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share (Wilson's)."""
        return wilson_interval(self.kept, self.positions) if self.positions else (0.0, 1.0)


def chosen_actions(agent: Agent, test: ExactTest) -> np.ndarray:
    """The actions that an agent chooses in a test's positions, int64 [N].

    The agent gets whole games, with the moves that led to each position: a program needs them.
    """
    states = test.states.copy()
    games = [
        GameInPlay(test.game, number, int(mover), origin.seed, states, list(origin.actions))
        for number, (mover, origin) in enumerate(zip(states["mover"], test.origins, strict=True))
    ]
    agent.begin(games)
    try:
        return agent.play(games, states)
    finally:
        agent.finish(games)


def moves_that_keep(actions: np.ndarray, test: ExactTest) -> np.ndarray:
    """Whether the actions chosen, int64 [N], keep the exact value, bool [N]."""
    kept: np.ndarray = np.take_along_axis(test.keeping, actions[:, None], axis=1)[:, 0]
    return kept


@dataclass(frozen=True)
class Mean:
    """The mean of a number over positions, such as the error of a value.

    Attributes:
        mean: the mean over the positions.
        error: half the width of its 95 % interval, by the normal approximation.
        positions: how many positions.
    """

    mean: float
    error: float
    positions: int

    @classmethod
    def of(cls, numbers: np.ndarray) -> Mean:
        """The mean of at least one number, floats [N]."""
        spread = float(numbers.std(ddof=1)) if len(numbers) > 1 else 0.0
        return cls(float(numbers.mean()), 1.96 * spread / len(numbers) ** 0.5, len(numbers))


def accuracy(kept: np.ndarray, among: np.ndarray | None = None) -> Accuracy:
    """Count the results of `moves_that_keep`, all or only those ``among`` positions (bool [N])."""
    some = kept if among is None else kept[among]
    return Accuracy(int(some.sum()), len(some))
