"""Standings of a tournament: ratings by all games, scores of each pairing, what seats are worth.

Ratings are those of `ludarium.training.evaluation.bradley_terry`, which has draws and the first
player's advantage. They take games as independent. The two games of a pair share an opening, and
all pairings have the same openings; that makes ratings more alike from one tournament to the next,
so intervals are rather too wide, unless agents repeat their games, which `Standings.caveat` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ludarium.training.evaluation import BradleyTerry, Rating, Score, Tally

from .folder import FinishedGame

_TOLERATED = 0.05  # share of games that may repeat another one by chance


@dataclass(frozen=True)
class Standing:
    """An agent in a tournament.

    Attributes:
        name: of the agent.
        rating: with its 95 % interval, in Elo points.
        tally: of its games.
    """

    name: str
    rating: Rating
    tally: Tally

    @property
    def score(self) -> float:
        """Points per game."""
        return self.tally.score


class Standings:
    """How a tournament stands, finished or not.

    Args:
        games: all of them, in any order.
        anchor: Elo points of an agent that are taken as known; without one, the mean of all
            ratings is 0.

    Attributes:
        games: how many.
        agents: from the strongest to the weakest; those without games are missing.
        mean_plies: mean length of a game, the opening included.
        distinct_games: how many games differ from all others of the same players and seats.

    Raises:
        ValueError: there are no games, or the anchor has none, or no chain of games leads from one
            agent to another.
    """

    def __init__(
        self, games: Iterable[FinishedGame], anchor: Mapping[str, float] | None = None
    ) -> None:
        games = sorted(games, key=lambda game: (game.first, game.second, game.number))
        self._seats: dict[tuple[str, str], list[int]] = {}  # wins, draws, losses of player_0
        plies = 0
        starts = set()
        for game in games:
            tally = self._seats.setdefault((game.player_0, game.player_1), [0, 0, 0])
            tally[1 - game.result] += 1
            plies += game.plies
            starts.add((game.player_0, game.player_1, game.digest))
        self.games = len(games)
        scores = [Score(*pair, *tally) for pair, tally in self._seats.items()]
        for name in anchor or {}:
            if not any(name in pair for pair in self._seats):
                raise ValueError(f"agent {name} cannot be the anchor: it has no games")
        self._model = BradleyTerry(scores, anchor)
        self.mean_plies = plies / self.games
        self.distinct_games = len(starts)
        standings = [
            Standing(name, self._model.rating(name), self._tally_of(name))
            for name in self._model.names
        ]
        self.agents = sorted(standings, key=lambda each: (-each.rating.elo, each.name))

    @cached_property
    def advantage(self) -> Rating:
        """What moving first is worth, in Elo points."""
        return self._model.advantage()

    @property
    def first_player(self) -> Tally:
        """Results of player_0 in all games."""
        return sum((Tally(*tally) for tally in self._seats.values()), Tally())

    @property
    def caveat(self) -> str | None:
        """Why intervals are narrower than they should be, in words; ``None`` if they are not."""
        repeated = self.games - self.distinct_games
        if repeated <= _TOLERATED * self.games:
            return None
        return (
            f"{repeated} of {self.games} games repeat another one move for "
            "move, so intervals are narrower than they should be; longer openings "
            "(--opening-plies 4) help"
        )

    def between(self, one: str, other: str) -> Tally:
        """Results of ``one`` against ``other``, in both seats."""
        return self.as_player_0(one, other) + _turned(self.as_player_0(other, one))

    def as_player_0(self, one: str, other: str) -> Tally:
        """Results of ``one`` as player_0 against ``other``."""
        return Tally(*self._seats.get((one, other), (0, 0, 0)))

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        names = [each.name for each in self.agents]
        first = self.first_player
        return {
            "games": self.games,
            "distinct_games": self.distinct_games,
            "mean_plies": self.mean_plies,
            "draws": first.draws,
            "draw_parameter_nu": self._model.nu,
            "first_player": {
                **_counts(first),
                "score": first.score,
                "score_interval_95": list(first.interval),
                **_elo(self.advantage, "advantage_elo"),
            },
            "agents": [
                {
                    "name": each.name,
                    **_elo(each.rating, "elo"),
                    "games": each.tally.games,
                    **_counts(each.tally),
                    "score": each.score,
                }
                for each in self.agents
            ],
            "pairings": [
                {
                    "first": one,
                    "second": other,
                    "games": tally.games,
                    **_counts(tally),
                    "score": tally.score,
                    "score_interval_95": list(tally.interval),
                    "as_player_0": _counts(self.as_player_0(one, other)),
                    "as_player_1": _counts(_turned(self.as_player_0(other, one))),
                }
                for place, one in enumerate(names)
                for other in names[place + 1 :]
                if (tally := self.between(one, other)).games
            ],
            "caveat": self.caveat,
        }

    def _tally_of(self, name: str) -> Tally:
        total = Tally()
        for (first, second), tally in self._seats.items():
            if name == first:
                total += Tally(*tally)
            elif name == second:
                total += _turned(Tally(*tally))
        return total


def _turned(tally: Tally) -> Tally:
    """The same games in the view of the other player."""
    return Tally(tally.losses, tally.draws, tally.wins)


def _counts(tally: Tally) -> dict[str, int]:
    return {"wins": tally.wins, "draws": tally.draws, "losses": tally.losses}


def _elo(rating: Rating, key: str) -> dict[str, Any]:
    """Rounded: what lies beyond is noise of the fit."""
    return {
        key: round(rating.elo, 2),
        f"{key}_interval_95": [round(rating.low, 2), round(rating.high, 2)],
    }
