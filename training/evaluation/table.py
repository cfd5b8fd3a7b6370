"""Match results as a text table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..table import text_table
from .games import Games, Tally

# "w-d-l" and "as player_0/1" count the games that the first agent won, drew and lost.
_COLUMNS = (
    *("first", "second", "games", "w-d-l", "score", "95 %", "Elo", "95 %"),
    *("as player_0", "as player_1", "plies", "distinct", "time"),
)
_NAMES = 2  # columns of names


def table(matches: Sequence[Games], terminal: bool | None = None) -> str:
    """A table of matches in the view of their first agents, with warnings below it.

    Args:
        matches: the games of each match.
        terminal: draw the table for a terminal, see `text_table`.
    """
    drawn = text_table(_COLUMNS, list(map(_row, matches)), range(_NAMES), _NAMES, terminal)
    caveats = [
        f"warning: {games.players[0]} against {games.players[1]}: {games.caveat}"
        for games in matches
        if games.caveat is not None
    ]
    return "\n".join([drawn, *caveats])


def _row(games: Games) -> list[str]:
    tally = games.tally
    low, high = tally.interval
    return [
        *games.players,
        str(tally.games),
        _counts(tally),
        f"{tally.score:.3f}",
        f"{low:.3f}..{high:.3f}",
        _elo(tally.elo),
        "..".join(map(_elo, tally.elo_interval)),
        _counts(games.tally_as(0)),
        _counts(games.tally_as(1)),
        f"{games.plies.mean():.1f}",
        str(games.distinct),
        f"{games.seconds.sum():.1f} s",
    ]


def _counts(tally: Tally) -> str:
    return f"{tally.wins}-{tally.draws}-{tally.losses}"


def _elo(value: float) -> str:
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return f"{value:+.0f}"
