"""`text_table`: rows of text as a table, for a terminal or plain; `percent`: a share in a cell."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Container, Sequence
from io import StringIO

from ludarium.base.console import plain_console

_GAP = 2  # characters between columns
_NARROW = 24  # least width of wrapped texts before a table is divided


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage, in the form of all texts for people: ``8 %``."""
    return f"{100 * share:.{digits}f} %"


def text_table(
    header: Sequence[str] | None,
    rows: Sequence[Sequence[str]],
    left: Container[int] = (0,),
    names: int = 1,
    terminal: bool | None = None,
) -> str:
    """Format rows of text as a table.

    On a terminal that is too narrow for all columns, the rest follow in tables below, beside the
    same names. Elsewhere each row is one line. Cells are shown as they are: brackets in them are
    not markup.

    Args:
        header: titles of the columns; None for no header.
        rows: the cells of each row, equally many in all.
        left: columns of texts, aligned to the left; the terminal may wrap them.
        names: how many columns at the left name a row.
        terminal: draw it for a terminal. Default: whether standard output is one.

    Returns:
        Lines without trailing spaces, and without a newline at the end.
    """
    if terminal is None:
        terminal = sys.stdout is not None and sys.stdout.isatty()
    lines = [*rows] if header is None else [header, *rows]
    widths = [max(map(len, column)) + _GAP for column in zip(*lines, strict=True)]
    if not terminal:
        return _drawn(header, rows, left, range(len(widths)), sum(widths), is_plain=True)
    width = shutil.get_terminal_size().columns
    needed = [min(each, _NARROW) if n in left else each for n, each in enumerate(widths)]
    return "\n\n".join(
        _drawn(header, rows, left, columns, width, is_plain=False)
        for columns in _divided(needed, names, width)
    )


def _divided(widths: Sequence[int], names: int, width: int) -> list[list[int]]:
    """Groups of columns that each fit into ``width``, unless a single column is too wide.

    Every group begins with the names.
    """
    tables = [list(range(names))]
    for column in range(names, len(widths)):
        used = sum(widths[each] for each in tables[-1]) - _GAP
        if len(tables[-1]) > names and used + widths[column] > width:
            tables.append(list(range(names)))
        tables[-1].append(column)
    return tables


def _drawn(
    header: Sequence[str] | None,
    rows: Sequence[Sequence[str]],
    left: Container[int],
    columns: Sequence[int],
    width: int,
    is_plain: bool,
) -> str:
    """Some columns of a table, in lines of at most ``width`` characters."""
    from rich.box import ASCII, SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    has_lines = "utf" in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    table = Table(
        box=None if is_plain else SIMPLE_HEAD if has_lines else ASCII,
        padding=(0, _GAP if is_plain else _GAP - 1, 0, 0),  # a box adds a space
        pad_edge=False,
        show_edge=False,
        show_header=header is not None,
    )
    for column in columns:
        is_text = column in left
        table.add_column(
            Text("" if header is None else header[column]),
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=is_plain or not is_text,
        )
    for row in rows:
        table.add_row(*(Text(row[column]) for column in columns))
    text = StringIO()
    plain_console(file=text, force_terminal=not is_plain, width=width).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().removesuffix("\n").split("\n"))
