"""The short form of the fuzzing: every reader, some seconds; and any text by hypothesis."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.configs.loading import parse_config, read_yaml
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.files import load_json
from ludarium.envs.engine.messages import quoted, shortened
from ludarium.envs.engine.record import check_record
from tests.tictactoe import TicTacToe

from .fuzz import finding, fuzz
from .readers import READERS, Reader

CASES = 60
_short = settings(max_examples=50)

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_data = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_no_reader_has_findings(reader: Reader, tmp_path: Path) -> None:
    assert fuzz(reader, range(CASES), tmp_path) == []


def _raises(error: BaseException) -> Reader:
    def read(path: Path) -> None:
        if path.read_bytes() == b"hostile":
            raise error

    return Reader("a reader", read, lambda: [b"good"], lambda content, rng: b"hostile")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RecursionError("too deep"), "RecursionError"),
        (TypeError("no"), "TypeError"),
        (MemoryError(), "MemoryError"),
        (OverflowError("large"), "OverflowError"),
        (ValueError("x" * 401), "401 characters"),
        (ValueError("line\nline"), "control characters"),
        (ValueError(), "empty message"),
    ],
)
def test_the_fuzzing_finds_what_it_looks_for(
    error: BaseException, said: str, tmp_path: Path
) -> None:
    (found,) = fuzz(_raises(error), range(1), tmp_path)
    assert said in found
    assert "seed 0" in found


def test_a_good_refusal_is_no_finding(tmp_path: Path) -> None:
    assert fuzz(_raises(ValueError("that is no table")), range(3), tmp_path) == []


def _is_refused_well(read: object, *arguments: object) -> None:
    reader = Reader("this", lambda path: read(*arguments), list, lambda content, rng: content)  # type: ignore[operator]
    assert finding(reader, Path()) is None


@_short
@given(st.text() | st.binary())
def test_any_json_text(text: str | bytes) -> None:
    _is_refused_well(load_json, text, "a record")


@_short
@given(st.text())
def test_any_yaml_text(text: str) -> None:
    _is_refused_well(read_yaml, text, "a value")
    _is_refused_well(parse_config, text, "some.yaml")


@_short
@given(_data)
def test_any_data_as_a_record(data: object) -> None:
    games = {"tictactoe": TicTacToe}
    _is_refused_well(check_record, data, games)
    record = {"game": "tictactoe", "version": 0, "options": {}, "seed": 1, "moves": ["b2"]}
    for key in record:
        _is_refused_well(check_record, record | {key: data}, games)


@_short
@given(st.sampled_from(sorted(GAMES)), st.dictionaries(st.text(max_size=8), _data, max_size=2))
def test_any_options_of_a_game(name: str, options: dict) -> None:
    for option in GAMES[name].option_list:
        if options:
            options[option.name] = next(iter(options.values()))
    _is_refused_well(lambda: make_game(name, **options))


@_short
@given(_data | st.binary() | st.text(), st.integers(20, 100))
def test_any_value_in_a_message(value: object, limit: int) -> None:
    for text in (quoted(value, limit), shortened(str(value), limit)):
        assert len(text) <= limit
        assert text.isprintable()
