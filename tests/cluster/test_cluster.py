"""Training on Ray clusters of several nodes, all on this machine: it learns, and survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from ludarium.training.cluster import actors, joined
from ludarium.training.cluster.worker import identity_of
from ludarium.training.run import make_trainer
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.trainer import Trainer
from tests.cluster.conftest import STORE
from tests.processes import LUDARIUM
from tests.progress import Told, run_until
from tests.tiny_runs import ALPHAZERO, TinyRuns

pytest.importorskip("ray", reason='Ray is not installed: pip install "ludarium[cluster]"')

TINY = (
    *ALPHAZERO,
    "device=cpu",
    "budget={iterations: 3, minutes: null}",
    "self_play.workers=1",
    "replay={first: 2000, last: 20000}",
)
RUNS = TinyRuns("corso/demo", TINY)
PATIENCE = 600.0  # seconds for what takes a few on an idle machine


class Run:
    """A run on a cluster, whose events a test may wait for."""

    def __init__(self, cluster, folder: Path, *settings: str) -> None:
        config = RUNS.config(*settings)
        self.listener = Told()
        self._cluster = ExitStack()
        self._cluster.enter_context(joined(cluster.address))
        with self._cluster.pop_all() as stack:
            self.trainer = make_trainer(config, RunFolder(folder), self.listener, on_cluster=True)
            self._cluster = stack.pop_all()
        self.actors = self.trainer.algorithm.actors

    def iterate(self, iterations: int) -> list[dict]:
        """Train so many iterations; the lines of the log."""
        run_until(self.trainer, self.trainer.iteration + iterations)
        return lines(self.trainer.folder.path)

    def processes(self) -> set[int]:
        """Of the actors that have played."""
        return {actor.process for actor in self.actors._actors if actor.process}

    def wait_for_actors(self, count: int) -> set[int]:
        """Wait until so many actors have started; their processes."""
        import ray

        until(lambda: self.actors._staff() or len(self.actors._actors) >= count)
        asked = [actor.handle.__ray_call__ for actor in self.actors._actors]
        answers = [each.remote(lambda _: os.getpid()) for each in asked]
        # Those of a node that has died are more than there is room for, until another one comes.
        started, _ = ray.wait(answers, num_returns=count, timeout=PATIENCE)
        assert len(started) == count
        return set(ray.get(started))

    def said(self, *words: str) -> int:
        """How many lines with all these words were said."""
        return sum(all(word in line for word in words) for line in self.listener.said)

    def close(self) -> None:
        self.trainer.close()
        self._cluster.close()


@pytest.fixture
def begin(tmp_path):
    """Begins runs: ``begin(cluster, *settings)``."""
    runs = []

    def make(cluster, *settings: str, folder: str = "run") -> Run:
        run = Run(cluster, tmp_path / folder, *settings)
        runs.append(run)
        return run

    yield make
    for run in runs:
        run.close()


def lines(folder: Path) -> list[dict]:
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def until(is_true) -> None:
    """Wait until something is true."""
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)


def test_a_cluster_does_all_that_the_local_loop_does(new_cluster, begin):
    """Bootstrap, self-play, learning, evaluation and a run's folder, as in the local loop."""
    cluster = new_cluster(1)
    cluster.add_node(num_cpus=1, object_store_memory=STORE)
    run = begin(
        cluster,
        "budget={iterations: 12}",
        "self_play.positions=512",
        "bootstrap={positions: 300, playouts: 8}",
        "evaluation={every: 3, against: 'uct:20', games: 4, simulations: 2}",
    )
    run.wait_for_actors(2)
    log = run.iterate(12)
    trainer = run.trainer
    assert [line["iteration"] for line in log] == list(range(1, 13))
    assert max(line["actors"] for line in log) == 2
    assert all(0 <= line["staleness"] <= 2 for line in log)
    assert max(line["staleness"] for line in log) > 0
    assert sum(line["actors_lost"] for line in log) == 0
    assert 0 <= log[-1]["score"]["value"] <= 1
    # Each position is learnt from as often as on one machine.
    first, steps = log[0], trainer.algorithm.step
    new = sum(len(trainer.folder.chunk(number)) for number, _ in trainer.algorithm.replay.chunks)
    assert len(trainer.algorithm.replay) == new == log[-1]["replay"]
    assert abs(steps - first["step"] - 4 * (new - first["replay"]) / 64) <= 12


def test_a_run_moves_to_a_cluster_and_back(new_cluster, begin, tmp_path):
    def on_one_machine(iterations: int) -> Trainer:
        return RUNS.trained(tmp_path / "run", "cluster.staleness=3", iterations=iterations)

    on_one_machine(1)
    run = begin(new_cluster(1), "cluster.staleness=1")
    assert run.trainer.iteration == 1
    weights = run.trainer.algorithm.learner.network.state_dict()
    run.iterate(1)
    run.trainer.close()
    back = on_one_machine(3)
    assert back.iteration == 3
    assert [line["iteration"] for line in lines(tmp_path / "run")] == [1, 2, 3]
    assert len(back.algorithm.replay.chunks) == 3
    assert weights.keys() == back.algorithm.learner.network.state_dict().keys()


def test_an_actor_that_dies_is_started_again_and_a_node_that_dies_is_done_without(
    new_cluster, begin
):
    cluster = new_cluster(1)
    node = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    run = begin(cluster, "budget={iterations: 1000}")
    there = run.wait_for_actors(2)
    until(lambda: run.iterate(1) and run.processes() == there)
    killed = sorted(there)[0]
    os.kill(killed, signal.SIGKILL)
    until(lambda: run.iterate(1) and run.processes() - there)
    assert run.said(f"the actor of process {killed} died; Ray started it again") == 1
    assert len(there & run.processes()) == 1
    assert sum(line["actors_lost"] for line in lines(run.trainer.folder.path)) == 1

    cluster.remove_node(node, allow_graceful=False)
    log = run.iterate(6)
    assert log[-1]["actors"] == 1
    # Others play in place of the dead: every iteration is whole.
    assert all(line["replay"] > before["replay"] for before, line in pairwise(log))

    cluster.add_node(num_cpus=2, object_store_memory=STORE)
    before = run.processes()
    until(lambda: run.iterate(1) and len(run.processes() - before) == 2)


def test_a_run_waits_where_there_is_no_room_and_says_so(new_cluster, begin):
    cluster = new_cluster(1)
    run = begin(cluster, "cluster.actor_cpus=2", "budget={iterations: 2}")
    assert run.said("has no room for an actor, which takes 2 cores and 0 GPUs") == 1
    cluster.add_node(num_cpus=2, object_store_memory=STORE)
    assert run.iterate(2)[-1]["actors"] == 1


def test_an_error_of_an_actor_ends_the_run(new_cluster, begin, monkeypatch):
    monkeypatch.setattr(actors, "identity_of", lambda game: f"another {identity_of(game)}")
    run = begin(new_cluster(1), "budget={iterations: 2}")
    with pytest.raises(ValueError, match=r"^node \S+ has ludarium .*, this run has another lud"):
        run.iterate(1)


def test_actors_play_ahead_of_a_slow_learner_as_far_as_they_may(new_cluster, begin, monkeypatch):
    run = begin(new_cluster(1), "budget={iterations: 1000}", "cluster.staleness=3")
    run.wait_for_actors(1)
    learn, ahead = run.trainer.algorithm.learner.learn, []

    def slowly(*arguments):
        """Learn, and look how far the actors are ahead."""
        assert not run.actors._arrived
        ahead.append(len(run.actors._ordered))
        learn(*arguments)

    monkeypatch.setattr(run.trainer.algorithm.learner, "learn", slowly)
    log = run.iterate(6)
    assert set(ahead) == {4}  # halves of iterations
    assert 1 <= max(line["staleness"] for line in log) <= 3


def test_a_driver_that_is_killed_goes_on_and_a_second_one_is_refused(new_cluster, begin, tmp_path):
    cluster = new_cluster(1)
    settings = [text for each in [*TINY, "budget={iterations: 1000}"] for text in ("--set", each)]
    command = [sys.executable, "-c", LUDARIUM, "train", "corso", "--config", "corso/demo"]
    command += [*settings, "--folder", str(tmp_path / "run"), "--cluster", cluster.address]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    driver = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(lines(tmp_path / "run")) >= 3)
        with pytest.raises(ValueError, match=rf"is in use by process {driver.pid} on .*"):
            begin(cluster, "budget={iterations: 1000}")
    finally:
        driver.kill()
        driver.wait()
    done = len(lines(tmp_path / "run"))
    run = begin(cluster, "budget={iterations: 1000}")
    iteration = run.trainer.iteration
    assert iteration in (done, done + 1)
    assert len(run.trainer.algorithm.replay) == lines(tmp_path / "run")[-1]["replay"]
    log = run.iterate(2)
    assert [line["iteration"] for line in log] == list(range(1, iteration + 3))
    assert log[-1]["replay"] > log[-3]["replay"] > 0


def test_a_cluster_that_is_not_there_is_an_error_in_one_line():
    with (
        pytest.raises(ValueError, match=r"the Ray cluster at 127\.0\.0\.1:1 .*ray start"),
        joined("127.0.0.1:1"),
    ):
        raise AssertionError("nobody answers there")
    with (
        pytest.raises(ValueError, match="must be started on a node of the cluster"),
        joined("ray://somewhere:10001"),
    ):
        raise AssertionError("it is not a node")
