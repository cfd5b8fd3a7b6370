"""Exact tests as evaluations of a run."""

from __future__ import annotations

import json

import pytest

from ludarium.analysis.exact_tests import make_exact_test, read_exact_test, write_exact_test
from ludarium.envs import make_game
from ludarium.training.agents import make_agent
from ludarium.training.evaluation import statistics
from ludarium.training.runs.metrics import METRICS
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns("corso/demo", ALPHAZERO)


def test_an_evaluation_counts_the_moves_that_keep_the_value(tmp_path):
    game = make_game("corso", size=3)
    write_exact_test(tmp_path / "corso.test", make_exact_test(game, 20, only_choices=True))
    settings = (
        "budget={iterations: 2}",
        f"evaluation={{every: 2, games: 2, against: random, simulations: 2, "
        f"exact_test: {tmp_path / 'corso.test'}}}",
    )
    RUNS.trained(tmp_path / "run", *settings)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").open()]
    assert "accuracy" not in lines[0]
    agent = make_agent(f"{tmp_path / 'run'}:2", game)
    test = read_exact_test(tmp_path / "corso.test")
    kept = int(test.optimal_mask[range(20), agent.actions(test.states)].sum())
    assert lines[1]["accuracy"] == statistics.wilson(kept, 20).to_dict()
    assert {"score", "accuracy"} <= METRICS.keys()


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("hard", r"evaluation\.exact_test: there is no hard test for Corso\(size=3\)"),
        ("nowhere.test", r"evaluation\.exact_test: .*nowhere\.test"),
    ],
)
def test_a_test_that_is_not_there_is_refused_before_the_run_begins(test, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        RUNS.begun(tmp_path / "run", f"evaluation={{exact_test: {test}}}")
    assert not (tmp_path / "run").exists()
