"""Every operation of an iteration on the disk fails once: nothing is lost, nothing is doubled."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sb3_contrib")

from ludarium.base.durable import StorageError
from ludarium.training.runs.folder import RunFolder

from .faults import FailingOS, Killed
from .tiny import ALGORITHMS, TIMES, fingerprint, metrics, tiny_run, train

BEGUN, ENDED = 2, 3  # iterations: two states are kept, so one of three is removed in the third


@pytest.fixture(scope="module", params=["drift", *ALGORITHMS])
def run(request, tmp_path_factory) -> tuple[str, Path, dict[str, Any]]:
    """Algorithm, a run of two iterations, and what comes of a third."""
    base = tmp_path_factory.mktemp(request.param)
    train(request.param, base / "begun", BEGUN)
    shutil.copytree(base / "begun", base / "whole")
    train(request.param, base / "whole", ENDED)
    return request.param, base / "begun", fingerprint(base / "whole")


def operations(algorithm: str, begun: Path, folder: Path, monkeypatch) -> list[str]:
    """What an iteration does on the disk, resuming included."""
    shutil.copytree(begun, folder)
    counting = FailingOS()
    with monkeypatch.context() as patch:
        counting.stand_in(patch)
        train(algorithm, folder, ENDED)
    return counting.done


@pytest.mark.parametrize("how", ["kill", "power", "full"])
def test_a_failure_at_any_operation_changes_nothing(run, how, tmp_path, monkeypatch):
    """Every operation of a run without games; of others, which take longer, every tenth."""
    algorithm, begun, expected = run
    done = operations(algorithm, begun, tmp_path / "counted", monkeypatch)
    assert set(done) == {"open", "write", "fsync", "replace", "unlink"}
    first = {"kill": 0, "power": 1, "full": 2}[how]
    for number in range(first, len(done), 1 if algorithm == "drift" or TIMES > 1 else 10):
        if how == "full" and done[number] == "unlink":
            continue  # these work on a full disk too
        folder = tmp_path / f"run-{number}"
        shutil.copytree(begun, folder)
        with monkeypatch.context() as patch:
            FailingOS(number, how).stand_in(patch)
            if how == "full":
                with pytest.raises(StorageError) as error:
                    train(algorithm, folder, ENDED)
                assert re.fullmatch(
                    r"cannot write .* \(No space left on device\): make room there, .*",
                    str(error.value),
                )
            else:
                with pytest.raises(Killed):
                    train(algorithm, folder, ENDED)
        said = train(algorithm, folder, ENDED)
        found = fingerprint(folder)
        assert found.keys() == expected.keys(), (number, done[number])
        differing = [name for name in expected if found[name] != expected[name]]
        assert (differing, said) == ([], []), (number, done[number])


@pytest.mark.parametrize("how", ["kill", "power", "full"])
def test_a_restart_that_fails_leaves_the_old_run_or_the_new_one(run, how, tmp_path, monkeypatch):
    """Whole, and as it would be alone in its folder; the number of each is its seed."""
    algorithm, begun, _ = run
    train(algorithm, tmp_path / "new", 1, seed=2)
    shutil.copytree(begun, tmp_path / "counted")
    counting = FailingOS()
    with monkeypatch.context() as patch:
        counting.stand_in(patch)
        train(algorithm, tmp_path / "counted", 1, seed=2, restart=True)
    expected = {1: fingerprint(begun), 2: fingerprint(tmp_path / "new")}
    assert fingerprint(tmp_path / "counted") == expected[2]
    found = []
    step = 1 if algorithm == "drift" or TIMES > 1 else 10
    for number in range({"kill": 0, "power": 1, "full": 2}[how], len(counting.done), step):
        folder = tmp_path / f"run-{number}"
        shutil.copytree(begun, folder)
        with monkeypatch.context() as patch, contextlib.suppress(Killed, StorageError):
            FailingOS(number, how).stand_in(patch)
            train(algorithm, folder, 1, seed=2, restart=True)
        config = RunFolder(folder).begun()
        assert config is not None
        assert train(algorithm, folder, 0, seed=config.seed) == [], (number, counting.done[number])
        assert fingerprint(folder) == expected[config.seed], (number, counting.done[number])
        found.append(config.seed)
    assert sorted({*found}) == [1, 2]
    assert found == sorted(found)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["kill", "power", "full"])
def test_a_first_iteration_that_fails_changes_nothing(how, tmp_path, monkeypatch):
    """Also where it failed after its state was saved: then that stays."""
    counting = FailingOS()
    with monkeypatch.context() as patch:
        counting.stand_in(patch)
        train("drift", tmp_path / "whole", 1)
    expected = fingerprint(tmp_path / "whole")
    for number, operation in enumerate(counting.done):
        folder = tmp_path / f"run-{number}"
        with monkeypatch.context() as patch:
            FailingOS(number, how).stand_in(patch)
            with contextlib.suppress(Killed, StorageError):
                train("drift", folder, 1)
        had_state = (folder / "state-000001.zip").exists()
        assert train("drift", folder, 0 if had_state else 1) == [], (number, operation)
        assert fingerprint(folder) == expected, (number, operation)
    assert had_state


def test_people_are_told_of_an_iteration_that_was_saved_and_not_logged(tmp_path, monkeypatch):
    def full(*_):
        raise StorageError("full")

    with monkeypatch.context() as patch:
        patch.setattr("ludarium.training.runs.folder.append", full)
        with pytest.raises(StorageError):
            train("drift", tmp_path, 1)
    trainer = tiny_run("drift", tmp_path)
    assert trainer.metrics["iteration"] == 1
    trainer.close()
    train("drift", tmp_path, 2)
    assert [line["iteration"] for line in metrics(tmp_path)] == [1, 2]


def test_a_start_that_fails_leaves_nothing_or_a_run_that_can_be_begun(tmp_path, monkeypatch):
    counting = FailingOS()
    with monkeypatch.context() as patch:
        counting.stand_in(patch)
        train("drift", tmp_path / "in" / "whole", 0)
    assert not (tmp_path / "in").exists(), "nothing was saved, so nothing is left"
    assert counting.done.count("mkdir") == 2
    for number in range(len(counting.done)):
        folder = tmp_path / f"{number}" / "run"
        with monkeypatch.context() as patch:
            FailingOS(number, "kill").stand_in(patch)
            with pytest.raises(Killed):
                train("drift", folder, 0)
        assert train("drift", folder, 0) == []
