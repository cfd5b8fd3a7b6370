"""Statistics of games: a match's result, and numbers with their 95 % intervals.

Each number has one kind of interval: a share or a score Wilson's (`wilson`), a mean over games or
plies 1.96 standard errors (`mean`, `ratio`), any other statistic of games the bootstrap's
(`bootstrap`), a rating the profile likelihood's (`bradley_terry`), and the score of pairs of games
that of the empirical likelihood (``ludarium.arena.sprt``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Elo points of a difference that makes the odds of winning e times larger: 400 make them 10 times
#: larger (A. E. Elo, "The Rating of Chessplayers, Past and Present", 1978, in logistic form).
ELO = 400 / math.log(10)

#: Two-sided 95 % point of the normal distribution.
Z_95 = 1.959963984540054

_FAR = 20_000.0  # Elo points; below minus this the expected score is 0, so exp cannot overflow
_MOST_DIGITS = 2  # digits after the point of a narrow interval
_RESAMPLES = 1000


@dataclass(frozen=True)
class IntervalEstimate:
    """A number that games or positions tell, with its 95 % interval.

    ``f"{estimate:.0%}"`` gives ``54 % (51 to 57)`` and ``f"{estimate:+.0f}"`` gives
    ``+10 (-5 to +25)``: the format is that of each number. An interval that is too narrow for its
    digits has more of them, up to two.

    Attributes:
        value: the estimate.
        low, high: ends of the interval; the estimate is between them, but for some of `bootstrap`.
        count: how many games or positions it rests on.
    """

    value: float
    low: float
    high: float
    count: int

    @classmethod
    def known(cls, value: float, count: int = 0) -> IntervalEstimate:
        """A number that is not estimated: the interval has no width."""
        return cls(value, value, value, count)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> IntervalEstimate:
        """The estimate that `to_dict` wrote, with each ``None`` kept; other keys are ignored."""
        return cls(*(data[name] for name in ("value", "low", "high", "count")))

    def map(self, function: Callable[[float], float]) -> IntervalEstimate:
        """The estimate of an increasing function of the number."""
        return IntervalEstimate(
            function(self.value), function(self.low), function(self.high), self.count
        )

    def rounded(self, digits: int) -> IntervalEstimate:
        """Rounded to so many digits after the point."""
        return self.map(lambda number: round(number, digits))

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values, to six significant digits; ``None`` for infinity and NaN."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        finite = {
            name: rounded(each) if math.isfinite(each) else None for name, each in ends.items()
        }
        return {**finite, "count": self.count}

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        style, _, digits = spec[:-1].partition(".")
        factor, unit = (100, " %") if spec.endswith("%") else (1, "")
        ends = [factor * each for each in (self.value, self.low, self.high)]
        places = int(digits)
        while places < _MOST_DIGITS and ends[1] < ends[2] and _equal(ends[1:], places):
            places += 1
        # Adding 0 turns -0 into 0.
        value, low, high = (f"{round(each, places) + 0.0:{style}.{places}f}" for each in ends)
        return f"{value}{unit} ({low} to {high})"


def rounded(number: float) -> float:
    """A number rounded to six significant digits, as in files."""
    return float(f"{float(number):.6g}")


def wilson(points: float, count: int) -> IntervalEstimate:
    """A share, or points per game in [0, 1], with Wilson's score interval.

    E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    1927. It is stated for wins out of games; here a draw counts as half a win. A game that may be
    drawn varies less than one that is won or lost with the same expected score, so with draws
    the interval is wider than necessary, never narrower. Games are taken as independent.

    Args:
        points: wins plus half the draws, or how many of ``count`` have a property.
        count: number of games or positions; without any, the share is NaN, from 0 to 1.

    Raises:
        ValueError: ``points`` is not from 0 to ``count``.
    """
    if not 0 <= points <= count:
        raise ValueError(f"an interval needs points among games, not {points}/{count}")
    if not count:
        return IntervalEstimate(math.nan, 0.0, 1.0, 0)
    share, z = points / count, Z_95
    spread = z * math.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    scale = 1 + z**2 / count
    centre = share + z**2 / (2 * count)
    low = 0.0 if points == 0 else (centre - spread) / scale  # exact, without rounding errors
    high = 1.0 if points == count else (centre + spread) / scale
    return IntervalEstimate(share, low, high, count)


def mean(values: np.ndarray) -> IntervalEstimate:
    """The mean of one number per game or position, plus and minus 1.96 standard errors.

    If no number is below 0, neither is the interval.
    """
    return ratio(values, np.ones(len(values)))


def ratio(totals: np.ndarray, counts: np.ndarray) -> IntervalEstimate:
    """The mean of a number that occurs several times in each game, such as one per ply.

    Args:
        totals: float[G], the sum in each of at least one game.
        counts: int[G], how many numbers each sum has.

    The interval takes the games as independent, but not the numbers within one: the ratio
    estimator of cluster sampling (W. G. Cochran, "Sampling Techniques", 1977, chapter 6).
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


def elo_difference(score: float) -> float:
    """Elo difference for an expected ``score``; infinite at 0 and 1."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return ELO * math.log(score / (1 - score))


def expected_score(difference: float) -> float:
    """Expected points per game of a player rated ``difference`` Elo points higher."""
    return 1 / (1 + math.exp(-difference / ELO)) if difference > -_FAR else 0.0


@dataclass(frozen=True)
class MatchResult:
    """The result of a match, or of any games, in the view of one side.

    ``str(result)`` is ``wins-draws-losses``.
    """

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @classmethod
    def of(cls, rewards: np.ndarray) -> MatchResult:
        """The result of games with these rewards, +1, 0 or -1 each, of one side."""
        return cls(*((rewards == reward).sum().item() for reward in (1, 0, -1)))

    def __add__(self, other: MatchResult) -> MatchResult:
        return MatchResult(
            self.wins + other.wins, self.draws + other.draws, self.losses + other.losses
        )

    def __str__(self) -> str:
        return f"{self.wins}-{self.draws}-{self.losses}"

    @property
    def reversed(self) -> MatchResult:
        """The same games in the view of the other side."""
        return MatchResult(self.losses, self.draws, self.wins)

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Points: a win is one point, a draw half a point."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> IntervalEstimate:
        """Points per game, from 0 to 1, with Wilson's interval.

        Draws make it wider than necessary. The games are taken as independent, although the
        two of a pair share their opening: if an opening favours one seat, the interval is
        wider than necessary; if it suits one agent from both seats, it is too narrow.
        """
        return wilson(self.points, self.games)

    @property
    def elo(self) -> IntervalEstimate:
        """Elo difference that the score stands for; infinite if all games went one way."""
        return self.score.map(elo_difference)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {**vars(self), "score": self.score.to_dict()}


def _equal(numbers: list[float], places: int) -> bool:
    return len({round(each, places) for each in numbers}) == 1
