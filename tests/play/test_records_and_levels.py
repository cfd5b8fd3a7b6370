"""Records and levels in JavaScript are those of Python."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.arena.adaptive import OpponentEstimate
from ludarium.arena.ladder import load_ladder
from ludarium.arena.level_params import LevelParams
from ludarium.base.files import MEGABYTE, load_json
from ludarium.envs import make_game
from ludarium.envs.engine.record import (
    MOST_DEPTH,
    MOST_VARIED_MOVES,
    check_line,
    split_moves,
)
from tests.checkpoints import LADDERS
from tests.survival.readers import good_records, mutate_json

from .node import ask

HERE = Path(__file__).parent


def in_node(script: str, request: Any) -> Any:
    """What a script of this folder answers."""
    return ask(HERE / script, text=json.dumps(request))


# Records.


def _deep(levels: int) -> dict[str, Any]:
    """A record with variations nested ``levels`` deep."""
    line: dict[str, Any] = {"moves": ["b2"]}
    for _ in range(levels):
        line = {"moves": ["b2"], "variations": {"1": [line]}}
    return GOOD | line


GOOD = {"game": "x", "version": 0, "options": {}, "moves": ["a", "b"]}
WRONG: list[tuple[Any, str]] = [
    ({"moves": ["a"]}, "lacks game, version, options"),
    (GOOD | {"position": 5}, "position of the record is 5, not a text"),
    ([GOOD], "another JSON value"),
    (GOOD | {"moves": ["a", 5]}, "move 2 of the record is 5"),
    (GOOD | {"notes": {"2": 5}}, "the note on move 2 of the record is 5"),
    (GOOD | {"notes": {"3": "x"}}, 'name move "3"; accepted: "1" to "2"'),
    (GOOD | {"variations": {"2": [{"moves": []}]}}, "it has no moves"),
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
    records = (_deep(MOST_DEPTH), many, GOOD | {"position": None, "illegal_action": None})
    for answer in in_node("records.mjs", [json.dumps(each) for each in records]):
        assert "record" in answer, answer


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


def test_both_read_and_refuse_the_same() -> None:
    rng = random.Random(1)
    good = good_records()
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
            if not refused:
                assert load_json(answer["text"], "the record") == answer["record"]
                read += 1
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
        (number, words.get(number, ""), level.rating.value)
        for number, level in enumerate(ladder.levels, 1)
    ]
    assert [LevelParams(**each["params"]) for each in levels] == [
        each.params for each in ladder.levels
    ]


def test_a_ladder_of_another_format_is_told() -> None:
    ladder = json.loads(LADDERS[0].read_text()) | {"format": 1}
    (message,) = in_node("levels.mjs", [json.dumps(ladder)])
    assert "format is 1, not 4" in message
