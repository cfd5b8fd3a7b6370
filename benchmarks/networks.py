"""How large and fast the networks of each size are.

    python benchmarks/networks.py                        # two minutes
    python benchmarks/networks.py --games osiron onyx

The named sizes of each game's network: parameters, and positions/s on one core by ONNX Runtime,
batches of 128, in float32 and with the trunk in eight-bit integers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from common import Row, new_parser, print_table

from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.game import Game
from ludarium.models import InferenceEngine, PolicyValueNetwork, build_network
from ludarium.models.network import SIZES, network_size
from ludarium.training.networks import network_shape
from ludarium.training.random_positions import random_observations

#: Options that differ from a game's defaults: those of the agents that come along.
OPTIONS: dict[str, dict[str, Any]] = {
    "onyx": {"size": 6},
    "obsidio": {"size": 7},
}
BACKENDS = ("onnx", "onnx-int8")
BATCH = 128  # of inference


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument("--timing", type=float, default=2.0, help="seconds for each network")
    given = parser.parse_args()
    if given.quick:
        given.games, given.timing = ["corso"], 0.02
    torch.set_num_threads(1)
    print_table((row for name in given.games for row in size_rows(name, given.timing)), given.json)


def size_rows(name: str, timing: float) -> list[Row]:
    """Parameters and speeds of the named sizes of one game's network."""
    options = OPTIONS.get(name, {})
    game = make_game(name, **options)
    shape = network_shape(game)
    sizes = {size: network_size(shape, size) for size in SIZES[len(shape.observation)]}
    networks = [build_network(shape, *size) for size in sizes.values()]
    return [
        {
            "game": " ".join([name, *(f"{key} {value}" for key, value in options.items())]),
            "size": f"{size}, {channels} x {blocks}",
            "parameters": sum(parameter.numel() for parameter in network.parameters()),
            "positions/s, float32": of_network["onnx"],
            "positions/s, int8": of_network["onnx-int8"],
        }
        for (size, (channels, blocks)), network, of_network in zip(
            sizes.items(), networks, speeds(game, timing, networks), strict=True
        )
    ]


def speeds(
    game: Game, timing: float, networks: Sequence[PolicyValueNetwork]
) -> list[dict[str, float]]:
    """Positions/s on one core of each network in each backend, ``timing`` seconds for a network.

    They take turns, and the best times count, as other work on the machine comes and goes.
    """
    examples = random_observations(game, 512, seed=1)
    batch = examples[:BATCH]
    engines = {
        (number, backend): InferenceEngine(
            network, game.observation_shape, BATCH, backend, examples=examples
        )
        for number, network in enumerate(networks)
        for backend in BACKENDS
    }
    best = dict.fromkeys(engines, float("inf"))
    for engine in engines.values():
        engine(batch)
    deadline = time.perf_counter() + timing * len(networks)
    while time.perf_counter() < deadline:
        for key, engine in engines.items():
            started = time.perf_counter()
            engine(batch)
            best[key] = min(best[key], time.perf_counter() - started)
    return [
        {backend: BATCH / best[number, backend] for backend in BACKENDS}
        for number in range(len(networks))
    ]


if __name__ == "__main__":
    main()
