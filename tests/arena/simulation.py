"""Simulated tests between players of known strength: how often a test errs, how long it takes.

chances = pair_chances(expected_score(30), "drawish")
verdicts, games = simulate(SPRT(0, 30), chances, 200, np.random.default_rng(1))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.arena.sprt import PAIR_SCORES, SPRT

_OPENINGS = 4000
_HALVINGS = 60


@dataclass(frozen=True)
class Kind:
    """A kind of game, in units of strength (174 Elo points).

    Attributes:
        advantage: of moving first.
        spread: standard deviation of what openings add to it.
        nu: how likely draws are, as in `ludarium.training.evaluation.bradley_terry`.
    """

    advantage: float
    spread: float
    nu: float


#: Games without draws and with fair openings; with many draws; with openings that mostly decide.
KINDS = {
    "decisive": Kind(0.0, 0.0, 0.0),
    "drawish": Kind(0.5, 0.5, 1.0),
    "unfair openings": Kind(2.0, 1.0, 0.2),
}


def pair_chances(score: float, kind: str) -> np.ndarray:
    """How often pairs of games have each of `PAIR_SCORES` where one player is stronger.

    Args:
        score: what it scores on average, which pair scores then have exactly.
        kind: one of `KINDS`.

    Returns:
        float64[5]
    """
    game = KINDS[kind]
    quantiles = (np.arange(_OPENINGS) + 0.5) / _OPENINGS
    # Openings of a normal distribution, by the logistic function's likeness to it.
    favour = game.advantage + game.spread * np.log(quantiles / (1 - quantiles)) / 1.702
    low, high = -10.0, 10.0
    for _ in range(_HALVINGS):
        strength = (low + high) / 2
        chances = _pairs(strength, favour, game.nu)
        if chances @ PAIR_SCORES < score:
            low = strength
        else:
            high = strength
    return chances


def _pairs(strength: float, favour: np.ndarray, nu: float) -> np.ndarray:
    """Chances of pair scores of a player, on average of openings."""
    first = _game(strength + favour, nu)
    second = _game(strength - favour, nu)
    chances = np.zeros(5)
    for one in range(3):
        for other in range(3):
            chances[one + other] += (first[one] * second[other]).mean()
    return chances


def _game(difference: np.ndarray, nu: float) -> np.ndarray:
    """Chances of a loss, a draw, and a win, float64[3, openings]."""
    weights = np.stack(
        [np.exp(-difference / 2), np.full_like(difference, nu), np.exp(difference / 2)]
    )
    return weights / weights.sum(0)


def simulate(
    test: SPRT,
    chances: np.ndarray,
    count: int,
    random: np.random.Generator,
    most_games: int = 20_000,
) -> tuple[np.ndarray, np.ndarray]:
    """Run tests, all at once, each until its verdict.

    Args:
        test: which.
        chances: float64[5] of pair scores, see `pair_chances`.
        count: number of tests.
        random: draws the games.
        most_games: of a test.

    Returns:
        Verdicts int64[count]: 1 for H1, -1 for H0, 0 for none; and games int64[count] that each
        took.
    """
    counts = np.zeros((count, 5), np.int64)
    verdicts = np.zeros(count, np.int64)
    games = np.zeros(count, np.int64)
    low, high = test.bounds
    running = np.arange(count)
    for number in range(1, most_games // 2 + 1):
        counts[running, random.choice(5, len(running), p=chances)] += 1
        games[running] = 2 * number
        llr = test.llr(counts[running])
        verdicts[running] = np.where(llr >= high, 1, np.where(llr <= low, -1, 0))
        running = running[verdicts[running] == 0]
        if not len(running):
            break
    return verdicts, games
