"""Statistics of games: confidence intervals, Elo differences, and the type of a rating.

Ratings by points (`bradley_terry.fitted_by_points`) follow the model of R. A. Bradley and M. E.
Terry ("Rank Analysis of Incomplete Block Designs", 1952) on Elo's scale: a player who is rated 400
points higher expects 10/11 of the points. A draw is half a win and half a loss, which makes
intervals wider than necessary, never narrower, because a game that may be drawn varies less than
one that may not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_POINTS = 400 / math.log(10)  # Elo points per unit of the logistic function
_FAR = 20_000.0  # Elo points; below minus this the expected score is 0, so exp cannot overflow

Z_95 = 1.959963984540054  # two-sided 95 % point of the normal distribution


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Wilson's 95 % score interval for the expected score of one game, in [0, 1].

    E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    1927. It is stated for wins out of games; here a draw counts as half a win. A game that may be
    drawn varies less than one that is won or lost with the same expected score, so with draws
    the interval is wider than necessary, never narrower.

    Args:
        points: wins plus half the draws.
        games: number of games, at least one.

    Raises:
        ValueError: there are no games, or ``points`` is not from 0 to ``games``.
    """
    if games < 1 or not 0 <= points <= games:
        raise ValueError(f"an interval needs games and points among them, not {points}/{games}")
    score, z = points / games, Z_95
    spread = z * math.sqrt(score * (1 - score) / games + z**2 / (4 * games**2))
    scale = 1 + z**2 / games
    centre = score + z**2 / (2 * games)
    low = 0.0 if points == 0 else (centre - spread) / scale  # exact, without rounding errors
    high = 1.0 if points == games else (centre + spread) / scale
    return low, high


def elo_difference(score: float) -> float:
    """Elo difference for an expected ``score``; infinite at 0 and 1.

    This is the logistic form of A. E. Elo, "The Rating of Chessplayers, Past and Present", 1978.
    """
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score))


def expected_score(difference: float) -> float:
    """Expected points per game of a player rated ``difference`` Elo points higher."""
    return 1 / (1 + math.exp(-difference / _POINTS)) if difference > -_FAR else 0.0


@dataclass(frozen=True)
class Rating:
    """A rating with its 95 % interval, in Elo points.

    The interval reflects the games alone: it takes ratings that were known before as exact, and
    the games as independent.
    """

    elo: float
    low: float
    high: float

    @property
    def rounded(self) -> Rating:
        """Rounded to 0.1 points, as in files."""
        return Rating(round(self.elo, 1), round(self.low, 1), round(self.high, 1))


@dataclass(frozen=True)
class Match:
    """The result of a match between two players; ``points`` are the first's."""

    first: str
    second: str
    games: int
    points: float
