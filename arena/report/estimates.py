"""`IntervalEstimate`: a figure with its 95 % interval and the number of games behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.training.evaluation.statistics import Z_95, wilson_interval

_RESAMPLES = 1000
_LEAST_CHANCE = 0.005  # smaller chances have the logit of this one


@dataclass(frozen=True)
class IntervalEstimate:
    """A figure with its interval.

    Attributes:
        value: the estimate.
        low, high: ends of the 95 % interval.
        games: how many games it is based on.
    """

    value: float
    low: float
    high: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values, rounded to six digits."""
        numbers = {name: rounded(getattr(self, name)) for name in ("value", "low", "high")}
        return numbers | {"games": self.games}


def rounded(number: float) -> float:
    """A number rounded to six significant digits."""
    return float(f"{float(number):.6g}")


def share(points: float, games: int) -> IntervalEstimate:
    """A share of games, or points per game in [0, 1], with Wilson's interval."""
    low, high = wilson_interval(points, games)
    return IntervalEstimate(points / games, low, high, games)


def mean(values: np.ndarray) -> IntervalEstimate:
    """The mean of one number per game, plus and minus 1.96 standard errors.

    If no number is below 0, neither is the interval.
    """
    games = len(values)
    half = Z_95 * float(np.std(values, ddof=1)) / games**0.5 if games > 1 else 0.0
    centre = float(np.mean(values))
    least = 0.0 if np.min(values) >= 0 else -np.inf
    return IntervalEstimate(centre, max(centre - half, least), centre + half, games)


def ratio(totals: np.ndarray, counts: np.ndarray) -> IntervalEstimate:
    """The mean of a number that occurs several times in each game, such as one per ply.

    Args:
        totals: float[G], the sum in each game.
        counts: int[G], how many numbers each sum has.

    The interval takes the games as independent, but not the numbers within one: the ratio
    estimator of cluster sampling (W. G. Cochran, "Sampling Techniques", 1977, section 6).
    """
    games = len(totals)
    centre = float(totals.sum() / max(counts.sum(), 1))
    spread = (
        np.std(totals - centre * counts, ddof=1) / max(counts.mean(), 1e-12) if games > 1 else 0
    )
    half = Z_95 * float(spread) / games**0.5
    least = 0.0 if np.min(totals) >= 0 else -np.inf
    return IntervalEstimate(centre, max(centre - half, least), centre + half, games)


def bootstrap(values: np.ndarray, statistic: Callable[[np.ndarray], float]) -> IntervalEstimate:
    """Any statistic of one number per game, with the percentile bootstrap.

    B. Efron, "Bootstrap Methods: Another Look at the Jackknife", 1979; random numbers are fixed.
    """
    random = np.random.default_rng(0)
    drawn = random.integers(len(values), size=(_RESAMPLES, len(values)))
    found = [statistic(values[rows]) for rows in drawn]
    low, high = np.percentile(found, [2.5, 97.5])
    return IntervalEstimate(float(statistic(values)), float(low), float(high), len(values))


def logit(chances: np.ndarray) -> np.ndarray:
    """``log(p / (1 - p))`` of chances kept away from 0 and 1; NaN stays."""
    inside = np.clip(chances, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    logits: np.ndarray = np.log(inside / (1 - inside))
    return logits


def expit(logits: np.ndarray) -> np.ndarray:
    """The chances for logits."""
    return 1 / (1 + np.exp(-logits))
