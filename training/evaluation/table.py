"""Match results as a text table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..table import text_table
from .match import MatchResult, Tally

# w-d-l: games that the first agent won, drew and lost; in all, as player_0, as player_1.
_COLUMNS = (
    *("first", "second", "games", "w-d-l", "score", "95 %", "Elo", "95 %"),
    *("as player_0", "as player_1", "plies", "distinct", "time"),
)
_NAMES = 2  # columns of names


def table(results: Sequence[MatchResult], terminal: bool | None = None) -> str:
    """A table of matches, in the view of their first agents.

    Args:
        results: the matches.
        terminal: draw it for a terminal, see `text_table`. Below, a line for each match whose
            interval is not to be trusted.
    """
    drawn = text_table(_COLUMNS, list(map(_row, results)), range(_NAMES), _NAMES, terminal)
    return "\n".join([drawn, *_caveats(results)])


def _caveats(results: Sequence[MatchResult]) -> list[str]:
    """A line for each match whose interval is not to be trusted."""
    return [
        f"warning: {result.first} against {result.second}: {result.caveat}"
        for result in results
        if result.caveat is not None
    ]


def _row(result: MatchResult) -> list[str]:
    return [
        result.first,
        result.second,
        str(result.total.games),
        _counts(result.total),
        f"{result.score:.3f}",
        _score_interval(result),
        _elo(result.elo),
        _elo_interval(result),
        _counts(result.as_player_0),
        _counts(result.as_player_1),
        f"{result.mean_plies:.1f}",
        str(result.distinct_games),
        f"{result.seconds:.1f} s",
    ]


def _counts(tally: Tally) -> str:
    return f"{tally.wins}-{tally.draws}-{tally.losses}"


def _score_interval(result: MatchResult) -> str:
    low, high = result.interval
    return f"{low:.3f}..{high:.3f}"


def _elo_interval(result: MatchResult) -> str:
    low, high = result.elo_interval
    return f"{_elo(low)}..{_elo(high)}"


def _elo(value: float) -> str:
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return f"{value:+.0f}"
