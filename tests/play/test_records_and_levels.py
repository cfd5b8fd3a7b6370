"""Records and levels in JavaScript are those of Python."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ludarium.arena.adaptive import OpponentEstimate
from ludarium.arena.knobs import Knobs
from ludarium.arena.ladder import load_ladder
from ludarium.envs import make_game
from ludarium.envs.engine.files import MEGABYTE, load_json
from ludarium.envs.engine.record import (
    MOST_DEPTH,
    MOST_VARIED_MOVES,
    check_line,
    split_moves,
)
from tests.checkpoints import LADDERS
from tests.survival.readers import mutate_json

from .node import ask

HERE = Path(__file__).parent


def in_node(script: str, request: Any) -> Any:
    """What a script of this folder answers."""
    return ask(HERE / script, text=json.dumps(request))


# Records.

_texts = st.text(max_size=12)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def lines(draw: st.DrawFn, first: int = 1, depth: int = 0) -> dict[str, Any]:
    """Any moves with notes and variations, as well formed as `check_line` wants them."""
    line: dict[str, Any] = {"moves": draw(st.lists(_texts, min_size=bool(depth), max_size=4))}
    numbers = st.integers(first, first + len(line["moves"]) - 1)
    if line["moves"] and draw(st.booleans()):
        line["notes"] = draw(st.dictionaries(numbers.map(str), _texts, max_size=3))
    if line["moves"] and depth < 3 and draw(st.booleans()):
        line["variations"] = {
            str(number): [draw(lines(number, depth + 1))]
            for number in draw(st.sets(numbers, max_size=2))
        }
    return line


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Any records that the page could read, if it knew their game."""
    fields = st.fixed_dictionaries(
        {
            "game": _texts,
            "version": st.integers(0, 10**9),
            "options": st.dictionaries(_texts, _values, max_size=3),
            "seed": st.integers(0, 2**53 - 1),
        },
        optional={"result": _values, "players": _values, "date": _texts},
    )
    return draw(fields) | draw(lines())


@pytest.fixture(scope="module")
def some_records() -> list[dict[str, Any]]:
    """Records of every kind."""
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=200,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(records())
    def collect(record: dict[str, Any]) -> None:
        found.append(record)

    collect()
    return found


def test_records_go_to_javascript_and_back(some_records: list[dict[str, Any]]) -> None:
    assert sum("variations" in record for record in some_records) > 20
    texts = [json.dumps(record) for record in some_records]
    for record, answer in zip(some_records, in_node("records.mjs", texts), strict=True):
        check_line(record, "the record")
        assert answer.get("record") == record, answer
        assert load_json(answer["text"], "the record") == record


def _deep(levels: int) -> dict[str, Any]:
    """A record with variations nested ``levels`` deep."""
    line: dict[str, Any] = {"moves": ["b2"]}
    for _ in range(levels):
        line = {"moves": ["b2"], "variations": {"1": [line]}}
    return GOOD | line


GOOD = {"game": "x", "version": 0, "options": {}, "moves": ["a", "b"]}
WRONG: list[tuple[Any, str]] = [
    (5, "another JSON value"),
    ([GOOD], "another JSON value"),
    ({"moves": ["a"]}, "lacks game, version, options"),
    (GOOD | {"options": [5]}, "options of the record are [5]"),
    (GOOD | {"seed": 1e20}, "seed of the record is 100000000000000000000"),
    (GOOD | {"seed": -1}, "seed of the record is -1"),
    (GOOD | {"moves": 5}, "moves of the record are 5"),
    (GOOD | {"moves": ["a", 5]}, "move 2 of the record is 5"),
    (GOOD | {"notes": [5]}, "notes of the record are [5]"),
    (GOOD | {"notes": {"3": "x"}}, 'name move "3"; accepted: "1" to "2"'),
    (GOOD | {"notes": {"01": "x"}}, 'name move "01"'),
    (GOOD | {"notes": {"2": 5}}, "the note on move 2 of the record is 5"),
    (GOOD | {"variations": {"2": 5}}, "the variations of move 2 of the record are 5"),
    (GOOD | {"variations": {"2": [5]}}, "a variation of move 2 of the record is 5"),
    (GOOD | {"variations": {"2": [{"moves": []}]}}, "it has no moves"),
    (GOOD | {"variations": {"2": [{"moves": ["a"], "notes": {"1": ""}}]}}, '"2" to "2"'),
    (_deep(MOST_DEPTH + 1), "is within 8 variations and has another"),
    (GOOD | {"variations": {"1": [{"moves": ["a"]}] * (MOST_VARIED_MOVES + 1)}}, "over 10000"),
]


@pytest.mark.parametrize(("record", "said"), WRONG)
def test_what_is_no_record_is_refused_in_javascript(record: Any, said: str) -> None:
    (answer,) = in_node("records.mjs", [json.dumps(record)])
    assert said in answer["error"]
    assert answer["seconds"] < 2


def test_what_is_within_the_limits_is_read_in_javascript() -> None:
    many = GOOD | {"variations": {"1": [{"moves": ["a"]}] * MOST_VARIED_MOVES}}
    for answer in in_node("records.mjs", [json.dumps(each) for each in (_deep(MOST_DEPTH), many)]):
        assert "record" in answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" " * (4 * MEGABYTE + 1), "at most 4194304 are"),
        ("{", "is not valid JSON"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested more than 32 deep"),
    ],
    ids=["long", "cut", "deep"],
)
def test_hostile_texts_are_refused_in_javascript(text: str, said: str) -> None:
    (answer,) = in_node("records.mjs", [text])
    assert said in answer["error"]
    assert answer["seconds"] < 2


def test_both_read_and_refuse_the_same(some_records: list[dict[str, Any]]) -> None:
    rng = random.Random(1)
    good = [json.dumps(record).encode() for record in some_records]
    texts = [mutate_json(rng.choice(good), rng).decode(errors="replace") for _ in range(2000)]
    read = 0
    for text, answer in zip(texts, in_node("records.mjs", texts), strict=True):
        assert answer["seconds"] < 2
        refused = ""
        try:
            record = load_json(text, "the record")
            check_line(record, "the record")
        except (AttributeError, ValueError) as error:  # AttributeError: it is not a mapping
            refused = str(error)
        if "record" in answer:
            # JavaScript takes some numbers that Python does not.
            assert not refused or "is not valid JSON" in refused
            for key in (
                "moves",
                "notes",
                "variations",
            ):  # others may have numbers of 2**53 and more
                assert refused or answer["record"].get(key) == record.get(key)
            read += not refused
        elif not refused:
            assert re.search("record lacks|options of|seed of", answer["error"])
    assert 100 < read < 1900


@pytest.mark.parametrize("name", ["corso", "obelisk"])
def test_plain_lists_are_split_as_in_python(name: str) -> None:
    text = "\ufeffc3, b2  c3!\r\nchoose red-z,, \n pick red-z"
    (answer,) = in_node("records.mjs", [{"split": text, "hasSpaces": name == "obelisk"}])
    assert answer["moves"] == split_moves(make_game(name), text.removeprefix("\ufeff"))


# Levels.


def test_an_adapting_opponent_on_the_page_learns_as_in_python() -> None:
    rng = np.random.default_rng(5)
    cases, expected = [], []
    for games in (0, 1, 3, 20, 100):
        top, start = rng.uniform(500, 3000), rng.uniform(0, 1500)
        results = [
            {"elo": rng.uniform(0, top), "points": rng.choice([0, 0.5, 1])} for _ in range(games)
        ]
        estimate = OpponentEstimate(0.0, top, start)
        for result in results:
            estimate.learn(result["elo"], result["points"])
        cases.append({"results": results, "top": top, "start": start})
        expected.append(estimate.elo)
    assert in_node("adapting.mjs", cases) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("file", LADDERS, ids=lambda file: file.name)
def test_ladders_are_those_of_python(file: Path) -> None:
    ladder = load_ladder(file)
    words = {number: word for word, number in ladder.words.items()}
    (levels,) = in_node("levels.mjs", [file.read_text()])
    assert [(each["number"], each["name"], each["elo"]) for each in levels] == [
        (number, words.get(number, ""), level.rating.elo)
        for number, level in enumerate(ladder.levels, 1)
    ]
    assert [Knobs(**each["knobs"]) for each in levels] == [each.knobs for each in ladder.levels]


def test_a_ladder_of_another_format_is_told() -> None:
    ladder = json.loads(LADDERS[0].read_text()) | {"format": 1}
    (message,) = in_node("levels.mjs", [json.dumps(ladder)])
    assert "format is 1, not 2" in message
