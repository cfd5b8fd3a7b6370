"""Every metric that a run logs is explained."""

import json

import pytest

from ludarium.training.runs.metrics import METRICS
from tests.survival.tiny import ALGORITHMS, train


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_run_logs_is_explained(algorithm, tmp_path):
    train(algorithm, tmp_path / "run", iterations=1)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    logged = set(json.loads(lines[-1]))
    assert "learning_rate" in logged
    assert logged <= METRICS.keys(), "say in training/runs/metrics.py what the others are"
