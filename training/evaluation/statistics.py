"""Statistics of games: confidence intervals, Elo differences, ratings.

Ratings are those of the Bradley-Terry model (R. A. Bradley and M. E. Terry, "Rank Analysis of
Incomplete Block Designs", 1952) on Elo's scale: a player who is rated 400 points higher expects
10/11 of the points. A draw is half a win and half a loss, which makes intervals wider than they
need be, never narrower, for a game that may be drawn varies less than one that may not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

#: Elo points, as a file may hold them.
_Elo = Annotated[float, Meta(ge=-1e6, le=1e6)]

Z_95 = 1.959963984540054  # two-sided 95 % point of the normal distribution


def wilson_interval(points: float, games: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval for the expected score of one game, in [0, 1].

    E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
    1927. Stated for wins out of games; here a draw counts as half a win. A game that may be
    drawn varies less than one that is won or lost with the same expected score, so with draws
    the interval is wider than it need be, never narrower.

    Args:
        points: wins plus half the draws.
        games: number of games, at least one.
        z: quantile of the normal distribution; the default gives 95 %.

    Raises:
        ValueError: there are no games, or more points than games.
    """
    if games < 1 or not 0 <= points <= games:
        raise ValueError(f"an interval needs games and points among them, not {points}/{games}")
    score = points / games
    spread = z * math.sqrt(score * (1 - score) / games + z**2 / (4 * games**2))
    scale = 1 + z**2 / games
    centre = score + z**2 / (2 * games)
    low = 0.0 if points == 0 else (centre - spread) / scale  # exactly, without rounding errors
    high = 1.0 if points == games else (centre + spread) / scale
    return low, high


def elo_difference(score: float) -> float:
    """Elo difference for an expected ``score``; infinite at 0 and 1.

    A. E. Elo, "The Rating of Chessplayers, Past and Present", 1978: the logistic form.
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

    The interval is about the games alone: it takes the ratings of the opponents as exact, and the
    games as independent.
    """

    elo: _Elo
    low: _Elo
    high: _Elo


@dataclass(frozen=True)
class Match:
    """How a match between two players of a round robin ended; ``points`` are the first one's."""

    first: str
    second: str
    games: Annotated[int, Meta(ge=1)]
    points: float


def fit_rating(opponents: Sequence[float], games: Sequence[int], points: Sequence[float]) -> Rating:
    """The rating of a player from games against opponents whose ratings are known.

    The most likely one. So that it is finite even where all games went one way, one drawn game is
    added, shared among the opponents as the games are; against a single opponent that is Firth's
    correction, or Jeffreys' prior (G. Heinze and M. Schemper, "A solution to the problem of
    separation in logistic regression", 2002). The interval is that of the profile likelihood, as
    there: all ratings whose log-likelihood is at most 1.92 below the largest.

    Args:
        opponents: their ratings in Elo points.
        games: number of games against each.
        points: wins plus half the draws against each.

    Raises:
        ValueError: there are no games, or more points than games.
    """
    rated, played, won = (np.asarray(values, float) for values in (opponents, games, points))
    if played.sum() < 1 or (won < 0).any() or (won > played).any():
        raise ValueError(f"a rating needs games and points among them, not {points}/{games}")
    drawn = played / played.sum()
    played, won = played + drawn, won + drawn / 2

    def likelihood(elo: float) -> float:
        logits = (elo - rated) / _POINTS
        return float(-(won * np.logaddexp(0, -logits)).sum()) - float(
            ((played - won) * np.logaddexp(0, logits)).sum()
        )

    def surplus(elo: float) -> float:
        """Points won beyond those expected; falls as ``elo`` rises."""
        return float((won - played / (1 + np.exp((rated - elo) / _POINTS))).sum())

    best = _root(surplus, float(rated.min()) - _FAR, float(rated.max()) + _FAR)
    least = likelihood(best) - Z_95**2 / 2

    def room(elo: float) -> float:
        return likelihood(elo) - least

    return Rating(best, _root(room, best - _FAR, best), _root(room, best, best + _FAR))


_POINTS = 400 / math.log(10)  # Elo points of a unit of the logistic function
_FAR = 20_000.0  # Elo points: further than any rating from its opponents'
_HALVINGS = 60  # of an interval of that size: more than a float can tell


def _root(falling_or_rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a monotone function changes its sign, by bisection."""
    rises = falling_or_rising(high) > falling_or_rising(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if (falling_or_rising(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2
