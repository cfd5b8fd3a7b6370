"""Standings of a tournament: ratings by all games, scores of each pairing, first-move advantage.

Ratings come from `ludarium.training.evaluation.bradley_terry`, with draws and the first
player's advantage. They take games as independent. The two games of a pair share an opening, and
all pairings have the same openings; that makes ratings more alike from one tournament to the next,
so intervals are rather too wide, unless agents repeat their games: see `Crosstable.caveat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

from ludarium.training.evaluation import BradleyTerry, IntervalEstimate, MatchResult
from ludarium.training.table import percent, text_table

from .results import Crosstable
from .sprt import normalised_elo

_MOST_DRAWN = 0.9  # largest share of drawn games that brings no warning
_WIDEST = 12  # agents in a cross-table; with more, only their ratings are shown
_FIRST = 6  # first column of the cross-table


class Standings:
    """The standings of a tournament, finished or not.

    Args:
        results: results of the games.
        anchors: Elo points of agents whose ratings are known; without any, the mean of all ratings
            is 0.

    Attributes:
        results: results of the games.
        ratings: Elo points by agent, from the strongest to the weakest; those without games are
            missing.

    Raises:
        ValueError: there are no games, an anchor has none or is not finite, or no chain of games
            connects an agent with an anchor (or, without anchors, with the others).
    """

    def __init__(self, results: Crosstable, anchors: Mapping[str, float] | None = None) -> None:
        self.results = results
        pairings = [
            (one, other, results.as_player_0(one, other))
            for pairing in results.pairings
            for one, other in (pairing, pairing[::-1])
        ]
        met = {name for pairing in results.pairings for name in pairing}
        for name in anchors or {}:
            if name not in met:
                raise ValueError(f"agent {name} cannot be the anchor: it has no games")
        self._model = BradleyTerry([each for each in pairings if each[2].games], anchors)
        ratings = {name: self._model.rating(name) for name in self._model.names}
        strongest = sorted(ratings, key=lambda name: (-ratings[name].value, name))
        self.ratings = {name: ratings[name] for name in strongest}

    @cached_property
    def advantage(self) -> IntervalEstimate:
        """The value of moving first, in Elo points."""
        return self._model.advantage()

    @property
    def caveat(self) -> str | None:
        """Why intervals are not what the number of games promises, in words; None if they are.

        See `Crosstable.caveat`; and draws say little: the model explains any number of them by its
        parameter for draws, so nearly all that is known of strengths comes from decided games.
        """
        first = self.results.first_player
        caveats = [] if self.results.caveat is None else [self.results.caveat]
        if first.draws > _MOST_DRAWN * first.games:
            caveats.append(
                f"{first.draws:,} of {first.games:,} games are drawn, and only decided games tell "
                "who is stronger, so further draws do not narrow the intervals; longer openings "
                "(opening_plies=4) may decide more games"
            )
        return "; ".join(caveats) or None

    def to_dict(self) -> dict[str, Any]:
        """The standings as JSON values."""
        names, results = list(self.ratings), self.results
        return {
            "games": len(results),
            "distinct_games": results.distinct,
            "mean_plies": results.mean_plies,
            "draw_parameter_nu": self._model.nu,
            "first_player": {
                **results.first_player.to_dict(),
                "advantage": self.advantage.to_dict(),
            },
            "agents": [
                {"name": name, "elo": rating.to_dict(), **results.of_agent(name).to_dict()}
                for name, rating in self.ratings.items()
            ],
            "pairings": [
                {
                    "first": one,
                    "second": other,
                    **result.to_dict(),
                    "as_player_0": results.as_player_0(one, other).to_dict(),
                    "as_player_1": results.as_player_0(other, one).reversed.to_dict(),
                    "pairs_by_score": (pairs := results.pairs_between(one, other)).tolist(),
                    "normalised_elo": normalised_elo(pairs).to_dict(),
                }
                for one, other in combinations(names, 2)
                if (result := results.between(one, other)).games
            ],
            "caveat": self.caveat,
        }

    def text(self, terminal: bool | None = None) -> str:
        """Ratings and cross-table: percent of the points against the agent of each rank.

        Args:
            terminal: draw it for a terminal; ``False`` gives plain text. Default: whether standard
                output is a terminal.
        """
        crossed = list(self.ratings) if len(self.ratings) <= _WIDEST else []
        header = ["", "agent", "Elo (95 %)", "games", "w-d-l", "score"]
        header += [str(place) for place, _ in enumerate(crossed, 1)]
        rows = []
        for place, (name, rating) in enumerate(self.ratings.items(), 1):
            result = self.results.of_agent(name)
            row = [
                str(place),
                name,
                f"{rating:.0f}",
                str(result.games),
                str(result),
                percent(result.score.value, 1),
            ]
            row += [_percent(self.results.between(name, other)) for other in crossed]
            if crossed:
                row[_FIRST + place - 1] = "-"
            rows.append(row)
        table = text_table(header, rows, left=[1], names=2, terminal=terminal)
        return "\n".join([table, "", *self._remarks()])

    def _remarks(self) -> list[str]:
        first = self.results.first_player
        lines = [
            f"player_0, who moves first: {first}, {percent(first.score.value, 1)}; an advantage of "
            f"{self.advantage:+.0f} Elo",
            f"{first.games} games, {first.draws} drawn ({percent(first.draws / first.games, 1)}), "
            f"{self.results.mean_plies:.1f} plies on average",
        ]
        if self.caveat is not None:
            lines.append(f"warning: {self.caveat}")
        return lines


def _percent(result: MatchResult) -> str:
    return f"{100 * result.score.value:.0f}" if result.games else ""
