"""Which agents of its past a run keeps."""

from __future__ import annotations

import pytest

from ludarium.configs import load_config
from ludarium.configs.schema import SaveConfig
from ludarium.models import load_header
from ludarium.training.runs.folder import RunFolder, kept_agents
from tests.tiny_runs import ALPHAZERO, TinyRuns

RUNS = TinyRuns("corso/demo", ALPHAZERO)


@pytest.mark.parametrize(
    ("save", "iteration", "kept"),
    [
        (SaveConfig(every=0), 20, []),
        (SaveConfig(every=4, keep=None), 20, [4, 8, 12, 16, 20]),
        (SaveConfig(every=1, keep=4), 4, [1, 2, 3, 4]),
        (SaveConfig(every=1, keep=4), 5, [2, 4]),
        (SaveConfig(every=1, keep=4), 9, [2, 4, 6, 8]),
        (SaveConfig(every=1, keep=4), 10, [4, 8]),
        (SaveConfig(every=3, keep=4), 17, [6, 12]),
    ],
)
def test_agents_are_kept_evenly_over_the_run(save, iteration, kept):
    assert list(kept_agents(save, iteration)) == kept


@pytest.mark.parametrize("keep", [2, 3, 7, 20])
def test_however_long_a_run_is_its_past_is_neither_long_nor_short(keep):
    for iteration in range(keep, 1000):
        kept = kept_agents(SaveConfig(keep=keep), iteration)
        assert (keep + 1) // 2 <= len(kept) <= keep
        assert set(kept) <= {iteration, *kept_agents(SaveConfig(keep=keep), iteration - 1)}


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
    RUNS.trained(tmp_path, "save={every: 0}", "cluster.staleness=3")
    names = sorted(path.name for path in (tmp_path / "agents").iterdir())
    assert names == ["000001.safetensors", "000002.safetensors"]
    # So it goes on where nothing is said.
    assert folder.begun().save.every == load_config(tmp_path / "config.yaml").save.every == 0
