"""Games of other packages and modules: found by entry points, or registered by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from ludarium.cli import starter
from ludarium.envs import Game
from ludarium.envs.corso import Corso
from ludarium.envs.registry import GameRegistry
from tests.installed import install
from tests.processes import LUDARIUM, python
from tests.tictactoe import TicTacToe

needs_command_line = pytest.mark.skipif(
    find_spec("rich") is None, reason="the command line needs ludarium[train]"
)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder in which the package ``noughts`` is, with the game of the guide in it."""
    room = Path(starter.__file__).parent
    for file in ("rules.py", "board.py", "__init__.py"):
        (tmp_path / "noughts").mkdir(exist_ok=True)
        shutil.copy(room / file, tmp_path / "noughts" / file)
    return tmp_path


def run(
    folder: Path, code: str, *arguments: str, on_path: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run code in a folder, which is on the path of packages or is only where it runs.

    Rules are plain Python, so that nothing is compiled.
    """
    path = os.pathsep.join([str(folder)] * on_path + [os.environ.get("PYTHONPATH", "")])
    environment = {"PYTHONPATH": path, "LUDARIUM_CODE": "plain", "PYTHONSAFEPATH": "1"}
    return python(code, *arguments, environment=environment, cwd=folder)


def command(
    folder: Path, *arguments: str, on_path: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run ``ludarium`` with arguments, see `run`."""
    return run(folder, LUDARIUM, *arguments, on_path=on_path)


FACES = """
import sys, ludarium.envs
from ludarium.envs import GAMES, make, make_game
assert "tictactoe" in GAMES and "noughts" not in sys.modules, "imported too early"
from ludarium.envs import tictactoe_v0
import ludarium.envs.tictactoe_v0 as same
assert same is tictactoe_v0 and "noughts" not in sys.modules
import gymnasium
env = gymnasium.make("ludarium/Tictactoe-v0", seat=0)
env.reset(seed=1)
env.step(4)
assert type(env.unwrapped.game).__module__ == "noughts.board"
assert str(tictactoe_v0.raw_env().game) == "TicTacToe()"
assert make("tictactoe").game == make_game("tictactoe")
assert list(GAMES)[-1] == "tictactoe"
played = make("tictactoe")
played.reset()
played.step(4)
assert ludarium.envs.from_record(played.unwrapped.to_record()).unwrapped.position.ply == 1
"""


@pytest.mark.slow
@needs_command_line
def test_a_game_of_an_installed_package_has_every_face(packages: Path) -> None:
    points = {"tictactoe_v0": "noughts:TicTacToe"}
    install(packages, "noughts-game", {}, {"ludarium.games": points})
    ended = run(packages, FACES)
    assert ended.returncode == 0, ended.stderr
    listed = command(packages, "games", "--json")
    assert json.loads(listed.stdout)[-1]["name"] == "tictactoe", listed.stderr
    match = ("evaluate", "random", "--game=tictactoe", "--against=greedy", "--games=2", "--json")
    played = command(packages, *match)
    assert json.loads(played.stdout)[0]["game"] == "tictactoe", played.stderr


#: Entry points that are wrong, with what is said of each.
BROKEN = {
    "gone_v0": ("no_such_module:Gone", "cannot be imported (ModuleNotFoundError"),
    "chess_v0": ("noughts:Chess", "cannot be imported (AttributeError"),
    "dumps_v0": ("json:dumps", "is not a game"),
    "noughts_v0": ("noughts:TicTacToe", "is tictactoe_v0, not what its entry point is called"),
    "tictactoe_v7": ("noughts:TicTacToe", "is tictactoe_v0, not what its entry point is called"),
    "tictactoe": ("noughts:TicTacToe", "is not named as a game is, such as tictactoe_v0"),
    "corso_v0": ("noughts:TicTacToe", "there is a game called 'corso' already"),
    "half_v0": ("half:Half", "cannot be imported (RuntimeError: half done, in "),
}


#: A module that registers its game and then fails.
HALF = """
from ludarium.envs import register_game
from noughts import TicTacToe
register_game(type("Half", (TicTacToe,), {"name": "half", "__module__": "half"}))
raise RuntimeError("half done")
"""


@needs_command_line
def test_broken_packages_are_named_and_break_nothing_else(packages: Path) -> None:
    (packages / "half.py").write_text(HALF)
    for name, (entry_point, _) in BROKEN.items():
        install(packages, f"package-of-{name}", {}, {"ludarium.games": {name: entry_point}})
    code = (
        "from ludarium.envs import GAMES, make\n"
        "def told():\n"
        "    for name in ('gone', 'chess', 'dumps', 'noughts'):\n"
        "        try: make(name)\n"
        "        except ValueError as error: yield str(error)\n"
        "first = list(told())\n"
        "print(*first, sep='\\n')\n"
        "assert {'corso', 'onyx', 'osiron', 'obelisk'} <= set(GAMES)\n"
        "assert list(told()) == first and len(first) == 4\n"
        "make('corso').reset()"
    )
    ended = run(packages, code)
    assert ended.returncode == 0, ended.stderr
    for name, (_, told) in BROKEN.items():
        said = rf"installed package package-of-{name} .*{re.escape(told)}"
        assert re.search(said, ended.stderr)
        assert bool(re.search(said, ended.stdout)) == (name in list(BROKEN)[:4])
    asked = command(packages, "evaluate", "random", "--game=chess")
    assert asked.returncode == 2
    assert "package-of-chess_v0" in asked.stderr
    assert "Traceback" not in asked.stderr


@needs_command_line
def test_the_command_line_takes_games_from_a_module(packages: Path) -> None:
    match = ("evaluate", "random", "--game=tictactoe", "--against=greedy", "--games=2", "--json")
    played = command(packages, "--game-module", "noughts", *match, on_path=False)
    assert json.loads(played.stdout)[0]["game"] == "tictactoe", played.stderr
    listed = command(packages, "games", "--json", "--game-module=noughts:TicTacToe", on_path=False)
    assert json.loads(listed.stdout)[-1]["name"] == "tictactoe", listed.stderr
    code = "from ludarium.cli.modules import program, take_modules as take; "
    ended = run(packages, code + "print(take(['a', '--game-module', 'noughts']), program())")
    assert ended.stdout == "['a'] ludarium --game-module=noughts\n", ended.stderr


def test_a_registered_class_has_every_face(packages: Path) -> None:
    code = (
        "import gymnasium, ludarium.envs\n"
        "from noughts import TicTacToe\n"
        "assert ludarium.envs.register_game(TicTacToe) is TicTacToe\n"
        "ludarium.envs.register_game(TicTacToe)\n"
        "from ludarium.envs.tictactoe_v0 import env\n"
        "env().reset()\n"
        "gymnasium.make('ludarium/Tictactoe-v0').reset(seed=1)\n"
    )
    ended = run(packages, code)
    assert ended.returncode == 0, ended.stderr
    assert "Overriding" not in ended.stderr


def test_a_class_that_clashes_or_is_incomplete_is_not_registered() -> None:
    games = GameRegistry({"corso": Corso})
    games.add(TicTacToe)
    assert games["tictactoe"] is TicTacToe
    anew = type("TicTacToe", (TicTacToe,), {"__module__": TicTacToe.__module__})
    games.add(anew)  # as a notebook does that defines it again
    assert games["tictactoe"] is anew
    for changes, message in (
        ({"name": "corso"}, "'corso' is the game ludarium.envs.corso.board.Corso already, version"),
        ({"version": 1}, "'tictactoe' is the game .* already, version 0"),
        ({"name": "Tic Tac"}, "has the name 'Tic Tac'; a name is a letter"),
        ({"name": "other", "version": "1"}, "has version '1'"),
    ):
        with pytest.raises(ValueError, match=message):
            games.add(type("Other", (TicTacToe,), changes))
    with pytest.raises(ValueError, match=r"is not a subclass of ludarium\.envs\.Game"):
        games.add(dict)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lacks methods of a game: setup"):
        games.add(Game)  # type: ignore[type-abstract]
    assert list(games) == ["corso", "tictactoe"]
