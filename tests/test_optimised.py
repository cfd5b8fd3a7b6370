"""Python without asserts (-O) and without docstrings (-OO): checks, messages and commands stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import python

levels = pytest.mark.parametrize("level", ["1", "2"], ids=["-O", "-OO"])

#: Imports everything, and gives every face of a game what is no action.
FACES = """
import importlib, pkgutil, sys
import gymnasium
from ludarium.envs import batch, make, make_game, make_raw, one_side, sb3

assert False, "this is no run without asserts"
rooms = "envs models configs training analysis arena language play cli"
for name in rooms.split():
    package = importlib.import_module(f"ludarium.{name}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(f"{module.name}: {error}")  # of an extra that is not installed

def begun(env, *arguments):
    env.reset(*arguments)
    return env.step

id = "ludarium/Corso-v0"
game = make_game("corso")
side, games = one_side.OneSide(game, 1), batch.BatchEnv(game, 1)
side.reset()
faces = {
    "env": (begun(make("corso")), AssertionError),
    "raw_env": (begun(make_raw("corso")), ValueError),
    "make": (begun(gymnasium.make(id)), ValueError),
    "make_vec": (begun(gymnasium.make_vec(id, 1)), ValueError),
    "sb3": (begun(sb3.BoardGameVecEnv("corso")), ValueError),
    "OneSide": (side.play, ValueError),
    "BatchEnv": (games.step, ValueError),
    "Position": (game.start().play, ValueError),
}
for name, (play, kind) in faces.items():
    for action in (4.0, "4", 99, None):
        try:
            play([action] if name in ("make_vec", "sb3", "OneSide", "BatchEnv") else action)
        except kind as error:
            if "integer" not in str(error) and "out of range" not in str(error):
                sys.exit(f"{name}: {error}")
        else:
            sys.exit(f"{name} has taken {action!r}")
"""

#: Each command once, with what costs least.
COMMANDS = """
import io, json, sys
from pathlib import Path
from ludarium.cli import _COMMANDS, main
from ludarium.envs import make

env = make("corso", size=3)
env.reset()
env.step(4)
Path("game.json").write_text(json.dumps(env.unwrapped.to_record()))
called = set()
for line in sys.argv[1:]:
    words = line.split(";")
    called.add(words[0])
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"quit\\n"))
    try:
        status = main(words)
    except SystemExit as ended:
        status = ended.code
    if status:
        sys.exit(f"{words}: {status}")
if called != set(_COMMANDS):
    sys.exit(f"not called: {set(_COMMANDS) - called}")
"""
RUN = (
    *("--option=size=3", "--set=network={channels: 8, blocks: 1}", "--set=budget={iterations: 1}"),
    "--set=self_play={positions: 64, workers: 1, simulations: 4}",
    "--set=bootstrap={positions: 0}",
    "--set=learner={batch: 32}",
    "--set=evaluation={every: 0}",
)
CALLS = (
    ("games", "--json"),
    ("agents", "corso"),
    ("train", "corso", "--folder=run", *RUN),
    ("curve", "run", "--against=random", "--games=2", "--simulations=2"),
    ("evaluate", "run", "--against=random", "--games=2", "--simulations=2"),
    ("tournament", "random", "greedy", "--game=corso", "--option=size=3", "--games=2"),
    ("compare", "random", "greedy", "--game=corso", "--option=size=3", "--elo1=400"),
    ("levels", "corso"),
    ("puzzles", "corso"),
    ("report", "corso", "--option=size=3", "--quick", "--games=4", "--output=report.html"),
    ("play", "corso", "--terminal", "--opponent=random", "--option=size=3"),
    ("render", "game.json", "--output=game.svg"),
    ("analyse", "corso", "--option=size=3", "--agent=run", "--simulations=2"),
    ("engine", "corso"),
    ("export", "run", "--output=run.onnx"),
    ("bench", "corso", "--seconds=0.01", *RUN[:4]),
    ("code",),
    ("new", "noughts"),
    ("check", "corso", "--option=size=3", "--games=1"),
    ("solve", "corso", "--option=size=3"),
    ("probe", "corso", "--option=size=3"),
    ("accuracy", "random", "--game=corso", "--option=size=3", "--positions=2"),
    *((command, "--help") for command in ("tune", "page", "push", "language")),
)


@levels
def test_what_is_no_action_is_refused_by_every_maker_of(level: str) -> None:
    environment = {"PYTHONOPTIMIZE": level, "LUDARIUM_CODE": "plain"}
    ended = python(FACES, environment=environment)
    assert ended.returncode == 0, ended.stderr + ended.stdout


@pytest.mark.slow
@levels
def test_every_command_runs(level: str, tmp_path: Path) -> None:
    calls = [";".join(words) for words in CALLS]
    ended = python(COMMANDS, *calls, environment={"PYTHONOPTIMIZE": level}, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr + ended.stdout
