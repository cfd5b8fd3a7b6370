"""Match results as a text table."""

from __future__ import annotations

from collections.abc import Sequence

from ..table import text_table
from .games import Games

# "w-d-l" and "as player_0/1" count the games that the first agent won, drew and lost.
_COLUMNS = (
    *("first", "second", "games", "w-d-l", "score (95 %)", "Elo (95 %)"),
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
    result = games.result
    return [
        *games.players,
        str(result.games),
        str(result),
        f"{result.score:.3f}",
        f"{result.elo:+.0f}",
        str(games.result_as(0)),
        str(games.result_as(1)),
        f"{games.plies.mean():.1f}",
        str(games.distinct),
        f"{games.seconds.sum():.1f} s",
    ]
