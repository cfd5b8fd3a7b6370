"""Accuracy: how often an agent's moves keep the exact value, how exact a network's values are.

Matches tell which agent is stronger; exact values tell how far an agent is from perfect play, with
far less noise. The positions are those of an `ExactTest`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


def moves_that_keep(actions: np.ndarray, test: ExactTest) -> np.ndarray:
    """Whether the actions chosen, int64 [N], keep the exact value, bool [N]."""
    kept: np.ndarray = np.take_along_axis(test.keeping, actions[:, None], axis=1)[:, 0]
    return kept


def points_lost(actions: np.ndarray, test: ExactTest) -> np.ndarray:
    """By how much the final lead is less than with best play, int16 [N].

    Args:
        actions: int64 [N], the chosen actions; after them both sides play exactly.
        test: the positions, with leads.

    Raises:
        ValueError: the test has no leads.
    """
    best = test.best_leads
    assert test.leads is not None
    lost: np.ndarray = best - np.take_along_axis(test.leads, actions[:, None], axis=1)[:, 0]
    return lost


@dataclass(frozen=True)
class MeanLoss:
    """Mean loss in a position: points lost by a move, or the error of an estimate.

    Attributes:
        mean: the mean over the positions.
        error: half the width of its 95 % interval, by the normal approximation.
        positions: how many positions.
    """

    mean: float
    error: float
    positions: int

    @classmethod
    def of(cls, lost: np.ndarray) -> MeanLoss:
        """The mean of losses, integers or floats [N]; 0 if there are none."""
        if not len(lost):
            return cls(0.0, 0.0, 0)
        spread = float(lost.std(ddof=1)) if len(lost) > 1 else 0.0
        return cls(float(lost.mean()), 1.96 * spread / len(lost) ** 0.5, len(lost))


def accuracy(kept: np.ndarray, among: np.ndarray | None = None) -> Accuracy:
    """Count the results of `moves_that_keep`, all or only those ``among`` positions (bool [N])."""
    some = kept if among is None else kept[among]
    return Accuracy(int(some.sum()), len(some))
