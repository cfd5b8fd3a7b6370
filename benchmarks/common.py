"""Options and Markdown tables for all benchmarks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

#: One row of a table: a cell for each column, by the column's name.
Row = dict[str, Any]


def new_parser(description: str | None, games: Sequence[str] = ()) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark.

    Args:
        description: the benchmark's docstring.
        games: the default of ``--games``; if empty, there is no such option.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if games:
        parser.add_argument("--games", nargs="+", default=list(games), metavar="GAME")
    parser.add_argument(
        "--quick", action="store_true", help="only check that everything still runs"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the rows to a file of JSON")
    return parser


def print_table(rows: Iterable[Row], file: Path | None = None) -> list[Row]:
    """Print rows as a Markdown table, each as soon as it is measured.

    Args:
        rows: rows of the same columns.
        file: file to which the rows are added, one JSON object on each line.

    Returns:
        The rows.
    """
    printed: list[Row] = []
    for row in rows:
        if not printed:
            print(f"\n| {' | '.join(row)} |\n|{'---|' * len(row)}")
        print(f"| {' | '.join(map(_cell, row.values()))} |", flush=True)
        printed.append(row)
        if file is not None:
            with file.open("a") as lines:
                lines.write(json.dumps(row) + "\n")
    return printed


def _cell(value: Any) -> str:
    """A number with three or more significant digits; everything else as it is."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
