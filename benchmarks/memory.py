"""Measures the memory of each of 1,000 environments of every game, in KB, in separate processes.

python benchmarks/memory.py
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import Row, new_parser, print_table

from ludarium.envs import GAMES

KINDS = ("PettingZoo", "Gymnasium", "batch")


def resident() -> int:
    """The resident memory of this process in bytes, on Linux only."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(game: str, kind: str, count: int) -> float:
    """Bytes of each of ``count`` environments, or games of a batch, after a first one was made."""
    import gymnasium

    from ludarium.envs import batch, make
    from ludarium.envs.making import gymnasium_id

    makers: dict[str, Callable[[], Any]] = {
        "PettingZoo": lambda: make(game),
        "Gymnasium": lambda: gymnasium.make(gymnasium_id(game, GAMES.versions()[game])),
    }
    if kind == "batch":
        first = batch.make(game, 1, seed=1)
        first.step(first.random_actions())
        before = resident()
        games = batch.make(game, count, seed=1)
        games.step(games.random_actions())
        return (resident() - before) / count
    first = makers[kind]()
    first.reset(seed=1)
    gc.collect()
    before = resident()
    environments = [makers[kind]() for _ in range(count)]
    for each in environments:
        each.reset(seed=1)
    gc.collect()
    return (resident() - before) / count


def row(game: str, count: int) -> Row:
    """The memory of each kind of environment, for one game."""
    found: Row = {"game": game}
    for kind in KINDS:
        command = [sys.executable, __file__, "--one", game, kind, str(count)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found[kind] = float(done.stdout) / 1024
    return found


def main() -> None:
    """Measure all, and print a table in KB."""
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        game, kind, count = given.one
        print(measure(game, kind, int(count)))
        return
    games, count = (["corso"], 100) if given.quick else (given.games, 1000)
    print_table((row(game, count) for game in games), given.json)


if __name__ == "__main__":
    main()
