"""``ludarium analyse`` as a person and as a program meet it."""

from __future__ import annotations

import io
import json
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
from rich.console import Console

from ludarium.analysis.thinking import Estimate, MoveAnalysis, PositionAnalysis
from ludarium.base.progress import Progress
from ludarium.cli import analyse, main, progress, thoughts
from ludarium.envs import GAMES
from ludarium.envs.engine.record import RecordedGame
from tests.games import after
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

MOVES = ["a1", "b2", "c3", "c1", "b3", "a3"]


@pytest.fixture(autouse=True)
def here(monkeypatch, tmp_path):
    """Tic-tac-toe, which compiles fast, and a finished game of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    game = TicTacToe()
    played = RecordedGame(game, 0, None, game.start().play_moves(" ".join(MOVES)))
    Path("game.json").write_text(json.dumps(played.to_record()))


def test_commands_begin_at_a_position(capsys, monkeypatch):
    text = "5/2O2/1X3/5/5 0"
    at = ["corso", "--position", text]
    words = ["analyse", *at, "--agent", "uct:10", "--moves", "c4!", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["position"] == "2o2/1ooo1/1Xo2/5/5 1"
    small = ["probe", "corso", "--option", "size=3", "--position", "3/1O1/3 1", "--json"]
    assert main(small) == 0
    assert json.loads(capsys.readouterr().out)["mover"] == "player_1"
    assert main(["render", "--game", *at, "--output", "corso.svg"]) == 0
    assert 'marble1)"' in Path("corso.svg").read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO("c4!\nsave saved.json\nquit\n"))
    assert main(["play", *at, "--opponent", "random", "--seat", "0", "--terminal"]) == 0
    saved = json.loads(Path("saved.json").read_text())
    assert (saved["position"], saved["moves"][0]) == (text, "c4!")
    resumed = ["analyse", "corso", "--record", "saved.json"]
    assert main([*resumed, "--agent", "uct:5"]) == 0
    assert main([*resumed, "--position", "5/5/5/5/5 0"]) == 2
    assert "says itself where its game began" in capsys.readouterr().err
    assert main(["analyse", "corso", "--position", "5 0"]) == 2
    assert "its rows are 1, not 5" in capsys.readouterr().err


def test_a_position_as_a_table(capsys):
    assert main(["analyse", "tictactoe", "--moves", "a1 b2, a2 c3", "--simulations", "500"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "3 . . O"
    (heading,) = (number for number, line in enumerate(lines) if line.startswith("move"))
    assert lines[heading - 1].startswith("uct: +")
    columns = ["move", "value", "win", "draw", "loss", "visits", "best play"]
    assert re.split("  +", lines[heading].strip()) == columns
    assert lines[heading + 1].split()[:5] == ["a3", "+1.000", "100", "%", "0"]
    assert len(lines) == heading + 1 + 5 + 1
    assert re.fullmatch(r"500 simulations, [\d.]+ s, [\d,]+/s", lines[-1])
    assert "no trained agent of tictactoe is shipped: uct:1000 plays instead" in err


def test_a_position_as_json(capsys):
    arguments = ["--agent", "uct:100", "--moves", "b2", "--json"]
    assert main(["analyse", "tictactoe", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["game"], found["played"], found["mover"]) == ("tictactoe", ["b2"], "player_1")
    assert (found["simulations"], found["stopped"]) == (100, False)
    assert found["best"] == found["moves"][0]["move"]
    assert sum(move["visits"] for move in found["moves"]) == 100


def test_each_number_is_told_under_its_name():
    estimate = Estimate.of(0.3, 0.1)
    move = MoveAnalysis(0, "a1", estimate, 1234, 0.07, ("a1", "b2"))
    found = PositionAnalysis("me", 1, 3, estimate, (move,), 2345, 1.5, 6789.0)
    told = "me: +0.30 for you (win 60 %, draw 10 %, loss 30 %)"
    assert thoughts.headline(found, "you") == told
    assert thoughts.effort(found) == "2,345 simulations, 1.5 s, 6,789/s"
    row = thoughts.moves_table(found, terminal=False).splitlines()[-1]
    assert " ".join(row.split()) == "a1 +0.300 60 % 10 % 30 % 1,234 7 % a1 b2"


def test_a_random_start_is_that_of_the_seed(monkeypatch, capsys):
    monkeypatch.setitem(GAMES, "oddity", Oddity)
    board = after(Oddity().start(5), "b2").board_text()
    assert main(["analyse", "oddity", "--seed", "5", "--moves", "b2", "--simulations", "10"]) == 0
    assert capsys.readouterr().out.startswith(board)


def test_what_is_known_without_a_search(capsys):
    assert main(["analyse", "tictactoe", "--agent", "alphabeta:2", "--moves", "a1 b2 a2 c3"]) == 0
    out = capsys.readouterr().out
    assert "alphabeta:2: a win in 1 for player_0, to move, exactly" in out
    assert re.search(r"^a3 +win in 1 +100 %", out, re.MULTILINE)
    assert re.search(r"^c2 +not better$", out, re.MULTILINE)


def test_it_is_shown_meanwhile_on_a_terminal(monkeypatch, capsys):
    screen = io.StringIO()
    monkeypatch.setattr(
        analyse,
        "plain_console",
        lambda **others: Console(file=screen, force_terminal=True, width=60, height=10),
    )
    monkeypatch.setattr(analyse, "_REFRESH", 0.01)
    assert main(["analyse", "tictactoe", "--seconds", "0.2"]) == 0
    assert "Ctrl-C stops" in screen.getvalue()
    assert "simulations" in capsys.readouterr().out


def test_ctrl_c_prints_what_was_found(monkeypatch, capsys):
    def pressed(progress: Progress, message: str = "") -> AbstractContextManager[None]:
        progress.stop()
        return nullcontext()

    for module in (analyse, progress):
        monkeypatch.setattr(module, "stop_on_ctrl_c", pressed)
    assert main(["analyse", "tictactoe", "--seconds", "1000", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["stopped"]
    assert main(["analyse", "tictactoe", "--record", "game.json", "--seconds", "1000"]) == 130
    assert "stopped at move 1 of 6" in capsys.readouterr().err


def test_the_value_is_not_known_without_a_playout(capsys):
    assert main(["analyse", "tictactoe", "--simulations", "0"]) == 0
    assert "\nuct: the value is not known\n" in capsys.readouterr().out


def test_a_game_move_by_move(capsys):
    pytest.importorskip("matplotlib")
    arguments = ["--record", "game.json", "--simulations", "2000", "--picture", "game.svg"]
    assert main(["analyse", "tictactoe", *arguments]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ +5 +player_0 +b3 +-\S+ +\S+ +a3$", out, re.MULTILINE)
    assert re.search(r"^lost most: 5\. b3 \(-[12]\.\d\d\)", out, re.MULTILINE)
    lost = re.search(r"^lost per move: player_0 (\S+), player_1 (\S+)$", out, re.MULTILINE)
    assert float(lost[1]) > float(lost[2]) > 0.1  # by b3 more than by c1
    assert b"<svg" in Path("game.svg").read_bytes()
    assert main(["analyse", "tictactoe", *arguments[:-2], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["values"][-1] == -1.0
    assert found["worst"][0] == 5
    assert [move["move"] for move in found["moves"]] == MOVES


def test_how_a_game_was_lost_that_its_moves_do_not_end(capsys):
    lost = {"moves": MOVES[:2], "result": [-1, 1], "illegal_action": MOVES[0]}
    Path("lost.json").write_text(json.dumps(json.loads(Path("game.json").read_text()) | lost))
    arguments = ["analyse", "tictactoe", "--record", "lost.json", "--simulations", "10"]
    assert main(arguments) == 0
    told = f"player_0 has lost by an illegal action, {MOVES[0]}: player_1 has won"
    assert told in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["illegal_action"]) == ([-1, 1], MOVES[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "no game is called 'chess'; games: corso"),
        (["tictactoe", "--moves", "a1 a1"], "--moves: move 2: "),
        (["tictactoe", "--moves", " ".join(MOVES)], "the game is over after these moves"),
        (["tictactoe", "--agent", "random"], "cannot say what it thinks"),
        (["tictactoe", "--picture", "game.svg"], "give one with --record"),
        (
            ["tictactoe", "--record", "game.json", "--picture", "game.gif"],
            "ends in none of .svg, .png",
        ),
        (["tictactoe", "--record", "game.json", "--moves", "a1"], "leave out --moves"),
        (["tictactoe", "--record", "game.json", "--option", "a=1"], "has no option 'a'"),
        (["corso", "--record", "game.json"], "is a game of tictactoe, not of corso"),
        (["tictactoe", "--record", "none.json"], "there is no file"),
    ],
)
def test_what_is_refused(arguments, message, capsys):
    assert main(["analyse", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err.splitlines()[-1] or message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["analyse", "bench"])
@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_seconds_are_a_positive_number(command, seconds, capsys):
    assert main([command, "tictactoe", "--seconds", seconds]) == 2
    assert "is not a number of seconds above 0" in capsys.readouterr().err
