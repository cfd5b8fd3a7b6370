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


@dataclass(frozen=True)
class CalibrationBin:
    """Positions with similar estimated values.

    Attributes:
        low, high: the estimates are at least ``low`` and below ``high``; the last bin includes 1.
        positions: how many positions.
        estimated: mean estimate.
        exact: mean exact value; equal to ``estimated`` if the estimates are calibrated.
    """

    low: float
    high: float
    positions: int
    estimated: float
    exact: float


@dataclass(frozen=True)
class Calibration:
    """Estimated values compared with exact ones.

    Attributes:
        error: mean absolute difference.
        calibration_error: mean absolute difference between the two means of a bin, weighted by its
            positions (expected calibration error, Naeini et al. 2015).
        correct_side: share of the won and lost positions whose estimate has the right sign; 1 if
            there are none.
        bins: the non-empty bins, in order.
    """

    error: float
    calibration_error: float
    correct_side: float
    bins: tuple[CalibrationBin, ...]


def measure_calibration(estimates: np.ndarray, exact: np.ndarray, bins: int = 10) -> Calibration:
    """Compare estimates with exact values.

    Args:
        estimates: float [N], in [-1, 1].
        exact: [N], +1, 0 or -1.
        bins: how many bins of equal width.

    Raises:
        ValueError: there are no estimates or no bins, or the arrays differ in length.
    """
    if not len(estimates) or len(estimates) != len(exact) or bins < 1:
        raise ValueError(
            f"as many estimates as exact values, 1 or more, in 1 or more bins are needed, not "
            f"{len(estimates)}, {len(exact)} and {bins}"
        )
    truth = exact.astype(float)
    numbers = np.clip(np.floor((estimates + 1) / 2 * bins).astype(int), 0, bins - 1)
    edges = np.linspace(-1, 1, bins + 1)
    found = []
    for number in range(bins):
        inside = numbers == number
        if inside.any():
            found.append(
                CalibrationBin(
                    float(edges[number]),
                    float(edges[number + 1]),
                    int(inside.sum()),
                    float(estimates[inside].mean()),
                    float(truth[inside].mean()),
                )
            )
    decided = exact != 0
    right = np.sign(estimates[decided]) == exact[decided]
    return Calibration(
        error=float(np.abs(estimates - truth).mean()),
        calibration_error=sum(part.positions * abs(part.estimated - part.exact) for part in found)
        / len(estimates),
        correct_side=float(right.mean()) if decided.any() else 1.0,
        bins=tuple(found),
    )
