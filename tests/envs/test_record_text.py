"""Records as text: what is written is read back, and what is wrong is pointed at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.envs import GAMES, from_record, make
from ludarium.envs.engine.record import check_record, read_record_file, record_file_content
from ludarium.envs.engine.record_text import (
    MOST_CHARACTERS,
    MOST_DEPTH,
    MOST_HEADERS,
    MOST_MOVES,
    format_record,
    parse_record,
)
from tests.play.record_texts import HEAD, WRONG, records
from tests.tictactoe import TicTacToe

GAME = """\
[Format "ludarium 1"]
[Game "tictactoe"]
[Version 0]
[Seed 7]
[Result "1-0"]
[Player_0 "Ada"]
[Player_1 "uct:100"]
[Seat "0"]
[Date "2026-11-22"]

1. b2; 2. a1 {too near} (2. b1; 3. c1 {a fork} (3. a3; 4. c1); 4. a3); 3. c3;
4. a3; 5. a2
"""


def test_a_game_is_read_as_people_write_it() -> None:
    record = parse_record(GAME)
    assert record == {
        "game": "tictactoe",
        "version": 0,
        "options": {},
        "seed": 7,
        "moves": ["b2", "a1", "c3", "a3", "a2"],
        "result": [1, -1],
        "players": ["Ada", "uct:100"],
        "seat": 0,
        "headers": {"Date": "2026-11-22"},
        "notes": [
            {
                "move": 2,
                "comment": "too near",
                "variations": [
                    [
                        {"text": "b1"},
                        {
                            "text": "c1",
                            "comment": "a fork",
                            "variations": [[{"text": "a3"}, {"text": "c1"}]],
                        },
                        {"text": "a3"},
                    ]
                ],
            }
        ],
    }
    assert format_record(record).split() == GAME.split()
    check_record(record, {"tictactoe": TicTacToe})


def test_the_guide_s_example_is_as_it_would_be_written() -> None:
    guide = Path(__file__).parents[2].joinpath("docs/guide/records.md").read_text(encoding="utf-8")
    example = guide.split("```\n")[3]
    record = parse_record(example)
    assert format_record(record) == example
    assert json.loads(guide.split("```json\n")[1].split("```")[0]).keys() == record.keys()


def test_numbers_are_optional_and_lines_and_spaces_are_free() -> None:
    loose = HEAD.replace("\n", " \t\r\n") + "\r\n choose  red;\n\n2.pick\tred ;"
    assert parse_record("\ufeff" + loose)["moves"] == ["choose red", "pick red"]


@pytest.mark.parametrize("result", [[1, -1], [-1, 1], [0, 0], None])
def test_results_are_kept(result: list[int] | None) -> None:
    record = {"game": "corso", "version": 0, "options": {}, "moves": [], "result": result}
    assert parse_record(format_record(record))["result"] == result


@settings(max_examples=150)
@given(records())
def test_what_is_written_is_read_back(record: dict[str, Any]) -> None:
    text = format_record(record)
    assert parse_record(text) == record
    assert format_record(parse_record(text)) == text
    assert parse_record(text.replace("\n", "\r\n")) == record


@pytest.mark.parametrize(("text", "where", "said"), WRONG)
def test_what_is_wrong_is_pointed_at(text: str, where: str, said: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        parse_record(text)
    assert str(refusal.value).startswith(where + ": ")
    assert said in str(refusal.value)


@settings(max_examples=300)
@given(st.text() | st.text(alphabet='[]{}()";\\ \n1.aG').map(lambda text: HEAD + text))
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal, record = "", {}
    try:
        record = parse_record(text)
    except ValueError as error:
        refusal = str(error)
    if record:
        assert parse_record(format_record(record)) == record
    else:
        assert 0 < len(refusal) <= 300
        assert refusal.isprintable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "a;" * (MOST_MOVES + 1), "more than 100,000 moves"),
        (HEAD + "a(" * (MOST_DEPTH + 1) + "b", "more than 8 variations"),
        (HEAD + "".join(f'[A{n} ""]\n' for n in range(MOST_HEADERS)), "more than 200 headers"),
        (" " * (MOST_CHARACTERS + 1), "the most are 4,194,304"),
        (HEAD + '[Option "a" ' + "[" * 100_000 + "]", "more than 32 lists"),
    ],
)
def test_limits(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_record(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"result": [2, 0]}, "the result of the game record is [2, 0]"),
        ({"players": ["one"]}, "players of a game record are two names, not ['one']"),
        ({"seat": 2}, "Seat is '2'"),
        ({"seed": -1}, "Seed is '-1'"),
        ({"game": 5}, "Game is '5'"),
        ({"options": {"size": float("nan")}}, "nan cannot be written"),
        ({"options": {"size": 2**53}}, "a number of more than 2**53 - 1"),
        ({"options": {"size": {1}}}, "{1} cannot be written"),
        ({"options": [5]}, "options are [5]"),
        ({"headers": {"Game": "x"}}, "'Game' is no name of a header"),
        ({"headers": {"a b": "x"}}, "'a b' is no name of a header"),
        ({"headers": {"Date": 5}}, "Date is '5'"),
        ({"moves": "b2"}, "not 'b2'"),
        ({"moves": [5]}, "lists of texts"),
        ({"notes": [{"move": 9}]}, "of move 9; there are 1"),
        ({"notes": [{"move": 1, "comment": "a\0b"}]}, "move 1 has the character '\\x00'"),
        ({"notes": [{"move": 1, "variations": [[]]}]}, "a variation of move 1 has no moves"),
        ({"notes": [5]}, "lists of texts and of mappings"),
    ],
)
def test_what_cannot_be_written_is_told(change: dict[str, Any], said: str) -> None:
    record = {"game": "corso", "version": 0, "options": {}, "moves": ["b2"]}
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        format_record(record | change)
    assert said in str(refusal.value)


# Files, and rules.


def test_files_of_both_kinds_are_read(tmp_path: Path) -> None:
    record = parse_record(GAME)
    for name in ("game.txt", "game.TXT", "game.json", "game"):
        path = tmp_path / name
        path.write_text(record_file_content(record, path), encoding="utf-8")
        assert path.read_text()[0] == ("[" if name.lower().endswith(".txt") else "{")
        assert read_record_file(path) == record


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xef\xbb\xbf[Game 5]", "line 1, column 1: the first header"),
        (HEAD.encode() + b"{\xff}", "can't decode byte 0xff"),
        (HEAD.encode() + b"b2; 3. a1", "line 4, column 5 (move 2): this is move 2, but"),
        (b"b2 a1", "is not valid JSON"),
    ],
)
def test_a_file_that_holds_no_record_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        read_record_file(path)
    assert said in str(refusal.value)
    assert "some.txt'" in str(refusal.value)


def test_an_environment_goes_through_text() -> None:
    env = make("corso", size=2)
    env.reset(seed=7)
    for text in ("b1", "a2"):
        env.step(env.text_to_action(text))
    record = env.to_record()
    assert record["result"] is None
    again = from_record(parse_record(format_record(record)))
    assert again.to_record() == record


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ("1. b2; 2. b2", "move 2 of the game record: 'b2'"),
        (
            "1. b2; 2. a1 (2. a3; 3. b2)",
            "move 3 of the game record, in a variation of move 2: 'b2'",
        ),
        (
            "1. b2; 2. a1 (2. a3; 3. c1 (3. a2; 4. a3))",
            "move 4 of the game record, in a variation of move 3: 'a3'",
        ),
        ("1. b2 (1. z9)", "move 1 of the game record, in a variation of move 1: 'z9'"),
    ],
)
def test_illegal_moves_are_named(moves: str, said: str) -> None:
    head = HEAD.replace("corso", "tictactoe")
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        check_record(parse_record(head + moves), {"tictactoe": TicTacToe})
    assert str(refusal.value).startswith(said)


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        (5, "notes of a game record are a list"),
        ([5], "notes of a game record are a list"),
        ([{"move": 0}], "a note of the game record is of move 0"),
        ([{"move": 3}], "a note of the game record is of move 3"),
        ([{"move": 1}, {"move": 1}], "a note of the game record is of move 1"),
        ([{"move": 1, "comment": 5}], "the comment of move 1 of the game record is 5"),
        ([{"move": 1, "variations": 5}], "variations of move 1 of the game record are 5"),
        ([{"move": 1, "variations": [5]}], "a variation of move 1 of the game record is 5"),
        ([{"move": 1, "variations": [[]]}], "a variation of move 1 of the game record is []"),
        ([{"move": 1, "variations": [[5]]}], "in a variation of move 1 is 5"),
        ([{"move": 1, "variations": [[{}]]}], "in a variation of move 1 is None, not a text"),
    ],
)
def test_notes_of_a_json_record_are_checked(notes: object, said: str) -> None:
    record = {"game": "tictactoe", "version": 0, "options": {}, "moves": ["b2", "a1"]}
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        check_record(record | {"notes": notes}, {"tictactoe": TicTacToe})
    assert said in str(refusal.value)


def test_variations_within_each_other_are_limited() -> None:
    moves: list[dict[str, Any]] = [{"text": "b2"}]
    for _ in range(MOST_DEPTH + 1):
        moves = [{"text": "b2", "variations": [moves]}]
    record = {"game": "tictactoe", "version": 0, "options": {}, "moves": ["b2"]}
    record["notes"] = [{"move": 1, "variations": moves[0]["variations"]}]
    with pytest.raises(ValueError, match="is within 8 variations and has another"):
        check_record(record, {"tictactoe": TicTacToe})
    with pytest.raises(ValueError, match="more than 8 variations"):
        format_record(record)
    record["notes"][0]["variations"] = moves[0]["variations"][0][0]["variations"]
    check_record(record, {"tictactoe": TicTacToe})
    assert parse_record(format_record(record))["notes"] == record["notes"]
    assert json.loads(record_file_content(record, "x.json")) == record


def test_json_records_of_older_versions_are_read() -> None:
    record = {"game": "corso", "version": 0, "options": {"size": 3}, "seed": 0}
    game, _, actions = check_record(record | {"moves": ["b2"], "result": [0, 0]}, GAMES)
    assert (game.name, actions) == ("corso", [4])
