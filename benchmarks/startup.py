"""How long a user waits: to import, to compile on first use, and to start when that is done.

    python benchmarks/startup.py [--game corso] [--repeats 5] [--json startup.json]

Each figure is the median of several processes. "second process" is a whole process: import,
make, reset and one step, with the compiled code in the cache; "first use" is the same with an
empty cache; "batch" steps many games at once instead.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

IMPORT = "import ludarium.envs"
ENVIRONMENT = """
import ludarium.envs
env = ludarium.envs.make({game!r})
env.reset(seed=0)
observation = env.last()[0]
env.step(int(observation["action_mask"].argmax()))
"""
BATCH = """
from ludarium.envs import batch
games = batch.make({game!r}, 64, seed=0)
games.step(games.random_actions())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--game", default="corso")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file to write all figures to")
    arguments = parser.parse_args()
    repeats = range(arguments.repeats)
    environment, batch = (script.format(game=arguments.game) for script in (ENVIRONMENT, BATCH))

    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "python alone": median(seconds("", folder) for _ in repeats),
            "import numpy, numba, gymnasium, pettingzoo": median(
                seconds("import numpy, numba, gymnasium, pettingzoo", folder) for _ in repeats
            ),
            "import ludarium.envs": median(seconds(IMPORT, folder) for _ in repeats),
            "first use": median(cold(environment) for _ in repeats),
            "first use, batch": median(cold(batch) for _ in repeats),
        }
        for script in (environment, batch):
            seconds(script, folder)  # fills the cache
        figures["second process"] = median(seconds(environment, folder) for _ in repeats)
        figures["second process, batch"] = median(seconds(batch, folder) for _ in repeats)
    for name, value in figures.items():
        print(f"{value:8.2f} s  {name}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def cold(script: str) -> float:
    """Seconds that a process takes with nothing compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(script, folder)


def seconds(script: str, cache: str) -> float:
    """Seconds that a process takes, with its compiled code in the folder ``cache``."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
