"""Tables as text: plain in a file, as wide as the terminal on one, cells as they are."""

from __future__ import annotations

import re

import pytest

from ludarium.training.table import text_table

NAMES = ("[red]a[/red]", ":smile:", "z" * 60)
HEADER = ["agent", "Elo", *(f"column {number}" for number in range(12)), "remark"]
ROWS = [
    [name, "1,200", *(f"{place}.{number}" for number in range(12)), "a text of six words here"]
    for place, name in enumerate(NAMES)
]


def test_a_plain_row_is_one_line_with_its_columns_aligned() -> None:
    rows = [["[red]a", "12", "one"], [":smile:", "-1,000", ""]]
    assert text_table(["agent", "Elo", "what"], rows, left=(0, 2), terminal=False).split("\n") == [
        "agent       Elo  what",
        "[red]a       12  one",
        ":smile:  -1,000",
    ]
    assert text_table(None, rows, left=(0, 2), terminal=False).split("\n") == [
        "[red]a       12  one",
        ":smile:  -1,000",
    ]
    assert len(text_table(HEADER, ROWS, terminal=False).split("\n")) == 1 + len(ROWS)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_terminal_shows_all_cells_within_its_width(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    last = len(HEADER) - 1
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", text_table(HEADER, ROWS, left=(0, last), terminal=True))
    assert max(map(len, drawn.split("\n"))) <= width
    for cell in ("1,200", *HEADER[1:], *(cell for row in ROWS for cell in row[2:last])):
        assert re.search(rf"(^|\s){re.escape(cell)}(\s|$)", drawn)
    tables = drawn.split("\n\n")
    assert len(tables) == 1 if width == 200 else len(tables) > 1
    for table in tables:  # each names its rows; a long name is folded
        assert NAMES[0] in table
        assert NAMES[1] in table
        assert table.count("z") == 60


def test_a_table_in_a_notebook_is_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = text_table(HEADER, ROWS, terminal=False)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert text_table(HEADER, ROWS, terminal=False) == elsewhere
