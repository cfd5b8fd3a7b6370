"""What a run shows on the terminal."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.event_pb2 import SessionLog

from ludarium.base import progress_bar
from ludarium.base.console import plain_console
from ludarium.base.progress import SILENT
from ludarium.base.progress_bar import as_time, time_left
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import Column, RunLog, columns_of, fitting_columns

COLUMNS = columns_of("alphazero")


def estimate(value: float, low: float, high: float) -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "count": 20}


METRICS = {
    "iteration": 12,
    "progress": 0.5,
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


@contextmanager
def run_log(
    folder: Path, stream: io.StringIO, columns: Sequence[Column] = COLUMNS
) -> Iterator[RunLog]:
    with progress_bar.progress_bar(plain_console(file=stream)) as progress:
        log = RunLog(RunFolder(folder), columns, progress)
        yield log
        log.close()


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
    with run_log(tmp_path, stream) as log:
        log.progress.begin("self-play", 100)
        log.progress.advance(50)
        log.iteration(METRICS)
        scored = {"opponent": "uct:1000", "score": estimate(0.9, 0.77, 0.96)}
        log.iteration(METRICS | {"iteration": 13} | scored)
    heading, first, second, score = stream.getvalue().splitlines()
    assert heading.split()[:3] == ["run", "min", "iter"]
    assert first.split() == [
        *("50", "%", "12.6", "12", "64", "123.4", "33,317"),
        *("0.457", "0.500", "0.100", "250,000", "13", "min"),
    ]
    assert heading.split()[-1] == "left"
    assert second.split()[3] == "13"
    assert "score against uct:1000: 90 % (77 to 96)" in score
    assert list((tmp_path / "tensorboard").iterdir())


@pytest.mark.parametrize("absent", [(), ("policy_loss", "outcome_loss", "score_loss")])
def test_what_an_iteration_has_no_data_for_is_left_blank(absent, tmp_path):
    """Without a gradient step, and where a local run goes on on a cluster."""
    stream = io.StringIO()
    with run_log(tmp_path, stream, columns_of("alphazero", True)) as log:
        log.iteration({name: value for name, value in METRICS.items() if name not in absent})
    heading, row = stream.getvalue().splitlines()
    assert len(heading) == len(row)
    assert ("0.457" in row) == (not absent)
    assert re.search("250,000 {20,}13 min$", row)
    for events in map(str, (tmp_path / "tensorboard").iterdir()):
        assert not {*absent} & {*EventAccumulator(events).Reload().Tags()["scalars"]}


def test_rows_of_ppo_and_of_a_cluster(tmp_path):
    ppo = {"steps_per_second": 1234.5, "self_play_score": 0.625, "entropy": 1.234}
    ppo |= {"value_loss": 0.5678, "approx_kl": 0.01234, "pool": 7}
    cluster = {"actors": 3, "staleness": 1.26, "learner_waited": 4.55}
    kept = {"accuracy": estimate(0.8, 0.7, 0.9)}
    for columns, metrics, cells in (
        (columns_of("ppo"), ppo, "1,000 1,234 62 % 1.23 0.568 0.0123 7"),
        (columns_of("alphazero", True), cluster, "250,000 3 1.3 4.5"),
    ):
        stream = io.StringIO()
        with run_log(tmp_path, stream, columns) as log:
            log.iteration(METRICS | metrics | kept)
        assert f" {cells} 13 min" in re.sub(" +", " ", stream.getvalue())
        line = "       moves that keep the exact value: 80 % (70 to 90)"
        assert stream.getvalue().splitlines()[2] == line


def test_a_long_task_says_in_a_log_how_far_it_is_without_the_time_to_the_first_units(monkeypatch):
    stream, clock = io.StringIO(), iter([0.0, 0.0, 35.0, 40.0, 80.0])
    monkeypatch.setattr(progress_bar.time, "perf_counter", lambda: next(clock))
    with progress_bar.progress_bar(plain_console(file=stream)) as progress:
        progress.begin("bootstrap", 40_000)
        for more in (100, 4_900, 5_000):
            progress.advance(more)
    assert stream.getvalue().splitlines() == [
        "ludarium: bootstrap: 100 of 40,000",  # too early to tell
        "ludarium: bootstrap: 10,000 of 40,000, 220/s, 2 min left",  # without what came before
    ]


def test_what_was_done_earlier_tells_nothing_about_the_time_left(monkeypatch):
    console, clock = Console(file=io.StringIO()), iter([0.0, 0.0, 10.0, 60.0])
    monkeypatch.setattr(progress_bar.time, "perf_counter", lambda: next(clock))
    with progress_bar.progress_bar(console) as progress:
        progress.begin("games", 1000, 900)
        progress.advance(1)
        progress.advance(9)
    assert console.file.getvalue() == "ludarium: games: 910 of 1,000, 8 min left\n"


def test_what_is_left_is_told_by_what_is_done():
    assert time_left(0.25, 100.0) == 300.0
    assert time_left(0.0, 5.0) == float("inf")
    assert [as_time(seconds) for seconds in (5, 300, 9000, float("inf"))] == [
        *("5 s", "5 min", "2.5 h", "?")
    ]


RATED = {
    "elo": estimate(1720.4, 1650.0, 1800.2),
    "anchors": {
        "uct:1000": {"elo": 1000.0, "score": estimate(0.92, 0.8, 1.0)},
        "uct:10000": {"elo": 1250.0, "score": estimate(0.6, 0.4, 0.8)},
    },
}


def test_a_rating_is_a_line_and_a_curve_with_its_interval(tmp_path):
    stream = io.StringIO()
    for iterations in ((12, 13), (14,)):  # the second as if the run had been resumed
        with run_log(tmp_path, stream) as log:
            for iteration in iterations:
                log.iteration(METRICS | RATED | {"iteration": iteration})
    line = "Elo 1,720 (1,650 to 1,800)  uct:1000 92 %  uct:10000 60 %"
    assert stream.getvalue().count(line) == 3
    # One by one: TensorBoard reads files of one second in the order of their names, and there the
    # tenth file of a process comes before the ninth.
    files = list((tmp_path / "tensorboard").iterdir())
    assert len(files) == 2
    runs = [EventAccumulator(str(file)).Reload() for file in files]
    for name, end in (("elo", "value"), ("elo/low", "low"), ("elo/high", "high")):
        points = sorted(
            (event.step, event.value) for events in runs for event in events.Scalars(name)
        )
        assert points == [(step, pytest.approx(RATED["elo"][end])) for step in (12, 13, 14)]


def test_curves_go_back_with_the_run(tmp_path):
    for iterations in ((12, 13, 14), (13,)):  # the state of 14 was lost
        with run_log(tmp_path, io.StringIO()) as log:
            for iteration in iterations:
                log.iteration(METRICS | {"iteration": iteration})
    resumed = min((tmp_path / "tensorboard").iterdir(), key=lambda file: file.stat().st_size)
    starts = [
        event.step
        for event in EventFileLoader(str(resumed)).Load()
        if event.HasField("session_log") and event.session_log.status == SessionLog.START
    ]
    assert starts == [13], "TensorBoard forgets what was there from this step on"


def test_nothing_is_written_before_the_first_iteration(tmp_path):
    RunLog(RunFolder(tmp_path / "run"), COLUMNS, SILENT).close()
    assert not list(tmp_path.iterdir())


def test_curves_that_cannot_be_written_are_named_once_and_done_without(tmp_path):
    (tmp_path / "tensorboard").write_text("in the way")
    stream = io.StringIO()
    with run_log(tmp_path, stream) as log:
        for iteration in (12, 13):
            log.iteration(METRICS | {"iteration": iteration})
    assert stream.getvalue().count("no more curves: they cannot be written (File exists)") == 1
    assert stream.getvalue().splitlines()[-1].split()[3] == "13"


@pytest.mark.parametrize("error", [RuntimeError("broken"), TypeError("Descriptors"), ImportError()])
def test_a_tensorboard_that_is_broken_stops_no_run(tmp_path, monkeypatch, error):
    class Broken(ModuleType):
        def __getattr__(self, name):
            raise error

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", Broken("broken"))
    stream = io.StringIO()
    with run_log(tmp_path, stream) as log:
        log.iteration(METRICS)
        log.iteration(METRICS | {"iteration": 13})
    assert stream.getvalue().count("no more curves: they cannot be written") == 1


@pytest.mark.parametrize("closed", [False, True])
def test_a_terminal_that_cannot_be_written_stops_nothing(closed, tmp_path):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    stream = io.StringIO() if closed else Full()
    with run_log(tmp_path, stream) as log:
        if closed:
            stream.close()
        log.progress.begin("self-play", 100)
        log.progress.advance(50)
        log.iteration(METRICS)
    assert list((tmp_path / "tensorboard").iterdir()), "curves are written all the same"
