"""Records and levels in JavaScript are those of Python."""

from __future__ import annotations

import json
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ludarium.arena.knobs import Knobs, knobs_at
from ludarium.arena.ladder import load_ladder
from ludarium.arena.level import choice_probabilities, choose
from ludarium.envs.engine.record_text import (
    MOST_CHARACTERS,
    MOST_MOVES,
    format_record,
    parse_record,
)
from ludarium.training.search import SearchResult
from tests.survival.mutate import mutate_bytes

from .node import ask
from .record_texts import HEAD, WRONG, records

HERE = Path(__file__).parent
RESULTS = {(1, -1): "1-0", (-1, 1): "0-1", (0, 0): "1/2-1/2"}
LADDERS = sorted(files("ludarium.models").joinpath("shipped").iterdir(), key=lambda file: file.name)
LADDERS = [file for file in LADDERS if file.name.endswith(".levels.json")]


def in_node(script: str, request: Any) -> Any:
    """What a script of this folder answers."""
    return ask(HERE / script, text=json.dumps(request))


# Records.


@pytest.fixture(scope="module")
def some_records() -> list[dict[str, Any]]:
    """Records of every kind."""
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=200,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(records())
    def collect(record: dict[str, Any]) -> None:
        found.append(record)

    collect()
    return found


def as_in_javascript(record: dict[str, Any]) -> dict[str, Any]:
    """A record of Python's as the page has it."""
    moves: list[dict[str, Any]] = [{"text": text} for text in record["moves"]]
    for note in record.get("notes", []):
        moves[note["move"] - 1] |= {key: note[key] for key in note if key != "move"}
    players, seat = record.get("players", []), record.get("seat")
    headers = {f"Player_{number}": name for number, name in enumerate(players)}
    headers |= {} if seat is None else {"Seat": str(seat)}
    result = "*" if record["result"] is None else RESULTS[tuple(record["result"])]
    seed = record["seed"]
    return {
        "game": record["game"],
        "version": record["version"],
        "options": record["options"],
        "headers": headers | record.get("headers", {}),
        "moves": moves,
        "result": result,
        "seed": seed if seed < 2**53 else f"{seed}n",
    }


def moves_of(text: str) -> str:
    """What follows the headers, whose order JavaScript changes where names are numbers."""
    return text.partition("\n\n")[2]


def test_records_go_to_javascript_and_back(some_records: list[dict[str, Any]]) -> None:
    texts = [format_record(record) for record in some_records]
    assert sum("(" in text for text in texts) > 20
    for record, text, answer in zip(
        some_records, texts, in_node("records.mjs", texts), strict=True
    ):
        assert answer.get("record") == as_in_javascript(record), (text, answer)
        assert parse_record(answer["text"]) == record
        assert moves_of(answer["text"]) == moves_of(text)


def test_json_records_are_read_in_javascript(some_records: list[dict[str, Any]]) -> None:
    exact = [record for record in some_records if record["seed"] < 2**53]
    assert len(exact) > 20
    answers = in_node("records.mjs", [json.dumps(record) for record in exact])
    for record, answer in zip(exact, answers, strict=True):
        assert answer.get("record") == as_in_javascript(record), answer
        assert parse_record(answer["text"]) == record


def place_of(message: str) -> str:
    """Line, column and move, with which messages begin."""
    return message.partition(":")[0]


def test_what_is_wrong_is_pointed_at_in_javascript() -> None:
    for wrong, answer in zip(
        WRONG, in_node("records.mjs", [each[0] for each in WRONG]), strict=True
    ):
        text, where, _ = wrong
        assert place_of(answer.get("error", "")) == where, (text, answer)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" " * (MOST_CHARACTERS + 1), "the most are 4194304"),
        (HEAD + "a;" * (MOST_MOVES + 1), "more than 100000 moves"),
        (HEAD + "a(" * 9 + "b", "more than 8 variations"),
        (HEAD + "".join(f'[A{n} ""]\n' for n in range(200)), "more than 200 headers"),
        (HEAD + '[Option "a" ' + "[" * 100_000 + "]" * 100_000 + "]", "is not valid JSON"),
        ("{", "JSON"),
        ('{"moves": 5}', "moves and notes of a game record are lists"),
        ('{"moves": ["a"]}', "lacks its game"),
        ('{"game": "x", "version": 0, "moves": [5]}', "move 1 of the record has no text"),
        ('{"game": "x", "version": 0, "moves": [], "notes": [{"move": 1}]}', "a note is of move"),
        ('{"game": "x", "version": 0, "moves": [], "seed": 1e20}', "the seed is too large"),
        ('{"game": "x", "version": 0, "moves": [], "result": [5]}', "Result"),
    ],
)
def test_hostile_texts_are_refused_in_javascript(text: str, said: str) -> None:
    (answer,) = in_node("records.mjs", [text])
    assert said in answer["error"]
    assert answer["seconds"] < 2


def test_both_read_and_refuse_the_same(some_records: list[dict[str, Any]]) -> None:
    rng = random.Random(1)
    good = [format_record(record).encode() for record in some_records]
    changed = [mutate_bytes(rng.choice(good), rng) for _ in range(2000)]
    texts = [text.decode(errors="replace") for text in changed]
    read = 0
    for text, answer in zip(texts, in_node("records.mjs", texts), strict=True):
        if text.removeprefix("\ufeff").lstrip(" \t\r\n").startswith("{"):
            continue  # JSON, which Python reads elsewhere
        try:
            record = parse_record(text)
        except ValueError as error:
            refused = str(error)
        else:
            refused = ""
            read += 1
            assert parse_record(answer.get("text", "")) == record, (text, answer)
        assert place_of(answer.get("error", "")) == place_of(refused), (text, refused, answer)
        assert answer["seconds"] < 2
    assert 100 < read < 1900


# Levels.


def searched(rng: np.random.Generator) -> SearchResult:
    """A search that found something, about which nothing is known."""
    actions = int(rng.integers(2, 60))
    values = rng.uniform(-1, 1, actions).astype(np.float32)
    if rng.random() < 0.3:
        values[rng.integers(actions)] = 1  # a win at once
    policy = rng.dirichlet(np.full(actions, rng.choice([0.05, 1.0]))).astype(np.float32)
    best = int(rng.integers(actions)) if rng.random() < 0.5 else int(values.argmax())
    is_tried = rng.random(actions) < 0.7
    is_tried[best] = True
    policy[~is_tried] = 0
    return SearchResult(
        actions=np.array([best]),
        policies=policy[None],
        values=values[best : best + 1],
        visits=is_tried[None].astype(np.int32),
        action_values=np.where(is_tried, values, np.float32(np.nan))[None],
        proven=np.array([False]),
        simulations=16,
        evaluations=16,
    )


def as_choice(result: SearchResult, knobs: Knobs, lot: float) -> dict[str, Any]:
    values = result.action_values[0].tolist()
    return {
        "action": int(result.actions[0]),
        "policy": result.policies[0].tolist(),
        "actionValues": [None if np.isnan(value) else value for value in values],
        "knobs": {"temperature": knobs.temperature, "bound": knobs.bound},
        "lot": lot,
    }


def test_levels_choose_as_in_python() -> None:
    rng = np.random.default_rng(3)
    cases = [
        (searched(rng), knobs_at(float(rng.uniform(-2, 9.5)), 256), float(rng.random()))
        for _ in range(500)
    ]
    won = searched(rng)
    won.action_values[0, 0], won.actions[0] = 1, 0  # a win at once, and the loss of all others
    won.action_values[0, 1:] = -1
    cases += [(won, Knobs(16, temperature=0.5), 0.9), (won, Knobs(16, 0.01, bound=1.0), 0.999)]
    request = {"choices": [as_choice(*case) for case in cases], "ladders": []}
    answers = in_node("levels.mjs", request)["chosen"]
    assert sum(answer["chances"] is None for answer in answers) > 5  # the strongest
    for (result, knobs, lot), answer in zip(cases, answers, strict=True):
        assert answer["drawn"] == choose(result, knobs, np.array([lot]))[0]
        if knobs.temperature:
            chances = choice_probabilities(result, knobs)[0]
            assert answer["chances"] == pytest.approx(chances, abs=1e-6)
    assert answers[-1]["chances"][0] == 1
    assert 0.5 < answers[-2]["chances"][0] < 1


@pytest.mark.parametrize("file", LADDERS, ids=lambda file: file.name)
def test_ladders_are_those_of_python(file: Path) -> None:
    ladder = load_ladder(file)
    words = {number: word for word, number in ladder.words.items()}
    (levels,) = in_node("levels.mjs", {"choices": [], "ladders": [file.read_text()]})["levels"]
    assert [(each["number"], each["name"], each["elo"]) for each in levels] == [
        (number, words.get(number, ""), level.rating.elo)
        for number, level in enumerate(ladder.levels, 1)
    ]
    assert [Knobs(**each["knobs"]) for each in levels] == [each.knobs for each in ladder.levels]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "format is 2, not 1"),
        ({"levels": 5}, "a list of 2 to 100 levels"),
        ({"levels": [{}, {}]}, "simulations of level 1 is undefined"),
        ({"temperature": -1}, "temperature of level 1 is -1; accepted: a number from 0 to 1000"),
        ({"sees_wins": "1"}, "sees_wins of level 1 is 1; accepted"),
        ({"simulations": 16.5}, "simulations of level 1 is 16.5, not a whole number"),
        ({"elo": 5}, "elo of level 1 is undefined"),
        ({"elo": [1e4, 0, 0]}, "level 2 is not stronger than the one below"),
    ],
)
def test_what_is_no_ladder_is_told(change: dict[str, Any], said: str) -> None:
    ladder = json.loads(LADDERS[0].read_text())
    if change.keys() <= {"format", "levels"}:
        ladder |= change
    else:
        ladder["levels"][0] |= change
    (message,) = in_node("levels.mjs", {"choices": [], "ladders": [json.dumps(ladder)]})["levels"]
    assert said in message
