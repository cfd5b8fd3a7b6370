"""Measures the size of the WebAssembly modules, and their speed beside Python's code.

    python benchmarks/wasm.py                          # all games, several minutes
    python benchmarks/wasm.py --games corso

It needs Node and the package ziglang. For each game it measures the size of its module, with rules
and search; plies/s of random games, many in one call; and simulations/s of Gumbel searches from the
start, with 256 simulations and a stub for the network, whose cached answers are removed before each
search. Searches are timed with their interface: `search.run` in JavaScript, and `BatchSearch.run`
in Python, for one position and for 64 in parallel, which share the time of the call. It also
measures the module with the shipped network. Figures are the best of several repeats, which take
turns, by processor time.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from common import Row, new_parser, print_table

from ludarium.cli.bench import random_speed
from ludarium.envs import GAMES
from ludarium.envs.engine.game import Game
from ludarium.models import Evaluation
from ludarium.play.build import read_game
from ludarium.play.parts import module_part, network_part
from ludarium.play.variants import Variant
from ludarium.play.wasm import Limits, module_name
from ludarium.training.search import BatchSearch, SearchSettings

SCRIPT = Path(__file__).with_name("wasm.mjs")
SETTINGS = SearchSettings(simulations=256, solver=False)


def native_simulations(game: Game, seconds: float, batch: int) -> float:
    """Simulations/s of ``batch`` parallel searches in Python's code."""
    cache = (
        Limits().cache if batch == 1 else 0.0
    )  # in a batch of equal positions one answer would serve all
    search = BatchSearch(game, SETTINGS, batch=batch, cache=cache)
    states = np.repeat(game.start(1).states, batch)

    def evaluate(observations: np.ndarray) -> Evaluation:
        return Evaluation.empty(len(observations), game.num_actions)

    search.run(states, evaluate)
    simulations = 0
    began = time.process_time()
    while time.process_time() - began < seconds:
        search.forget()
        simulations += search.run(states, evaluate).simulations
    return simulations / (time.process_time() - began)


def in_module(module: Path, seconds: float) -> dict[str, float]:
    """The same two figures in Node, and simulations/s with the network beside the module."""
    request = json.dumps({"seconds": seconds, "settings": msgspec.structs.asdict(SETTINGS)})
    command = ["node", str(SCRIPT), str(module), str(module.with_suffix(".network")), request]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def measure(game: Game, module: Path, seconds: float, repeats: int) -> dict[str, Any]:
    """All figures of one game."""
    content = module.read_bytes()
    best: dict[str, float] = {}
    for _ in range(repeats):
        found = {
            **in_module(module, seconds),
            "native plies": random_speed(game, seconds, time.process_time),
            "native simulations, 1": native_simulations(game, seconds, 1),
            "native simulations, 64": native_simulations(game, seconds, 64),
        }
        best = {name: max(best.get(name, 0.0), figure) for name, figure in found.items()}
    return {
        "game": module_name(game),
        "bytes": len(content),
        "gzip": len(gzip.compress(content)),
        **best,
    }


def row(name: str, seconds: float, repeats: int) -> Row:
    """The row of a game; its module is built if necessary."""
    game = read_game(name)
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder, "game.wasm")
        module.write_bytes(module_part(game).content())
        network = network_part(Variant.of(game))
        assert network is not None, "each game ships with an agent"
        module.with_suffix(".network").write_bytes(network.content())
        found = measure(game, module, seconds, repeats)
    plies, native = found["plies"] / 1e6, found["native plies"] / 1e6
    names = ("simulations", "native simulations, 1", "native simulations, 64")
    simulations, one, many = (found[each] / 1e3 for each in names)
    return {
        "game": found["game"],
        "KB (gzip)": f"{found['bytes'] / 1e3:.0f} ({found['gzip'] / 1e3:.0f})",
        "M plies/s: module / native": f"{plies:.1f} / {native:.1f} = {plies / native:.2f}",
        "k simulations/s: module / native, 64": (
            f"{simulations:.0f} / {one:.0f}, {many:.0f} = {simulations / many:.2f}"
        ),
        "k simulations/s with the network": found["with network"] / 1e3,
    }


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.quick:
        given.games, given.seconds, given.repeats = ["corso"], 0.05, 1
    print_table((row(name, given.seconds, given.repeats) for name in given.games), given.json)


if __name__ == "__main__":
    main()
