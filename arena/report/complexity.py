"""The size of a game: leaves of its tree, distinct positions; each by a stated method."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludarium.training.evaluation.games import Games
from ludarium.training.evaluation.statistics import Z_95, IntervalEstimate, bootstrap, mean, rounded

from .enumeration import observation_keys, observed
from .study import Study

_RESAMPLES = 40
_POSITIVE = 0x7FFFFFFFFFFFFFFF  # masks the sign bit
_OBSERVED = 5_000  # positions whose contents are examined, about

METHODS = {
    "tree_knuth": (
        "leaves of the game tree: the mean over random games of the product of the numbers of "
        "legal actions (D. E. Knuth, Estimating the Efficiency of Backtrack Programs, 1975); "
        "unbiased, but a few games make up most of it, so it is more often too low"
    ),
    "tree_power": (
        "the usual figure: geometric mean of the number of legal actions to the power of the mean "
        "length, between the strongest players (L. V. Allis, 1994, with other means)"
    ),
    "positions_seen_at_least": (
        "capture and recapture: of each ply the positions that random games reach, by Chao's lower "
        "bound from how many were met once and twice (A. Chao, 1984), summed over the plies"
    ),
    "positions_at_most": (
        "counting: two players to move, times the different contents that each cell (or feature) "
        "was seen to have in random games, multiplied"
    ),
    "positions": "all counted, one by one",
}


def complexity(study: Study) -> dict[str, Any]:
    """Sizes of the game tree and of the state space: estimates as log10, counts as they are."""
    random, strong = study.weakest, study.strongest
    found: dict[str, Any] = {
        "tree_knuth": bootstrap(_log_products(random), _log_mean).to_dict(),
        # Mean length times the mean logarithm of the choices: the mean logarithm of the products.
        "tree_power": mean(_log_products(strong)).to_dict() | {"players": strong.players[0]},
        "positions_seen_at_least": _recaptured(study, random).to_dict(),
        "positions_at_most": _at_most(study, random),
        "counted": study.positions.to_dict(),
    }
    if study.positions.values is not None:
        found["positions"] = sum(study.positions.counts)
    return found | {"methods": METHODS}


def _log_products(sample: Games) -> np.ndarray:
    products: np.ndarray = np.log10(np.maximum(sample.choices, 1)).sum(axis=1)
    return products


def _log_mean(logs: np.ndarray) -> float:
    largest = logs.max()
    return float(largest + np.log10(np.mean(10.0 ** (logs - largest))))


def _recaptured(study: Study, sample: Games) -> IntervalEstimate:
    """Logarithm of the sum of Chao's bounds over the plies.

    The interval comes from random halves of the games (J. Shao and C. F. J. Wu, "A General Theory
    for Jackknife Variance Estimation", 1989): a bootstrap would repeat games, and so count their
    positions as met twice.
    """
    numbers = np.full((len(sample), sample.actions.shape[1]), -1, np.int64)
    for ply, playing, before, _ in sample.replay():
        numbers[playing, ply] = observation_keys(study.game, before) & _POSITIVE
    random = np.random.default_rng(study.seed(90))

    def total(rows: np.ndarray) -> float:
        bounds = 0.0
        for column in numbers[rows].T:
            present = column[column >= 0]
            if len(present):
                counts = np.unique(present, return_counts=True)[1]
                once, twice = (counts == 1).sum(), (counts == 2).sum()
                bounds += len(counts) + once * (once - 1) / (2 * (twice + 1))
        return float(np.log10(max(bounds, 1)))

    games = len(sample)
    halves = [random.permutation(games)[: max(1, games // 2)] for _ in range(_RESAMPLES)]
    found = [total(rows) for rows in halves]
    value = total(np.arange(games))
    spread = Z_95 * float(np.std(found))
    return IntervalEstimate(value, value - spread, value + spread, games)


def _at_most(study: Study, sample: Games) -> dict[str, Any]:
    """The counting bound, as a logarithm."""
    game = study.game
    games = min(len(sample), max(1, _OBSERVED // max(1, int(sample.plies.mean()))))
    contents = np.concatenate(
        [observed(game, before) for _, _, before, _ in sample.replay(np.arange(games))]
    )
    uniform = (contents == contents[:, :, :1]).all(axis=(0, 2)) & (contents.shape[2] > 1)
    columns = [contents[:, ~uniform, cell] for cell in range(contents.shape[2])]
    columns.append(contents[:, uniform, 0])
    kinds = [max(1, len(np.unique(column, axis=0))) for column in columns]
    return {
        "value": rounded(np.log10(2.0) + np.log10(kinds).sum()),
        "observed_positions": len(contents),
    }
