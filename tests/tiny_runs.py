"""Runs of a few seconds, for the tests of the training loops."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from ludarium.configs import apply_settings, load_config
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Reporter
from ludarium.training.runs.trainer import Trainer

AnyTrainer = TypeVar("AnyTrainer", bound=Trainer)

#: Settings of a tiny run of AlphaZero on Corso.
ALPHAZERO = (
    "options={size: 3}",
    "backend=eager",
    "budget={iterations: 3}",
    "network={channels: 8, blocks: 1}",
    "self_play={games: 16, positions: 256, workers: 2, simulations: 8, opening_plies: 2}",
    "bootstrap={positions: 0}",
    "learner={batch: 64, replay_ratio: 4, learning_rate: 0.01, warmup_steps: 5}",
    "evaluation={every: 0}",
)


@dataclass(frozen=True)
class TinyRuns(Generic[AnyTrainer]):
    """Runs of one algorithm with the same settings.

    Attributes:
        trainer: its class.
        shipped: name of the configuration that the settings change.
        settings: ``key=value`` each, that make the run tiny.
    """

    trainer: type[AnyTrainer]
    shipped: str
    settings: tuple[str, ...]

    def config(self, *settings: str) -> Any:
        """The configuration, with further settings."""
        return apply_settings(load_config(self.shipped), [*self.settings, *settings])

    def begun(self, folder: Path, *settings: str) -> AnyTrainer:
        """A run, new or from its folder, that has yet to go on."""
        return self.trainer(self.config(*settings), RunFolder(folder), Reporter())

    def trained(self, folder: Path, *settings: str, iterations: int = 10**9) -> AnyTrainer:
        """A run that was trained up to so many iterations, or to its end."""
        trainer = self.begun(folder, *settings)
        trainer.run(stop=lambda: trainer.iteration >= iterations)
        trainer.close()
        return trainer
