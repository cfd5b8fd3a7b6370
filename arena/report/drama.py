"""Values along games: when the winner is clear, lead changes, comebacks, first mistakes.

The terms follow C. Browne, "Automatic Generation and Evaluation of Recombination Games"
(2008), and J. M. Thompson, "Defining the Abstract" (2000): decisiveness, drama, lead change. Those
works use weighted sums; here each figure has a plain meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ludarium.training.evaluation.games import Games
from ludarium.training.evaluation.statistics import mean, ratio, rounded, wilson

from .study import Study
from .value_sources import expit, logit

#: A player leads at the first chance or above; the winner is clear once its chance stays at the
#: second or above. A value v in [-1, 1] stands for a chance of (v + 1) / 2.
LEADING = 0.6
CLEAR = 0.9
#: A player who wins after a chance of at most this has come back.
BEHIND = 0.25
#: A move that lowers its player's chance by at least this is a mistake.
MISTAKE = 0.25

_POINTS = 21  # points along a game, from 0 to 100 % of its plies
_MOST_GAMES = 200  # games of each strength that are valued
_MOST_SEARCHED_GAMES = 60  # the same if each value takes a search
_LEAST_SLOPE = 0.1  # keeps estimates from being reversed


@dataclass(frozen=True)
class Trajectories:
    """Player 0's chance along the first N games of a sample.

    Attributes:
        sample: the games.
        chances: float64[N, T + 1] in [0, 1], NaN beyond the end; a draw is 0.5.
        smooth: the same if they are exact; else each but the first and the result is averaged with
            its predecessor, because networks and playouts often favour the player to move, or the
            one who has moved.
    """

    sample: Games
    chances: np.ndarray
    smooth: np.ndarray

    @classmethod
    def of(cls, sample: Games, chances: np.ndarray, exact: bool) -> Self:
        """Trajectories of exact chances, or of estimates, which are smoothed."""
        smooth = chances.copy()
        if not exact:
            smooth[:, 1:] = (chances[:, 1:] + chances[:, :-1]) / 2
            ends = np.arange(len(chances)), sample.plies[: len(chances)]
            smooth[ends] = chances[ends]
        return cls(sample, chances, smooth)

    @property
    def plies(self) -> np.ndarray:
        """Length of each of these games."""
        return self.sample.plies[: len(self.chances)]

    def winners_chances(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the D decided games, int64[D], and the winner's smooth chance along each."""
        rewards = self.sample.rewards(0)[: len(self.chances)]
        decided = np.flatnonzero(rewards)
        chances = self.smooth[decided]
        return decided, np.where(rewards[decided, None] > 0, chances, 1 - chances)

    def lead_changes(self) -> np.ndarray:
        """How often the lead, by smooth chances, goes from one player to the other, int64[N]."""
        return np.array([_changes(row[~np.isnan(row)]) for row in self.smooth], np.int64)


def _changes(chances: np.ndarray) -> int:
    leaders = np.sign(chances - 0.5)[np.abs(chances - 0.5) >= LEADING - 0.5]
    return int((leaders[1:] != leaders[:-1]).sum())


def value_games(study: Study) -> dict[str, Trajectories]:
    """The trajectories of each strength's games.

    Estimates are put on the scale of results: their logits are multiplied by the factor that makes
    the results of the strongest players' games most likely. So a chance is that of strong players
    who continue from that position.
    """
    most = min(_MOST_SEARCHED_GAMES if study.evaluator.plays_out else _MOST_GAMES, study.games)
    study.progress.begin("values along games", len(study.samples))
    chances = {}
    for name, sample in study.samples.items():
        chances[name] = (study.evaluator.along(sample, min(len(sample), most)) + 1) / 2
        study.progress.advance()
    exact = study.evaluator.is_exact
    if not exact:
        slope = _slope(study.strongest, chances[study.strongest.players[0]])
        chances = {name: _rescaled(each, slope) for name, each in chances.items()}
    return {
        name: Trajectories.of(sample, chances[name], exact)
        for name, sample in study.samples.items()
    }


def _rescaled(chances: np.ndarray, slope: float) -> np.ndarray:
    scaled = expit(slope * logit(chances))
    return np.where((chances == 0) | (chances == 1), chances, scaled)  # results are not scaled


def _slope(sample: Games, chances: np.ndarray) -> float:
    """Platt's slope by Newton's method, with a weak prior about 1; each game counts once."""
    points = np.repeat((sample.rewards(0)[: len(chances)] + 1) / 2, chances.shape[1])
    weights = np.repeat(1 / (sample.plies[: len(chances)] + 1), chances.shape[1])
    known = ~np.isnan(chances.ravel())
    x, points, weights = logit(chances.ravel()[known]), points[known], weights[known]
    slope = 1.0
    for _ in range(50):
        expected = expit(slope * x)
        gain = (weights * x * (points - expected)).sum() - (slope - 1)
        curvature = (weights * x**2 * expected * (1 - expected)).sum() + 1
        slope += float(np.clip(gain / curvature, -0.5, 0.5))
    return max(slope, _LEAST_SLOPE)


def decisiveness(study: Study, trajectories: dict[str, Trajectories]) -> dict[str, Any]:
    """When the winner is clear, lead changes and comebacks, by strength of play."""
    return {
        "evaluator": study.evaluator.name,
        "exact": study.evaluator.is_exact,
        "leading": LEADING,
        "clear": CLEAR,
        "behind": BEHIND,
        "by_strength": [
            {"players": name} | _decisiveness_of(each) for name, each in trajectories.items()
        ],
    }


def _decisiveness_of(games: Trajectories) -> dict[str, Any]:
    decided, chances = games.winners_chances()
    changes = games.lead_changes()
    found: dict[str, Any] = {
        "games": len(changes),
        "decided": len(decided),
        "lead_changes": mean(changes).to_dict(),
        "games_without_lead_change": wilson(int((changes == 0).sum()), len(changes)).to_dict(),
    }
    if not len(decided):
        return found
    plies = games.plies[decided]
    clear = np.array([_clear_from(row[: n + 1]) / n for row, n in zip(chances, plies, strict=True)])
    # The value of the start, where nobody has moved, does not make a later win a comeback.
    deepest = np.array([row[1 : n + 1].min() for row, n in zip(chances, plies, strict=True)])
    halfway = np.array([row[n // 2] for row, n in zip(chances, plies, strict=True)])
    ahead = halfway != 0.5
    points = np.linspace(0, 1, _POINTS)
    along = np.array(
        [
            np.interp(points * n, np.arange(n + 1), row[: n + 1])
            for row, n in zip(chances, plies, strict=True)
        ]
    )
    return found | {
        "clear_at": mean(clear).to_dict(),
        "clear_at_percentiles": {str(p): rounded(np.percentile(clear, p)) for p in (10, 50, 90)},
        "comebacks": wilson(int((deepest <= BEHIND).sum()), len(decided)).to_dict(),
        "ahead_halfway_wins": wilson(int((halfway > 0.5).sum()), int(ahead.sum())).to_dict()
        if ahead.any()
        else None,
        "winners_chance": [
            {"share": rounded(point)}
            | {
                name: rounded(np.percentile(column, p))
                for name, p in (("low", 10), ("median", 50), ("high", 90))
            }
            | {"mean": rounded(column.mean())}
            for point, column in zip(points, along.T, strict=True)
        ],
    }


def _clear_from(chances: np.ndarray) -> int:
    """The ply from which on the winner's chance stays at `CLEAR` or above."""
    doubtful = np.flatnonzero(chances < CLEAR)
    return int(doubtful[-1]) + 1 if len(doubtful) else 0


def mistakes(study: Study, trajectories: dict[str, Trajectories]) -> dict[str, Any]:
    """When players first give away chances, and the mean cost of a move.

    For estimated values, the mean cost of the strongest players' moves is subtracted: it is
    taken for the estimates' own bias towards the player to move, or the one who has moved.
    """
    strongest = trajectories[study.strongest.players[0]]
    leaning = 0.0
    if not study.evaluator.is_exact:
        leaning = float(_drops(strongest).sum() / strongest.plies.sum())
    return {
        "evaluator": study.evaluator.name,
        "exact": study.evaluator.is_exact,
        "mistake": MISTAKE,
        "leaning": rounded(leaning),
        "by_strength": [
            {"players": name} | _mistakes_of(each, leaning) for name, each in trajectories.items()
        ],
    }


def _drops(games: Trajectories) -> np.ndarray:
    """The cost of each move for its player, float64[N, T]; 0 beyond the end."""
    movers = games.sample.movers[: len(games.chances), : games.chances.shape[1] - 1]
    drops = (games.chances[:, :-1] - games.chances[:, 1:]) * (1 - 2 * movers)
    return np.nan_to_num(drops)


def _mistakes_of(games: Trajectories, leaning: float) -> dict[str, Any]:
    on = np.arange(games.chances.shape[1] - 1) < games.plies[:, None]
    lost = (_drops(games) - leaning) * on
    is_mistake = lost >= MISTAKE - 1e-9
    with_one = is_mistake.any(axis=1)
    first = np.where(with_one, is_mistake.argmax(axis=1) + 1, 0)
    longest = int(np.percentile(games.plies, 95))
    return {
        "games": len(first),
        "loss_per_move": ratio(lost.sum(axis=1), games.plies).to_dict(),
        "mistakes_per_game": mean(is_mistake.sum(axis=1)).to_dict(),
        "games_with_mistake": wilson(int(with_one.sum()), len(first)).to_dict(),
        "first_mistake_ply": mean(first[with_one]).to_dict() if with_one.any() else None,
        "first_mistake_median": rounded(np.median(first[with_one])) if with_one.any() else None,
        "without_mistake_by_ply": [
            rounded(((first == 0) | (first > ply)).mean()) for ply in range(longest + 1)
        ],
    }
