"""Measures how fast the shipped networks are in each backend, and how eight bits change them.

    python benchmarks/networks.py                        # three minutes
    python benchmarks/networks.py --games osiron onyx
    python benchmarks/networks.py --sizes                # the named sizes, with fresh weights

The table has positions/s on one core, including the call from Python, in batches of 1, 8, 64 and
512. The backends take turns, and the best times count, as other work on the machine comes and goes.
If ONNX Runtime is installed, it runs the same layers for comparison. The last columns compare the
answers with PyTorch's on 1,024 positions of random games: half the sum of the differences of the
probabilities (total variation), the mean difference of the values, and how often the favourite is
the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from common import Row, new_parser, print_table

from ludarium.base.threads import one_core
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.game import Game
from ludarium.models import Evaluation, Evaluator, InferenceEngine, build_network, load_checkpoint
from ludarium.models.network import (
    SIZES,
    BoardNetwork,
    PolicyValueNetwork,
    VectorNetwork,
    layers_of,
    network_size,
)
from ludarium.models.onnx_graph import INPUT, onnx_of
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.networks import fitted, network_shape, random_observations

BATCHES = (1, 8, 64, 512)
#: Option sets that are measured: the shipped agents' boards and the largest. Other games have their
#: defaults; `named_sizes` takes only the first set.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "corso": [{}, {"size": 9}],
    "onyx": [{"size": 6}, {"size": 12}],
    "obsidio": [{"size": 7}, {"size": 11}],
}
_SECONDS = 0.03  # for one turn of a backend
_EXAMPLES = 512
_COMPARED = 1024


class Case(NamedTuple):
    """A network that is measured.

    Attributes:
        name: the game's name with its options.
        network: the name of the network.
        game: the game that it plays.
        module: the network.
    """

    name: str
    network: str
    game: Game
    module: PolicyValueNetwork


def main() -> None:
    parser = new_parser(__doc__, list(GAMES))
    parser.add_argument(
        "--sizes", action="store_true", help="the named sizes instead of the shipped agents"
    )
    parser.add_argument("--turns", type=int, default=5, help="turns of each backend and batch")
    given = parser.parse_args()
    if given.quick:
        given.games, given.turns = ["corso"], 1
    torch.set_num_threads(1)
    cases = named_sizes(given.games) if given.sizes else shipped(given.games)
    with one_core():
        rows = (row for case in cases for row in rows_of(case, given.turns))
        print_table(rows, given.json)


def shipped(games: list[str]) -> Iterator[Case]:
    """The shipped agents."""
    for name in games:
        for options in OPTIONS.get(name, [{}]):
            game = make_game(name, **options)
            path = shipped_agent(name, game.options)
            assert path is not None, f"there is no shipped agent of {game}"
            checkpoint = load_checkpoint(path)
            module = fitted(checkpoint, game, name).network
            yield Case(_called(name, options), str(checkpoint.architecture), game, module.eval())


def named_sizes(games: list[str]) -> Iterator[Case]:
    """The named sizes of the games' networks, with fresh weights."""
    for name in games:
        options = OPTIONS.get(name, [{}])[0]
        game = make_game(name, **options)
        shape = network_shape(game)
        for size in SIZES[len(shape.observation)]:
            channels, blocks = network_size(shape, size)
            module = build_network(shape, channels, blocks).eval()
            yield Case(_called(name, options), f"{size}, {channels} x {blocks}", game, module)


def _called(name: str, options: dict[str, Any]) -> str:
    return " ".join([name, *(f"{key} {value}" for key, value in options.items())])


def rows_of(case: Case, turns: int) -> Iterator[Row]:
    """A row for each backend."""
    examples = random_observations(case.game, _EXAMPLES, seed=3)
    observations = random_observations(case.game, _COMPARED, seed=4)
    backends = evaluators(case.module, examples)
    expected = backends["eager"](observations)
    best = dict.fromkeys(((name, batch) for name in backends for batch in BATCHES), np.inf)
    for batch in BATCHES:
        some = observations[:batch].copy()
        for _ in range(turns):
            for name, evaluate in backends.items():
                best[name, batch] = min(best[name, batch], _seconds_each(evaluate, some))
    for name, evaluate in backends.items():
        yield {
            "game": case.name,
            "network": case.network,
            "parameters": sum(each.numel() for each in case.module.parameters()),
            "backend": name,
            **{f"batch {batch}": 1 / best[name, batch] for batch in BATCHES},
            **_difference(evaluate(observations), expected),
        }


def evaluators(module: PolicyValueNetwork, examples: np.ndarray) -> dict[str, Evaluator]:
    """The network in each backend, on one core."""
    shape = examples.shape[1:]
    found: dict[str, Evaluator] = {
        backend: InferenceEngine(module, shape, max(BATCHES), backend, calibration_inputs=examples)
        for backend in ("eager", "compiled", "compiled-int8")
    }
    if find_spec("onnxruntime"):
        found["ONNX Runtime"] = by_onnx_runtime(module)
    return found


def by_onnx_runtime(module: PolicyValueNetwork) -> Evaluator:
    """The same layers in ONNX Runtime, in float32 on one core."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # the import reads it
    import onnxruntime

    if not isinstance(module, BoardNetwork | VectorNetwork):
        raise TypeError(f"{type(module).__name__} has no layers that are data")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = onnx_of(layers_of(module)).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def evaluate(observations: np.ndarray) -> Evaluation:
        logits, wdl, _, score = session.run(None, {INPUT: observations})
        return Evaluation(logits, wdl, score)

    return evaluate


def _seconds_each(evaluate: Evaluator, observations: np.ndarray) -> float:
    """Seconds of processor time for each position."""
    evaluate(observations)
    started, calls = time.process_time(), 0
    while time.process_time() - started < _SECONDS:
        evaluate(observations)
        calls += 1
    return (time.process_time() - started) / calls / len(observations)


def _difference(found: Evaluation, expected: Evaluation) -> Row:
    mine, theirs = (_softmax(each.logits) for each in (found, expected))
    return {
        "total variation": float(np.abs(mine - theirs).sum(1).mean() / 2),
        "of the value": float(np.abs(found.values - expected.values).mean()),
        "same favourite": float((mine.argmax(1) == theirs.argmax(1)).mean()),
    }


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


if __name__ == "__main__":
    main()
