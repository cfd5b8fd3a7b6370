"""What a run shows on the terminal."""

from __future__ import annotations

import io

import pytest

from ludarium.training.alphazero.loop import COLUMNS
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import TerminalReporter, fitting_columns

METRICS = {
    "iteration": 12,
    "share": 0.5,
    "seconds": 754.0,
    "step": 1000,
    "simulations_per_move": 64,
    "learning_rate": 1e-3,
    "replay": 250_000,
    "games_per_second": 123.4,
    "positions_per_second": 800.0,
    "simulations_per_second": 33_317.0,
    "mean_plies": 17.0,
    "play_seconds": 10.0,
    "learn_seconds": 9.0,
    "policy_loss": 0.4567,
    "outcome_loss": 0.5,
    "score_loss": 0.1,
}


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_rows_fit_the_terminal_and_keep_what_matters(width):
    columns = fitting_columns(COLUMNS, width)
    assert sum(column.width + 2 for column in columns) - 2 <= width
    assert columns[0].name == "run"
    if width >= 80:
        assert {"games/s", "sims/s", "policy", "result"} <= {column.name for column in columns}
    if width >= 100:
        assert columns == list(COLUMNS)


def test_a_log_has_a_heading_a_row_for_each_iteration_and_the_running_score(tmp_path):
    stream = io.StringIO()
    reporter = TerminalReporter(RunFolder(tmp_path), COLUMNS, stream)
    reporter.begin("self-play", 100)
    reporter.advance(50)
    reporter.iteration(METRICS)
    scored = {"opponent": "uct:1000", "score": 0.9, "score_low": 0.77, "score_high": 0.96}
    reporter.iteration(METRICS | {"iteration": 13} | scored)
    reporter.close()
    heading, first, second, score = stream.getvalue().splitlines()
    assert heading.split()[:3] == ["run", "min", "iter"]
    assert first.split()[:5] == ["50", "%", "12.6", "12", "64"]
    assert "33,317" in first
    assert second.split()[3] == "13"
    assert "score against uct:1000: 90 % (95 %: 77 to 96)" in score
    assert list((tmp_path / "tensorboard").iterdir())
