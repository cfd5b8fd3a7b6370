"""Which agents of its past a run keeps."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from ludarium.configs import load_config
from ludarium.configs.schema import Save
from ludarium.models import load_header
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.past import Past
from ludarium.training.trainers import make_trainer
from tests.survival.tiny import Listener, train
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns("corso/demo", ALPHAZERO)


def kept_after(config: Save, iterations: int, minutes_each: float = 1.0) -> list[int]:
    """The iterations whose agents are kept; the state is a file's in between."""
    past, kept = Past(config), []
    for iteration in range(1, iterations + 1):
        kept = past.advance(iteration, 60 * minutes_each * iteration)
        past = Past(config, json.loads(json.dumps(past.state())))
    return kept


@pytest.mark.parametrize(
    ("save", "iterations", "kept"),
    [
        (Save(every=0), 20, []),
        (Save(every=4, keep=None), 20, [4, 8, 12, 16, 20]),
        (Save(every=1, keep=4), 4, [1, 2, 3, 4]),
        (Save(every=1, keep=4), 5, [1, 3, 5]),
        (Save(every=1, keep=4), 8, [1, 3, 5, 7]),
        (Save(every=1, keep=4), 16, [1, 5, 9, 13]),
        (Save(every=1, keep=5), 16, [1, 5, 9, 13]),
        (Save(every=7, minutes=3, keep=None), 10, [3, 6, 9]),
        (Save(minutes=0.5, keep=4), 9, [1, 5, 9]),
    ],
)
def test_agents_are_kept_evenly_over_the_run(save, iterations, kept):
    assert kept_after(save, iterations) == kept


@pytest.mark.parametrize("keep", [2, 3, 7, 20])
def test_however_long_a_run_is_its_past_is_neither_long_nor_short(keep):
    for iterations in (keep, 10 * keep, 1000):
        kept = kept_after(Save(keep=keep), iterations)
        assert keep // 2 <= len(kept) <= keep
        steps = {b - a for a, b in pairwise(kept)}
        assert len(steps) <= 1
        assert kept[-1] > iterations - 2 * max(steps, default=1)


def test_fewer_are_kept_once_the_run_is_told_so():
    past = Past(Save(keep=None))
    for iteration in range(1, 10):
        past.advance(iteration, 0.0)
    assert Past(Save(keep=3), past.state()).advance(10, 0.0) == [1, 5, 9]


@pytest.mark.parametrize(
    ("save", "kept"),
    [
        (Save(every=1, keep=4), [1, 9, 17]),
        (Save(every=1, keep=3), [1, 9, 17]),
        (Save(every=1, keep=6), [1, 9, 17, 18, 19, 20]),
        (Save(every=1, keep=None), [1, 9, 17, 18, 19, 20]),
        (Save(every=2, keep=4), [1, 9, 17, 19]),
        (Save(minutes=2, keep=4), [1, 9, 17, 19]),
    ],
)
def test_a_spacing_ends_with_what_it_was_for(save, kept):
    past = Past(Save(every=1, keep=4))
    for iteration in range(1, 18):
        past.advance(iteration, 60.0 * iteration)
    past = Past(save, json.loads(json.dumps(past.state())))
    for iteration in range(18, 21):
        now = past.advance(iteration, 60.0 * iteration)
    assert now == kept


def test_a_run_keeps_agents_in_files_that_say_when(tmp_path):
    RUNS.trained(tmp_path, "save={every: 2}").close()
    (path,) = (tmp_path / "agents").iterdir()
    assert path.name == "000002.safetensors"
    header = load_header(path)
    assert header.notes["iteration"] == 2
    assert (
        0 < header.notes["seconds"] < load_header(tmp_path / "agent.safetensors").notes["seconds"]
    )


def test_how_many_are_kept_may_change_when_a_run_goes_on(tmp_path):
    RUNS.trained(tmp_path, "save={every: 1}", iterations=2)
    folder = RunFolder(tmp_path)
    assert folder.begun().save.every == 1
    RUNS.trained(tmp_path, "save={every: 0}")
    names = sorted(path.name for path in (tmp_path / "agents").iterdir())
    assert names == ["000001.safetensors", "000002.safetensors"]
    # So it goes on where nothing is said, and says nothing of a file that was changed.
    assert folder.begun().save.every == load_config(tmp_path / "config.yaml").save.every == 0
    listener = Listener()
    make_trainer(folder.begun(), folder, listener).close()
    assert listener.said == []


def test_agents_that_somebody_deletes_are_missed_once(tmp_path):
    train("drift", tmp_path, 2)
    (tmp_path / "agents" / "000001.safetensors").unlink()
    (said,) = train("drift", tmp_path, 2)
    assert "000001.safetensors is missing; the run goes on without this agent of its past" in said
    train("drift", tmp_path, 3)
    assert train("drift", tmp_path, 4) == []
