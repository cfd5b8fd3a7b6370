"""What is not a run's own: links are not followed, and strangers' files stay."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib")

from ludarium.base.durable import StorageError, make_folders
from ludarium.cli import main
from ludarium.training.runs.folder import RunFolder

from .tiny import fingerprint, tiny_run, train

TEXT = "not of a run\n"


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by their paths."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.fixture
def run(tmp_path) -> Path:
    """A run of two iterations."""
    train("drift", tmp_path / "run", 2)
    return tmp_path / "run"


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(
    "name",
    ["notes.txt", "config.yaml", "agent.safetensors", "metrics.jsonl", "replay/a.npy", "lock"],
)
def test_a_new_run_refuses_a_folder_that_holds_something(name, restart, tmp_path):
    file = tmp_path / "mine" / name
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    with pytest.raises(ValueError, match=rf"mine(/| holds ){name.split('/')[0]}.*give another"):
        train("drift", tmp_path / "mine", 1, restart=restart)
    assert contents(tmp_path) == {f"mine/{name}": TEXT.encode()}


def test_folders_that_another_process_makes_meanwhile_are_its_own(tmp_path, monkeypatch):
    mkdir, folder = os.mkdir, tmp_path / "runs" / "b"

    def mkdir_after_another(path):
        if path == folder.parent:
            mkdir(path)
        mkdir(path)

    monkeypatch.setattr(os, "mkdir", mkdir_after_another)
    assert make_folders(folder) == [folder]
    assert make_folders(folder) == []


def test_what_the_file_system_made_is_no_obstacle(tmp_path):
    folder = tmp_path / "disk"
    (folder / "lost+found").mkdir(parents=True)
    for iterations in (1, 2):
        assert train("drift", folder, iterations) == []
    assert train("drift", folder, 1, restart=True) == []
    assert (folder / "lost+found").is_dir()


def test_a_restart_removes_what_the_run_wrote_and_nothing_else(run):
    mine = ["notes.txt", "replay/notes.txt", "tensorboard/notes.txt", "state-000002.zip.backup"]
    curves = run / "tensorboard" / "events.out.tfevents.1.host"
    curves.parent.mkdir()
    curves.write_text("curves")
    for name in mine:
        (run / name).write_text(TEXT)
    assert train("drift", run, 1, restart=True) == []
    assert not curves.exists()
    assert all((run / name).read_text() == TEXT for name in mine)
    assert sorted(file.name for file in run.glob("state-*.zip")) == ["state-000001.zip"]
    assert not (run / "replay" / "000002.npy").exists()


@pytest.mark.parametrize(
    "name", ["config.yaml", "agent.safetensors", "metrics.jsonl", "state-000002.zip", "lock"]
)
def test_nothing_is_written_through_a_link(name, run, tmp_path):
    (tmp_path / "mine").write_text(TEXT)
    (run / name).unlink()
    (run / name).symlink_to(tmp_path / "mine")
    if name == "lock":
        with pytest.raises(StorageError, match=r"run/lock .* link.*move it away"):
            train("drift", run, 3)
        (run / name).unlink()
    train("drift", run, 3)
    train("drift", run, 1, restart=True)
    assert (tmp_path / "mine").read_text() == TEXT


def test_positions_may_lie_elsewhere(run, tmp_path):
    shutil.move(run / "replay", tmp_path / "elsewhere")
    (run / "replay").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "notes.txt").write_text(TEXT)
    assert train("drift", run, 3) == []
    assert (tmp_path / "elsewhere" / "000003.npy").is_file()
    assert train("drift", run, 1, restart=True) == []
    assert (tmp_path / "elsewhere" / "notes.txt").read_text() == TEXT


def test_links_within_folders_are_not_followed(run, tmp_path):
    for name in ("replay/000009.npy", "config.yaml.partial", "state-000003.zip.partial"):
        (tmp_path / "mine").write_text(TEXT)
        (run / name).symlink_to(tmp_path / "mine")
        train("drift", run, 3)
        train("drift", run, 1, restart=True)
        assert (tmp_path / "mine").read_text() == TEXT
        (run / name).unlink(missing_ok=True)


def test_a_copy_of_hard_links_stays_as_it_is(run, tmp_path):
    """As `cp -al` makes it; a lock that is such a link is refused, for a lock is emptied."""
    shutil.copytree(run, tmp_path / "copy", copy_function=os.link)
    before = contents(tmp_path / "copy")
    with pytest.raises(ValueError, match=r"run/lock is not a lock that this program wrote"):
        train("drift", run, 3)
    (run / "lock").unlink()
    train("drift", run, 3)
    train("drift", run, 1, restart=True)
    assert contents(tmp_path / "copy") == before


@pytest.mark.parametrize("replaced", [False, True])
def test_a_folder_that_is_moved_ends_the_run(replaced, run, tmp_path):
    def move(metrics):
        if metrics["iteration"] == 3:
            run.rename(tmp_path / "moved")
            if replaced:
                shutil.copytree(tmp_path / "moved", run)

    before = contents(run)
    with pytest.raises(StorageError, match="run was moved or replaced while it was in use"):
        train("drift", run, 5, move)
    assert run.exists() == replaced
    assert not replaced or contents(run).keys() == contents(tmp_path / "moved").keys()
    assert before.keys() != contents(tmp_path / "moved").keys()
    assert train("drift", tmp_path / "moved", 5) == []
    train("drift", tmp_path / "whole", 5)
    assert fingerprint(tmp_path / "moved") == fingerprint(tmp_path / "whole")


@pytest.mark.parametrize("command", ["train", "tune", "tournament", "compare"])
def test_a_folder_without_a_name_is_refused(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([command, "corso", "--folder", ""]) == 2
    assert "--folder: the name of the folder is empty" in capsys.readouterr().err
    for wrong in ("", 5):
        with pytest.raises(ValueError, match=f"folder is {wrong!r}; accepted: the path of"):
            RunFolder(wrong)
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(StorageError, match=r"lock \(.*\): its file system has no locks: take a"):
        train("drift", tmp_path / "run", 1)
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").glob("state-*"))


def test_a_run_that_cannot_be_closed_well_holds_nothing_back(tmp_path, monkeypatch):
    trainer = tiny_run("drift", tmp_path / "run")
    closed = []
    monkeypatch.setattr(trainer.algorithm, "close", lambda: closed.append("algorithm"))
    close = trainer.folder.close

    def fail():
        close()
        raise OSError("no answer")

    monkeypatch.setattr(trainer.folder, "close", fail)
    with pytest.raises(OSError, match="no answer"):
        trainer.close()
    assert closed == ["algorithm"]
    tiny_run("drift", tmp_path / "run").close()
