"""A run whose numbers stop being finite says so, and leaves what was saved as it is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ludarium.base.progress import SILENT
from ludarium.models import PolicyValueNetwork
from ludarium.training.runs.trainer import DivergedError, Trainer
from tests.progress import run_until
from tests.survival.tiny import Drift, fingerprint, tiny_run


def break_weights(network: PolicyValueNetwork) -> None:
    """What a step of far too great a length does."""
    with torch.no_grad():
        next(network.parameters())[0].fill_(math.nan)  # of all channels one


def run_on(trainer: Trainer) -> None:
    try:
        run_until(trainer, 2)
    finally:
        trainer.close()


@pytest.mark.parametrize("algorithm", ["alphazero", "ppo"])
def test_damaged_weights_end_the_run(tmp_path: Path, algorithm: str) -> None:
    trainer = tiny_run(algorithm, tmp_path / "run")
    run_until(trainer, 1)
    before = fingerprint(tmp_path / "run")
    break_weights(trainer.algorithm.network)
    with pytest.raises(
        DivergedError, match=r"policy_loss is nan in iteration 2,.*learner\.learning_rate"
    ):
        run_on(trainer)
    assert fingerprint(tmp_path / "run") == before


def diverging(loss: float, breaks: bool = False) -> type[Drift]:
    """An algorithm whose value loss is as it is told."""

    class Diverging(Drift):
        def learn(self, played: np.ndarray) -> dict[str, Any]:
            metrics = super().learn(played)
            if breaks:
                break_weights(self.network)
            return metrics | {"value_loss": loss, "explained_variance": math.nan}

    return Diverging


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
    trainer = tiny_run("drift", tmp_path / "run", SILENT, diverging(loss, breaks))
    with pytest.raises(DivergedError, match=what):
        run_on(trainer)
    assert not list((tmp_path / "run").glob("state-*"))


def test_other_metrics_need_not_be_finite(tmp_path: Path) -> None:
    trainer = tiny_run("drift", tmp_path / "run", SILENT, diverging(0.5))
    run_on(trainer)
    assert trainer.iteration == 2
