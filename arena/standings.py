"""Standings of a tournament: ratings by all games, scores of each pairing, first-move advantage.

Ratings come from `ludarium.training.evaluation.bradley_terry`, with draws and the first
player's advantage. They take games as independent. The two games of a pair share an opening, and
all pairings have the same openings; that makes ratings more alike from one tournament to the next,
so intervals are rather too wide, unless agents repeat their games, which `Results.caveat` reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ludarium.training.evaluation import BradleyTerry, Rating, Score, Tally
from ludarium.training.table import percent, text_table

from .results import Results

_MOST_DRAWN = 0.9  # largest share of drawn games that brings no warning
_WIDEST = 12  # agents in a cross-table; with more, only their ratings are shown
_FIRST = 7  # first column of the cross-table


@dataclass(frozen=True)
class Standing:
    """An agent in a tournament.

    Attributes:
        name: the agent's name.
        rating: its rating with a 95 % interval, in Elo points.
        tally: tally of its games.
    """

    name: str
    rating: Rating
    tally: Tally


class Standings:
    """The standings of a tournament, finished or not.

    Args:
        results: results of the games.
        anchors: Elo points of agents whose ratings are known; without any, the mean of all ratings
            is 0.

    Attributes:
        results: results of the games.
        agents: the agents from the strongest to the weakest; those without games are missing.

    Raises:
        ValueError: there are no games, an anchor has none or is not finite, or no chain of games
            connects an agent with an anchor (or, without anchors, with the others).
    """

    def __init__(self, results: Results, anchors: Mapping[str, float] | None = None) -> None:
        self.results = results
        seats = [
            (one, other, results.as_player_0(one, other))
            for pairing in results.pairings
            for one, other in (pairing, pairing[::-1])
        ]
        scores = [
            Score(one, other, tally.wins, tally.draws, tally.losses)
            for one, other, tally in seats
            if tally.games
        ]
        met = {name for pairing in results.pairings for name in pairing}
        for name in anchors or {}:
            if name not in met:
                raise ValueError(f"agent {name} cannot be the anchor: it has no games")
        self._model = BradleyTerry(scores, anchors)
        standings = [
            Standing(name, self._model.rating(name), results.of_agent(name))
            for name in self._model.names
        ]
        self.agents = sorted(standings, key=lambda each: (-each.rating.elo, each.name))

    @cached_property
    def advantage(self) -> Rating:
        """The value of moving first, in Elo points."""
        return self._model.advantage()

    @property
    def caveat(self) -> str | None:
        """Why intervals are not what the number of games promises, in words; None if they are.

        See `Results.caveat`; and draws say little: the model explains any number of them by its
        parameter for draws, so nearly all that is known of strengths comes from decided games.
        """
        first = self.results.first_player
        caveats = [] if self.results.caveat is None else [self.results.caveat]
        if first.draws > _MOST_DRAWN * first.games:
            caveats.append(
                f"{first.draws:,} of {first.games:,} games are drawn, and only decided games tell "
                "who is stronger, so further draws do not narrow the intervals; longer openings "
                "(--opening-plies 4) may decide more games"
            )
        return "; ".join(caveats) or None

    def to_dict(self) -> dict[str, Any]:
        """The standings as JSON values."""
        names, results = [each.name for each in self.agents], self.results
        first = results.first_player
        return {
            "games": len(results),
            "distinct_games": results.distinct,
            "mean_plies": results.mean_plies,
            "draws": first.draws,
            "draw_parameter_nu": self._model.nu,
            "first_player": {
                **first.to_dict(),
                "score": first.score,
                "score_interval_95": list(first.interval),
                **_elo(self.advantage, "advantage_elo"),
            },
            "agents": [
                {
                    "name": each.name,
                    **_elo(each.rating, "elo"),
                    "games": each.tally.games,
                    **each.tally.to_dict(),
                    "score": each.tally.score,
                }
                for each in self.agents
            ],
            "pairings": [
                {
                    "first": one,
                    "second": other,
                    "games": tally.games,
                    **tally.to_dict(),
                    "score": tally.score,
                    "score_interval_95": list(tally.interval),
                    "as_player_0": results.as_player_0(one, other).to_dict(),
                    "as_player_1": results.as_player_0(other, one).reversed.to_dict(),
                }
                for place, one in enumerate(names)
                for other in names[place + 1 :]
                if (tally := results.between(one, other)).games
            ],
            "caveat": self.caveat,
        }

    def text(self, terminal: bool | None = None) -> str:
        """Ratings and cross-table: percent of the points against the agent of each rank.

        Args:
            terminal: draw it for a terminal; ``False`` gives plain text. Default: whether standard
                output is a terminal.
        """
        crossed = self.agents if len(self.agents) <= _WIDEST else []
        header = ["", "agent", "Elo", "95 %", "games", "w-d-l", "score"]
        header += [str(place) for place, _ in enumerate(crossed, 1)]
        rows = []
        for place, agent in enumerate(self.agents, 1):
            rating, tally = agent.rating, agent.tally
            row = [
                str(place),
                agent.name,
                f"{rating.elo:.0f}",
                f"{rating.low:.0f}..{rating.high:.0f}",
                str(tally.games),
                f"{tally.wins}-{tally.draws}-{tally.losses}",
                percent(tally.score, 1),
            ]
            row += [_percent(self.results.between(agent.name, other.name)) for other in crossed]
            if crossed:
                row[_FIRST + place - 1] = "-"
            rows.append(row)
        table = text_table(header, rows, left=[1], names=2, terminal=terminal)
        return "\n".join([table, "", *self._remarks()])

    def _remarks(self) -> list[str]:
        first, advantage = self.results.first_player, self.advantage
        lines = [
            f"player_0, who moves first: {first.wins}-{first.draws}-{first.losses}, "
            f"{percent(first.score, 1)}; an advantage of {advantage.elo:+.0f} Elo "
            f"({advantage.low:+.0f}..{advantage.high:+.0f})",
            f"{first.games} games, {first.draws} drawn ({percent(first.draws / first.games, 1)}), "
            f"{self.results.mean_plies:.1f} plies on average",
        ]
        if self.caveat is not None:
            lines.append(f"warning: {self.caveat}")
        return lines


def _percent(tally: Tally) -> str:
    return f"{100 * tally.score:.0f}" if tally.games else ""


def _elo(rating: Rating, key: str) -> dict[str, Any]:
    """A rating rounded to the digits above the noise of the fit."""
    return {
        key: round(rating.elo, 2),
        f"{key}_interval_95": [round(rating.low, 2), round(rating.high, 2)],
    }
