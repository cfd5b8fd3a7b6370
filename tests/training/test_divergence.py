"""A run whose numbers stop being finite says so, and leaves what was saved as it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from ludarium.training.alphazero.loop import AlphaZeroTrainer
from ludarium.training.ppo.loop import PPOTrainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import DivergedError, Trainer
from tests.survival.tiny import DriftTrainer, Listener, fingerprint, tiny_config


def break_weights(trainer: Trainer) -> None:
    """What a step of far too great a length does."""
    with torch.no_grad():
        next(trainer.network.parameters()).fill_(math.nan)


def run_on(trainer: Trainer) -> None:
    try:
        trainer.run(stop=lambda: trainer.iteration >= 2)
    finally:
        trainer.close()


@pytest.mark.parametrize(
    ("algorithm", "kind"), [("alphazero", AlphaZeroTrainer), ("ppo", PPOTrainer)]
)
def test_damaged_weights_end_the_run(tmp_path: Path, algorithm: str, kind: type[Trainer]) -> None:
    trainer = kind(tiny_config(algorithm), RunFolder(tmp_path / "run"), Listener())
    trainer.run(stop=lambda: trainer.iteration >= 1)
    before = fingerprint(tmp_path / "run")
    break_weights(trainer)
    with pytest.raises(
        DivergedError, match=r"policy_loss is nan in iteration 2,.*learner\.learning_rate"
    ):
        run_on(trainer)
    assert fingerprint(tmp_path / "run") == before


class _Diverging(DriftTrainer):
    """Its value loss is what it is told."""

    loss = math.inf
    breaks = False

    def play_and_learn(self) -> dict[str, Any]:
        metrics = super().play_and_learn()
        if self.breaks:
            break_weights(self)
        return metrics | {"value_loss": self.loss, "explained_variance": math.nan}


@pytest.mark.parametrize(
    ("loss", "breaks", "what"),
    [
        (math.inf, False, "value_loss is inf in iteration 1"),
        (math.nan, False, "value_loss is nan in iteration 1"),
        (0.5, True, "the network's .* is not finite in iteration 1"),
    ],
)
def test_losses_and_weights_must_be_finite(
    tmp_path: Path, loss: float, breaks: bool, what: str
) -> None:
    trainer = _Diverging(tiny_config("drift"), RunFolder(tmp_path / "run"), Listener())
    trainer.loss, trainer.breaks = loss, breaks
    with pytest.raises(DivergedError, match=what):
        run_on(trainer)
    assert not list((tmp_path / "run").glob("state-*"))


def test_other_metrics_need_not_be_finite(tmp_path: Path) -> None:
    trainer = _Diverging(tiny_config("drift"), RunFolder(tmp_path / "run"), Listener())
    trainer.loss = 0.5
    run_on(trainer)
    assert trainer.iteration == 2
