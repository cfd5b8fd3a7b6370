"""Foreign values in messages: short, on one line, and never an error of their own."""

from __future__ import annotations

from typing import Any

import pytest

from ludarium.base.messages import named, quoted, shortened


def _nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


class _Unwritable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value", ["move", "it's", "two  spaces", 7, -3, True, None, 0.5, [1, "a"], {"size": 5}]
)
def test_small_values_are_written_as_python_does(value: Any) -> None:
    assert quoted(value) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        "long " * 10**6,
        b"long" * 10**6,
        10**100_000,
        -(10**5000),
        [10**5000] * 1000,
        _nested(100_000),
        {"key\n\x1b[31m" * 1000: ["x"] * 10**6},
        "\x00\x1b[2J\r\n\u202e\u2028",
        _Unwritable(),
    ],
    ids=lambda value: type(value).__name__,  # pytest would write the values themselves
)
def test_any_value_is_short_and_on_one_line(value: Any) -> None:
    text = quoted(value)
    assert 0 < len(text) <= 60
    assert text.isprintable()


def test_a_long_text_ends_in_dots() -> None:
    assert quoted("x" * 100, limit=20) == "'xxxxxxxxxxxxxxxx..."
    assert shortened("x" * 100, limit=20) == "x" * 17 + "..."


def test_the_end_of_a_long_path_names_it_and_no_path_is_seen() -> None:
    assert named("a" * 60 + "/b.json", limit=10) == ".../b.json"
    assert named("") == "''"


def test_lines_of_a_foreign_message_are_joined() -> None:
    assert shortened("first\n  second\tthird\x07") == "first second third\\x07"
