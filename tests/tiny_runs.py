"""Runs of a few seconds, for the tests of the training loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.cli import main
from ludarium.configs import apply_settings, load_config
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import Trainer
from tests.progress import run_until

#: Settings of a tiny run of AlphaZero on Corso.
ALPHAZERO = (
    "options={size: 3}",
    "budget={iterations: 3}",
    "network={channels: 8, blocks: 1}",
    "self_play={positions: 256, workers: 2, simulations: 8, opening_plies: 2}",
    "bootstrap={positions: 0}",
    "learner={batch: 64, replay_ratio: 4, learning_rate: 0.01, warmup_steps: 5}",
    "evaluation={every: 0}",
)

#: The same for PPO.
PPO = (
    "options={size: 3}",
    "budget={iterations: 4, minutes: null}",
    "network={channels: 8, blocks: 1}",
    "rollout={games: 16, steps: 8, opening_plies: 2}",
    "opponents={every: 1, pool: 2, current: 0.3}",
    "learner={batch: 64, epochs: 2, learning_rate: 0.003}",
    "evaluation={every: 0}",
)

#: Arguments of a tiny run of AlphaZero on Corso, for the command line.
ARGUMENTS = (
    "--option=size=3",
    "--set=network={channels: 8, blocks: 1}",
    "--set=self_play={positions: 64, workers: 1, simulations: 4}",
    "--set=bootstrap={positions: 32, playouts: 20}",
    "--set=learner={batch: 32}",
    "--set=evaluation={every: 1, games: 2, against: random, simulations: 2}",
)


def run_by_command(folder: Path, algorithm: str, settings: Iterable[str]) -> Path:
    """A run on Corso by the command line, with settings ``key=value``; its folder."""
    arguments = ["train", "corso", "--algorithm", algorithm, "--folder", str(folder)]
    assert main([*arguments, *(f"--set={setting}" for setting in settings)]) == 0
    return folder


def changes_weights(trainer: Trainer) -> bool:
    """Train; whether that has changed any weight of the network."""
    before = [weight.clone() for weight in trainer.algorithm.network.parameters()]
    trainer.run()
    after = trainer.algorithm.network.parameters()
    return any((a != b).any() for a, b in zip(before, after, strict=True))


@dataclass(frozen=True)
class TinyRuns:
    """Runs of one algorithm with the same settings.

    Attributes:
        shipped: name of the configuration that the settings change.
        settings: ``key=value`` each, that make the run tiny.
    """

    shipped: str
    settings: tuple[str, ...]

    def config(self, *settings: str) -> Any:
        """The configuration, with further settings."""
        return apply_settings(load_config(self.shipped), [*self.settings, *settings])

    def begun(self, folder: Path, *settings: str, restart: bool = False) -> Trainer:
        """A run, new or from its folder, that has yet to go on."""
        return make_trainer(self.config(*settings), RunFolder(folder, restart))

    def trained(self, folder: Path, *settings: str, iterations: int = 10**9) -> Trainer:
        """A run that was trained up to so many iterations, or to its end."""
        trainer = self.begun(folder, *settings)
        run_until(trainer, iterations)
        trainer.close()
        return trainer
