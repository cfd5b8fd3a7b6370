"""``ludarium new`` writes a game that works, and ``ludarium check`` finds what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludarium.cli import main
from tests.processes import LUDARIUM, python

GAME = """
from ludarium.cli.starter import TicTacToe, rules
from ludarium.envs import Game, Option
class {}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: a new one; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for path in tmp_path.iterdir():
        sys.modules.pop(path.stem, None)


def command(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with rules in plain Python."""
    return python(program, *words, cwd=folder, environment={"LUDARIUM_CODE": "plain"})


def test_a_new_game_is_right_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "my_game", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert sorted(path.as_posix() for path in Path("my_game").rglob("*.*")) == sorted(
        written["files"]
    )
    told = "".join(Path(file).read_text(encoding="utf-8") for file in written["files"])
    assert "ludarium.cli" not in told
    assert "tictactoe" not in told.lower()
    assert 'my_game_v0 = "my_game:MyGame"' in told
    folder = here / "my_game"
    checked = command(folder, LUDARIUM, "check", "my_game", "--json")
    assert checked.returncode == 0, checked.stderr
    (game,) = json.loads(checked.stdout)
    assert (game["game"], game["games"], game["findings"]) == ("my_game", 50, [])
    tested = command(folder, "import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:xdist']))")
    assert tested.returncode == 0, tested.stdout
    words = ("--game-module=my_game", "play", "my_game", "--terminal", "--opponent=random")
    played = command(folder, LUDARIUM, *words)
    assert "a b c" in played.stdout, played.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My-Game", "lower-case letters, digits and _, such as my_game"),
        ("9", "such as noughts"),
        ("corso", "there is a game of that name"),
        ("uct", "agents are called that"),
        ("class", "Python has something of that name"),
        ("json", "Python has something of that name"),
        ("spec", "Python has something of that name"),
        ("reference", "Python has something of that name"),
        ("here", "something here is called that; remove it, or take another name"),
    ],
)
def test_a_name_that_is_wrong_or_taken_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    (here / "here").write_text("mine")
    assert main(["new", name]) == 2
    assert told in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["here"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("Mine(TicTacToe): title = ''", "it cannot be made: tictactoe: the title is ''"),
        ("Mine(TicTacToe): setup = None", "it cannot be made: 'NoneType' object is not callable"),
        (
            "Mine(TicTacToe):\n    def events(self, before, actions, after): return actions",
            "events gives int64 of shape (1,) for 1 ply",
        ),
    ],
)
def test_findings_are_printed_and_are_status_1(
    here: Path, capsys: pytest.CaptureFixture[str], body: str, told: str
) -> None:
    (here / "mine.py").write_text(GAME.format(body))
    assert main(["check", "mine:Mine", "--games", "1"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(f"tictactoe ({here / 'mine.py'}): 1 finding in 1 game\n")
    assert told in printed
    assert main(["check", "mine:Mine", "--json", "--games", "2"]) == 1
    (checked,) = json.loads(capsys.readouterr().out)
    assert checked["class"] == "mine:Mine"
    assert told in checked["findings"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["gone"], "check gone: cannot be imported (ModuleNotFoundError: No module named 'gone')"),
        (["empty"], "there is no game in it; subclasses of Game: none"),
        (["folder"], "folder has no __init__.py: if the package is in it, change to it"),
        (["half"], "subclasses of Game: Half, which lacks setup ("),
        (["mine:Other"], "there is no game 'Other' in it; subclasses of Game: TicTacToe, Mine"),
        (["mine:Mine", "--option", "size=4"], "has no option 'size'"),
        (["corso", "--option", "size=99"], "size"),
        (["corso", "--games", "0"], "argument --games: '0' is not 1 or more"),
    ],
)
def test_a_module_without_the_game_is_an_error(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    (here / "empty.py").touch()
    (here / "folder").mkdir()
    (here / "half.py").write_text(
        "from ludarium.envs import Game\nclass Half(Game):\n    name = 'half'\n"
    )
    (here / "mine.py").write_text(GAME.format("Mine(TicTacToe): pass"))
    assert main(["check", *words]) == 2
    printed = capsys.readouterr()
    assert told in printed.err
    assert printed.out == ""
