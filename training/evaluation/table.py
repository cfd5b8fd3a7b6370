"""Match results as a text table."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Container, Sequence
from io import StringIO
from typing import Any

from .match import MatchResult, Tally

# w-d-l: games that the first agent won, drew and lost; in all, as player_0, as player_1.
_PLAIN_COLUMNS = (
    *("first", "second", "games", "w-d-l", "score", "95 %", "Elo", "95 %"),
    *("as player_0", "as player_1", "plies", "distinct", "time"),
)
_NAMES = 2  # columns of names, aligned to the left


def table(results: Sequence[MatchResult], terminal: bool | None = None) -> str:
    """A table of matches, in the view of their first agents.

    Args:
        results: the matches.
        terminal: draw it for a terminal, two lines for each match; ``False`` gives plain
            text, one line for each. Default: whether standard output is a terminal. Below, a line
            for each match whose interval is not to be trusted.
    """
    if terminal is None:
        terminal = sys.stdout.isatty()
    return _rich_table(results) if terminal else _plain_table(results)


def _plain_table(results: Sequence[MatchResult]) -> str:
    lines = [list(_PLAIN_COLUMNS), *map(_plain_row, results)]
    return "\n".join([*aligned(lines, range(_NAMES)), *_caveats(results)])


def aligned(lines: Sequence[Sequence[str]], left: Container[int]) -> list[str]:
    """Lines of text with their cells in columns; ``left`` are the columns aligned to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def printed(drawing: Any) -> str:
    """What rich prints of a drawing on a terminal of this width."""
    from rich.console import Console

    text = StringIO()
    Console(
        file=text, force_terminal=True, width=shutil.get_terminal_size().columns, highlight=False
    ).print(drawing)
    return text.getvalue().strip("\n")


def _caveats(results: Sequence[MatchResult]) -> list[str]:
    """A line for each match whose interval is not to be trusted."""
    return [
        f"warning: {result.first} against {result.second}: {result.caveat}"
        for result in results
        if result.caveat is not None
    ]


def _plain_row(result: MatchResult) -> list[str]:
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


def _rich_table(results: Sequence[MatchResult]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    drawing = Table(box=SIMPLE_HEAD, leading=1, pad_edge=False)
    for index, name in enumerate(
        [
            "match",
            "games\nw-d-l",
            "score\n95 %",
            "Elo\n95 %",
            "as player_0\nas player_1",
            "plies\ntime",
        ]
    ):
        drawing.add_column(name, justify="right" if index else "left", overflow="fold")
    for result in results:
        drawing.add_row(
            f"[bold]{escape(result.first)}[/bold]\nagainst {escape(result.second)}",
            f"{result.total.games}\n{_counts(result.total)}",
            f"[bold]{result.score:.3f}[/bold]\n{_score_interval(result)}",
            f"{_elo(result.elo)}\n{_elo_interval(result)}",
            f"{_counts(result.as_player_0)}\n{_counts(result.as_player_1)}",
            f"{result.mean_plies:.1f}\n{result.seconds:.1f} s",
        )
    drawing.caption = escape("\n".join(_caveats(results))) or None
    return printed(drawing)


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
