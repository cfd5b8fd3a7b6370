"""Measures how long the first use of each game takes, while it is compiled, and the next use.

    python benchmarks/startup.py                          # all games, several minutes
    python benchmarks/startup.py --games corso --repeats 3

For each game, in a process of its own, including imports:

- ``environment``: make, reset, observe, one step;
- ``batch``: 64 games, one step of each;
- ``agent``, ``level`` and ``uct``: the shipped agent, its second level, or a search by 100 playouts
  chooses a move;
- ``training``: the first iteration of AlphaZero, with few games and without a bootstrap.

``first`` has an empty cache, so what has no code yet is compiled in a child process, whose time
counts; ``next`` has the code that the first use left. Figures are seconds of processor time, which
other work on the machine changes little, and in brackets of wall time; the least of several
repeats. The last rows are Python and imports alone, always with an empty cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from common import Row, new_parser, print_table

from ludarium.envs import GAMES

IMPORTS = {
    "python alone": "",
    "import numpy, gymnasium, pettingzoo": "import numpy, gymnasium, pettingzoo",
    "import ludarium.envs": "import ludarium.envs",
}
MOVE = """
from ludarium.training.agents.names import read_agent
spec = read_agent("AGENT")
game = spec.choose_game({{}}, {game!r})
spec.make(game, 0).choose(game.start(0))
"""
USES = {
    "environment": """
import ludarium.envs
env = ludarium.envs.make({game!r})
env.reset(seed=0)
observation = env.last()[0]
env.step(int(observation["action_mask"].argmax()))
""",
    "batch": """
from ludarium.envs import batch
games = batch.make({game!r}, 64, seed=0)
games.step(games.random_actions())
""",
    "agent": MOVE.replace("AGENT", "{game}:16"),
    "level": MOVE.replace("AGENT", "level:2"),
    "uct": MOVE.replace("AGENT", "uct:100"),
    "training": """
import tempfile
from ludarium.configs import apply_settings, load_config
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
config = apply_settings(load_config("{game}/default"), [
    "budget={{iterations: 1}}", "bootstrap.positions=0", "backend=compiled", "device=cpu",
    "self_play={{games: 16, positions: 256, simulations: 8, workers: 1}}",
    "learner.batch=64", "network={{channels: 16, blocks: 1}}", "evaluation.every=0",
])
with tempfile.TemporaryDirectory() as folder:
    trainer = make_trainer(config, RunFolder(folder))
    trainer.run()
    trainer.close()
""",
}


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--uses", nargs="+", default=list(USES), choices=USES)
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    if given.quick:
        given.games, given.repeats = ["corso"], 1

    def rows() -> Iterator[Row]:
        for game in given.games:
            for use in given.uses:
                yield row(f"{game}, {use}", given.repeats, USES[use].format(game=game))
        for name, script in IMPORTS.items():
            times = least(given.repeats, script, None)
            yield {"what": name, "first, s": "", "next, s": shown(times)}

    print_table(rows(), given.json)


def row(name: str, repeats: int, script: str) -> Row:
    """The least times of a first and of a next process."""
    first = least(repeats, script, None)
    with tempfile.TemporaryDirectory() as folder:
        seconds(script, folder)  # fills the cache
        following = least(repeats, script, folder)
    return {"what": name, "first, s": shown(first), "next, s": shown(following)}


def shown(times: tuple[float, float]) -> str:
    """Seconds of processor time and, in brackets, of wall time."""
    return f"{times[0]:.2f} ({times[1]:.2f})"


def least(repeats: int, script: str, cache: str | None) -> tuple[float, float]:
    """The least times of some processes; without a ``cache`` each has an empty one."""
    found = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            found.append(seconds(script, cache or folder))
    return min(cpu for cpu, _ in found), min(clock for _, clock in found)


def seconds(script: str, cache: str) -> tuple[float, float]:
    """Processor and wall time of a process with its compiled code in the folder ``cache``."""
    environment = os.environ | {"LUDARIUM_CODE_FOLDER": cache, "OMP_NUM_THREADS": "1"}
    start, before = time.perf_counter(), os.times()
    process = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    if process.returncode:
        raise SystemExit(f"{script}\n{process.stderr}")
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return cpu, time.perf_counter() - start


if __name__ == "__main__":
    main()
