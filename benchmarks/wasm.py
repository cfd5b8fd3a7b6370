"""How large the WebAssembly modules are, and how fast beside numba's code on the same machine.

    python benchmarks/wasm.py                          # all games, several minutes
    python benchmarks/wasm.py corso --modules build/modules

Needs Node and the package ziglang. For each game: the size of its module, rules and search
together; plies/s of random games, played in one call; evaluations/s of searches from the start, 256
simulations of Gumbel, one position at a time, where the network's answer costs nothing and none is
remembered. Searches go through both sides' interfaces, whose own time counts: `Search.run` in
Python, `search.run` in JavaScript. The best of several repeats, which take turns, by processor
time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.envs import GAMES
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.play import build
from ludarium.play.wasm import Limits, module_name
from ludarium.training.search import Search, SearchSettings

SCRIPT = Path(__file__).with_name("wasm.mjs")
SETTINGS = SearchSettings(simulations=256, prove=False)


def native_plies(game: Game, seconds: float) -> float:
    """Plies/s of random games in numba's code."""
    states, rng, counts = game.new_states(1), seed_rng(1)[0], np.zeros(5, np.int64)
    plies, games = 0, 16
    began = time.process_time()
    while time.process_time() - began < seconds:
        plies += game.kernels.random_games(
            game.tables, states, rng, game.num_actions, games, counts
        )
        games = min(2 * games, 4096)
    return plies / (time.process_time() - began)


def native_evaluations(game: Game, seconds: float) -> float:
    """Evaluations/s of searches in numba's code."""
    search = Search(game, SETTINGS, batch=1)
    logits, values = np.zeros((1, game.num_actions), np.float32), np.zeros(1, np.float32)
    states = game.start(1).states
    search.run(states, lambda observations: (logits, values))
    evaluations = 0
    began = time.process_time()
    while time.process_time() - began < seconds:
        evaluations += search.run(states, lambda observations: (logits, values)).evaluations
    return evaluations / (time.process_time() - began)


def in_module(module: Path, seconds: float) -> dict[str, float]:
    """The same two in Node."""
    request = json.dumps({"seconds": seconds, "settings": SETTINGS._asdict()})
    run = subprocess.run(
        ["node", str(SCRIPT), str(module), request], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def measure(game: Game, module: Path, seconds: float, repeats: int) -> dict[str, Any]:
    """Everything about one game."""
    content = module.read_bytes()
    native_plies(game, 0)  # compile
    best = dict.fromkeys(("plies", "native plies", "evaluations", "native evaluations"), 0.0)
    for _ in range(repeats):
        found = {
            **in_module(module, seconds),
            "native plies": native_plies(game, seconds),
            "native evaluations": native_evaluations(game, seconds),
        }
        best = {name: max(best[name], found[name]) for name in best}
    return {
        "game": module_name(game),
        "bytes": len(content),
        "gzip": len(gzip.compress(content)),
        **best,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", default=list(GAMES), metavar="GAME[?OPTION=VALUE]")
    parser.add_argument("--modules", type=Path, default=Path("build/modules-without-cache"))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    limits = ["--cache", "0", "--output", str(given.modules)]
    print("| game | KB (gzip) | M plies/s, module / native | evaluations/s, module / native |")
    print("|---|---|---|---|")
    for name in given.games:
        game = build.read_game(name)
        if not build.is_current(given.modules, game, Limits(cache=0.0)):
            build.main([name, *limits])
        module = given.modules / f"{module_name(game)}.wasm"
        found = measure(game, module, given.seconds, given.repeats)
        plies, native = found["plies"], found["native plies"]
        evaluations, native_evals = found["evaluations"], found["native evaluations"]
        print(
            f"| {found['game']} | {found['bytes'] / 1e3:.0f} ({found['gzip'] / 1e3:.0f}) "
            f"| {plies / 1e6:.1f} / {native / 1e6:.1f} = {plies / native:.2f} "
            f"| {evaluations / 1e3:.0f} k / {native_evals / 1e3:.0f} k "
            f"= {evaluations / native_evals:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
