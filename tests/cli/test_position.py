"""``--position``: commands begin at a position that is given as a line of text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludarium.cli import main

TEXT = "5/2O2/1X3/5/5 0"


def test_an_analysis_begins_there_and_tells_where_it_ends(capsys: pytest.CaptureFixture[str]):
    words = ["analyse", "corso", "--position", TEXT, "--moves", "c4! b3!", "--agent", "uct"]
    assert main([*words, "--simulations", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["position"] == "2o2/1xoo1/xxx2/1x3/5 0"
    assert found["played"] == ["c4!", "b3!"]


def test_a_position_has_an_exact_value(capsys: pytest.CaptureFixture[str]):
    words = ["probe", "corso", "--option", "size=3", "--position", "1O1/X2/3 0", "--outcome"]
    assert main([*words, "--json"]) == 0
    by_text = json.loads(capsys.readouterr().out)
    words[4:6] = ["--moves", "b3 a2"]
    assert main([*words, "--json"]) == 0
    by_moves = json.loads(capsys.readouterr().out)
    assert by_text["value"] == by_moves["value"]


def test_a_position_is_drawn(tmp_path: Path):
    drawn = tmp_path / "position.svg"
    words = ["render", "--game", "corso", "--position", TEXT]
    assert main([*words, "--output", str(drawn)]) == 0
    assert drawn.read_text().startswith("<svg")


def test_a_game_in_the_terminal_begins_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    answers = iter(["c4!", "quit"])
    monkeypatch.setattr("builtins.input", lambda *prompt: next(answers))
    words = ["play", "corso", "--terminal", "--position", TEXT, "--opponent", "random"]
    assert main([*words, "--seat", "0", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["position"] == TEXT
    assert record["moves"][0] == "c4!"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["analyse", "corso", "--position", "5 0"], "the board has 1 row, not 5"),
        (
            ["render", "--position", TEXT, "--output", "no.svg"],
            "give --game GAME and --position TEXT",
        ),
        (["analyse", "corso", "--position", TEXT, "--moves", "z9"], "--moves: move 1: 'z9'"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
):
    assert main(words) == 2
    errors = capsys.readouterr().err
    assert told in errors
    assert len(errors.splitlines()) == 1
