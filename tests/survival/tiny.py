"""Runs of a second or less, for tests that kill, damage and starve them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ludarium.base.progress import SILENT, Progress
from ludarium.configs import TrainingConfig, apply_settings, load_config
from ludarium.models import PolicyValueNetwork, build_network
from ludarium.training.alphazero.replay import ReplayBuffer
from ludarium.training.networks import network_shape
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.state import State, array_bytes, flatten, unflatten, unpack_state
from ludarium.training.runs.trainer import Trainer
from tests.progress import Told, run_until

#: How often what is random is tried; with more than once the rest is tried throughout.
TIMES = int(os.environ.get("SURVIVAL_TIMES", "1"))
#: How many bits are flipped in each kind of file, one at a time.
FLIPS = 100 * TIMES

ITERATIONS = 4

_COMMON = [
    "options={size: 3}",
    "device=cpu",
    f"budget={{iterations: {ITERATIONS}, minutes: null}}",
    "network={channels: 8, blocks: 1}",
    "evaluation={every: 0}",
    "save={keep: 2}",
]
_OWN = {
    "alphazero": [
        "self_play={positions: 64, workers: 1, simulations: 4, opening_plies: 2}",
        "bootstrap={positions: 0}",
        "replay={first: 60, last: 120}",
        "learner={batch: 32, replay_ratio: 4, learning_rate: 0.01, warmup_steps: 5}",
    ],
    "ppo": [
        "rollout={games: 16, steps: 8, opening_plies: 2}",
        "opponents={every: 1, pool: 2, current: 0.3}",
        "learner={batch: 64, epochs: 2, learning_rate: 0.003}",
    ],
}
ALGORITHMS = tuple(_OWN)

_SAMPLE = np.dtype([("number", np.int32), ("weight", np.float64)], align=True)


class Drift:
    """Learns nothing, in no time: weights drift at random, and random numbers are its samples."""

    resources = "nothing"

    def __init__(self, run: Trainer, saved: State | None) -> None:
        self.run = run
        torch.manual_seed(run.config.seed)
        self.network = build_network(network_shape(run.game), 2, 0)
        self.rng = np.random.default_rng(run.config.seed)
        self.replay = ReplayBuffer(_SAMPLE, 30)

    def play(self) -> np.ndarray:
        played = np.zeros(12, _SAMPLE)
        played["number"] = self.rng.integers(1000, size=12)
        return played

    def learn(self, played: np.ndarray) -> dict[str, Any]:
        self.chunk = played
        self.replay.add(self.run.iteration + 1, played, 20)
        drift = float(self.replay.draw(5, self.rng)["number"].mean())
        with torch.no_grad():
            for weight in self.network.parameters():
                weight.add_(drift)
        return {"drift": drift}

    def publish(self) -> dict[str, Any]:
        return {}

    def agent(self) -> PolicyValueNetwork:
        return self.network

    @property
    def step(self) -> int:
        return self.run.iteration

    def state(self) -> State:
        return State(
            {"rng": self.rng.bit_generator.state},
            flatten({"network": self.network.state_dict()}),
            {"latest": self.chunk},
            self.chunk,
            list(self.replay.chunks),
        )

    def restore(self, state: State) -> None:
        self.rng.bit_generator.state = state.description["rng"]
        self.network.load_state_dict(unflatten(state.tensors, "network"))
        self.chunk = state.arrays["latest"]
        self.replay.restore(state.replay, self.run.folder.chunk)

    def close(self) -> None:
        pass


#: Metrics that depend on the clock.
_CLOCK = ("seconds", "per_second")


def tiny_config(algorithm: str, seed: int = 1) -> TrainingConfig:
    """The configuration of a tiny run."""
    shipped = f"corso/{algorithm}" if algorithm == "ppo" else "corso/demo"
    settings = [*_COMMON, *_OWN.get(algorithm, []), f"seed={seed}"]
    return apply_settings(load_config(shipped), settings)


def arguments_of(algorithm: str, path: Path) -> list[str]:
    """The command line of a tiny run, which is evaluated too."""
    name = "corso/ppo" if algorithm == "ppo" else "corso/demo"
    settings = [*_COMMON, *_OWN[algorithm], "evaluation={every: 2, against: random, games: 4}"]
    given = [f"--set={setting}" for setting in settings]
    return ["train", "corso", "--config", name, *given, "--folder", str(path)]


def tiny_run(
    algorithm: str,
    path: Path,
    progress: Progress = SILENT,
    kind: type[Drift] = Drift,
    seed: int = 1,
    **of_folder: bool,
) -> Trainer:
    """A tiny run, new or from its folder; ``drift`` is of this kind."""
    config, folder = tiny_config(algorithm, seed), RunFolder(path, **of_folder)
    if algorithm == "drift":
        return Trainer(config, folder, kind, progress)
    return make_trainer(config, folder, progress)


def train(
    algorithm: str,
    path: Path,
    iterations: int = ITERATIONS,
    on_iteration: Callable[[dict[str, Any]], object] = lambda metrics: None,
    **of_run: Any,
) -> list[str]:
    """Begin a run or go on with it, up to so many iterations; returns what was said."""
    told = Told()
    trainer = tiny_run(algorithm, path, told, **of_run)
    try:
        run_until(trainer, iterations, on_iteration)
    finally:
        trainer.close()
    return told.said


def fingerprint(path: Path) -> dict[str, Any]:
    """All that a run has come to, but for the time that it took."""
    states = sorted(file.name for file in path.glob("state-*"))
    state = unpack_state((path / states[-1]).read_bytes())
    saved = state.description
    return {
        "states": states,
        "state": saved["algorithm"],
        "replay": saved["replay"],
        "first_chunk": saved["first_chunk"],
        "logged": saved["metrics"]["iteration"],
        "of": saved["config"],
        "agent": _without_notes((path / "agent.safetensors").read_bytes()),
        "metrics": metrics(path),
        "config": (path / "config.yaml").read_bytes(),
        "litter": [file.name for file in path.rglob("*partial*")],
        **{name: tensor.numpy().tobytes() for name, tensor in state.tensors.items()},
        **{name: array_bytes(array) for name, array in state.arrays.items()},
        **{f"replay/{file.name}": file.read_bytes() for file in path.glob("replay/*")},
        **{
            f"agents/{file.name}": _without_notes(file.read_bytes())
            for file in path.glob("agents/*")
        },
    }


def metrics(path: Path) -> list[dict[str, Any]]:
    """The log, line by line, without what depends on the clock."""
    lines = (path / "metrics.jsonl").read_bytes().splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if not name.endswith(_CLOCK)}
        for line in lines
    ]


def _without_notes(agent: bytes) -> bytes:
    """The weights in a checkpoint: its header tells the time."""
    return agent[8 + int.from_bytes(agent[:8], "little") :]
