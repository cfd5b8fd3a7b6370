"""What a number of games says about strength: confidence intervals and Elo differences."""

from __future__ import annotations

import math

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
    """Elo points that a player who expects ``score`` is ahead; infinite at 0 and 1.

    A. E. Elo, "The Rating of Chessplayers, Past and Present", 1978: the logistic form.
    """
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return 400 * math.log10(score / (1 - score))
