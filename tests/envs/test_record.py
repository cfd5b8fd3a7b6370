"""Records and plain lists of moves: what is read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ludarium.envs import GAMES, from_record, make_game
from ludarium.envs.engine.record import (
    MOST_DEPTH,
    MOST_VARIED_MOVES,
    check_record,
    read_record_file,
    split_moves,
)
from tests.tictactoe import TicTacToe

GOOD = {"game": "tictactoe", "version": 0, "options": {}, "moves": ["b2", "a1", "c3"]}


def check(record: dict[str, Any]) -> list[int]:
    return check_record(record, {"tictactoe": TicTacToe}).actions


def refusal_of(change: dict[str, Any]) -> str:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (callers check the words)
        check(GOOD | change)
    return str(refusal.value)


def test_the_guide_s_example_is_a_record() -> None:
    guide = Path(__file__).parents[2].joinpath("docs/guide/records.md").read_text(encoding="utf-8")
    record = json.loads(guide.split("```json\n")[1].split("```")[0])
    assert record["notes"]
    assert record["variations"]
    env = from_record(record)
    again = env.to_record()
    assert again == {key: record[key] for key in again}


def test_notes_and_variations_do_not_change_the_game() -> None:
    within = {"moves": ["b1"], "notes": {"3": "or so"}}
    variation = {"moves": ["a3", "a1"], "notes": {}, "variations": {"3": [within]}}
    told = {"notes": {"1": "first", "3": ""}, "variations": {"2": [variation, {"moves": ["b1"]}]}}
    assert check(GOOD | told) == check(GOOD)


@pytest.mark.parametrize(
    ("variations", "said"),
    [
        ({"2": [{"moves": ["a3", "b2"]}]}, "move 3 of the game record, in a variation of move 2:"),
        (
            {"2": [{"moves": ["a3", "c1"], "variations": {"3": [{"moves": ["a2", "a3"]}]}}]},
            "move 4 of the game record, in a variation of move 3: 'a3'",
        ),
        ({"1": [{"moves": ["z9"]}]}, "move 1 of the game record, in a variation of move 1: 'z9'"),
    ],
)
def test_illegal_moves_of_variations_are_named(variations: dict[str, Any], said: str) -> None:
    assert refusal_of({"variations": variations}).startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"game": "chess"}, "the game record is of 'chess'; known games: tictactoe"),
        ({"game": None}, "is of None; known games"),
        ({"game": ["tictactoe"]}, "is of ['tictactoe']; known games"),
        ({"version": 1}, "is for version 1 of tictactoe, and this program has version 0"),
        ({"version": "0"}, "is for version '0' of tictactoe"),
        ({"options": {"size": 3}}, "tictactoe has no option 'size' (given 3)"),
        ({"options": {3: 1}}, "the game record: options are {3: 1}; they must be"),
        ({"options": [3]}, "the game record: options are [3]; they must be"),
        ({"options": None}, "the game record: options are None; they must be"),
        ({"seed": -1}, "seed of the game record is -1"),
        ({"seed": 2**128}, "it must be an integer from 0 to 2**128 - 1"),
        ({"seed": "7"}, "seed of the game record is '7'"),
        ({"seed": True}, "seed of the game record is True"),
        ({"seed": None}, "seed of the game record is None"),
        ({"position": ["- 0"]}, "position of the game record: a position is written as a text"),
        ({"moves": "b2"}, "moves of the game record are 'b2'"),
        ({"moves": None}, "moves of the game record are None"),
        ({"moves": {"b2": 1}}, "moves of the game record are {'b2': 1}"),
        ({"moves": ["b2", 5]}, "move 2 of the game record is 5"),
        ({"moves": ["b2", "b2"]}, "move 2 of the game record: 'b2' is not legal now: b2 is taken"),
        ({"moves": ["b2", "z9"]}, "move 2 of the game record: 'z9'"),
        (
            {"moves": ["a1", "b1", "a2", "b2", "a3", "c3"]},
            "move 6 of the game record: 'c3' is not legal now: the game is over",
        ),
        (
            {"illegal_action": "b2", "result": [-1, 1]},
            "result of the game record is [-1, 1]; player_1 has lost by an illegal action: write "
            "[1, -1]",
        ),
        ({"illegal_action": "b2"}, "result of the game record is None; player_1 has lost"),
        ({"illegal_action": "c1", "result": [1, -1]}, "illegal_action of the game record is 'c1'"),
        ({"illegal_action": ["b2"]}, "illegal_action of the game record is ['b2']"),
        ({"notes": 5}, "notes of the game record are 5"),
        ({"notes": [{"move": 2}]}, "notes of the game record are [{'move': 2}]"),
        ({"notes": {"0": "x"}}, """name move '0'; accepted: "1" to "3\""""),
        ({"notes": {"4": "x"}}, "name move '4'"),
        ({"notes": {"02": "x"}}, "name move '02'"),
        ({"notes": {2: "x"}}, "name move 2"),
        ({"notes": {"2": 5}}, "the note on move 2 of the game record is 5"),
        ({"variations": []}, "variations of the game record are []"),
        ({"variations": {"2": 5}}, "the variations of move 2 of the game record are 5"),
        ({"variations": {"2": [5]}}, "a variation of move 2 of the game record is 5"),
        ({"variations": {"2": [{}]}}, "a variation of move 2 of the game record is {}"),
        ({"variations": {"2": [{"moves": []}]}}, "it must be a mapping with moves"),
        ({"variations": {"2": [{"moves": "b1"}]}}, "in a variation of move 2 are 'b1'"),
        ({"variations": {"2": [{"moves": [5]}]}}, "in a variation of move 2 is 5"),
        (
            {"variations": {"2": [{"moves": ["b1"], "notes": {"1": "x"}}]}},
            "in a variation of move 2 name move '1'",
        ),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], said: str) -> None:
    assert said in refusal_of(change)


@pytest.mark.parametrize("key", ["game", "version", "options", "moves"])
def test_what_is_missing_is_named(key: str) -> None:
    with pytest.raises(ValueError, match=f"the game record lacks {key}"):
        check({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize("record", [None, [], "tictactoe", 5])
def test_what_is_no_record_at_all(record: Any) -> None:
    with pytest.raises(ValueError, match="a game record is a mapping"):
        check(record)


def test_variations_within_each_other_are_limited() -> None:
    line: dict[str, Any] = {"moves": ["b2"]}
    for _ in range(MOST_DEPTH):
        line = {"moves": ["b2"], "variations": {"1": [line]}}
    check(GOOD | line)
    said = refusal_of({"moves": ["b2"], "variations": {"1": [line]}})
    assert said.endswith("is within 8 variations and has another")


def test_moves_of_variations_are_limited() -> None:
    most = {"1": [{"moves": ["b2"]}] * MOST_VARIED_MOVES}
    check(GOOD | {"variations": most})
    most["2"] = [{"moves": ["a2"]}]
    assert refusal_of({"variations": most}).endswith("have over 10,000 moves")


@pytest.mark.parametrize(("given", "seed"), [({}, 0), ({"seed": 2**128 - 1}, 2**128 - 1)])
def test_a_seed_is_0_unless_given_and_of_up_to_128_bits(given: dict[str, int], seed: int) -> None:
    assert check_record(GOOD | given, {"tictactoe": TicTacToe})[1] == seed


# Files.


@pytest.mark.parametrize(
    ("name", "text", "moves"),
    [
        ("corso", "c3 b2 c3!", ["c3", "b2", "c3!"]),
        ("corso", "\ufeff\r\n c3,b2 \r\n\tc3!\n", ["c3", "b2", "c3!"]),
        ("obelisk", "choose red-l-flat, choose blue-x\n", ["choose red-l-flat", "choose blue-x"]),
        ("obelisk", "choose red-l-flat\r\nchoose blue-x", ["choose red-l-flat", "choose blue-x"]),
        ("corso", "", []),
    ],
)
def test_a_plain_list_of_moves_is_read(
    name: str, text: str, moves: list[str], tmp_path: Path
) -> None:
    path, game = tmp_path / "moves.txt", make_game(name)
    path.write_bytes(text.encode())
    start = game.start(5).text
    record = read_record_file(path, game, seed=5, start=start)
    assert (record["moves"], record["position"]) == (moves, start)
    assert check_record(record, GAMES)[:2] == (game, 5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"game": 5', "is not valid JSON"),
        (b"\xef\xbb\xbf [5]", "holds no game record, but list"),
        (b"b2 \xff", "holds neither a game record nor moves as text"),
        (b" " * (4 * 2**20 + 1), "a game record has at most 4,194,304"),
    ],
    ids=["broken", "list", "bytes", "large"],
)
def test_a_file_that_holds_no_record_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        read_record_file(path, TicTacToe())
    assert said in str(refusal.value)
    assert "some.txt" in str(refusal.value)


def test_a_plain_list_is_refused_where_the_game_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "moves.txt"
    path.write_text("b2 a1")
    with pytest.raises(ValueError, match=r"moves\.txt is not valid JSON"):
        read_record_file(path)


def test_moves_are_told_apart_by_commas_where_they_have_spaces() -> None:
    text = "choose green-t-flat, choose red-i-flat , pick red-i-flat"
    assert split_moves(make_game("obelisk"), text) == [
        "choose green-t-flat",
        "choose red-i-flat",
        "pick red-i-flat",
    ]
    assert split_moves(make_game("onyx", size=6), "a1 b2, c3") == ["a1", "b2", "c3"]
    later = SimpleNamespace(words=["a1", "move a1 b2"])  # its start has no move with a space
    assert split_moves(later, "a1, move a1 b2") == ["a1", "move a1 b2"]
