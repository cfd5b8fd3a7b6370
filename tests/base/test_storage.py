"""Files on other systems, as far as they can be imitated: places, and taking another's place."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ludarium.base import storage


@pytest.mark.parametrize(
    ("system", "variable", "place"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache/ludarium"),
        ("darwin", None, "Library/Caches/ludarium"),
        ("win32", "LOCALAPPDATA", ".cache/ludarium"),
    ],
)
def test_each_system_has_its_place_for_a_cache(
    system: str, variable: str | None, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert storage.cache_folder() == tmp_path / place
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "given"))
        assert storage.cache_folder() == tmp_path / "given" / "ludarium"


class Scanner:
    """A virus scanner that holds a file for some attempts, as Windows lets it."""

    def __init__(self, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.attempts = attempts
        self.pauses: list[float] = []
        self._replace = os.replace
        monkeypatch.setattr(os, "replace", self.replace)
        monkeypatch.setattr(time, "sleep", self.pauses.append)

    def replace(self, source: Path, target: Path) -> None:
        if self.attempts:
            self.attempts -= 1
            raise PermissionError(13, "Access is denied", str(target))
        self._replace(source, target)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_bytes(b"new")
    old.write_bytes(b"old")
    return new, old


def test_on_windows_a_file_that_is_held_is_replaced_once_it_is_let_go(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    scanner = Scanner(3, monkeypatch)
    storage.take_place(*files)
    assert files[1].read_bytes() == b"new"
    assert scanner.pauses == list(storage.PAUSES[:3])


def test_on_windows_a_file_that_stays_held_is_an_error(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    scanner = Scanner(99, monkeypatch)
    with pytest.raises(PermissionError):
        storage.take_place(*files)
    assert files[1].read_bytes() == b"old"
    assert sum(scanner.pauses) < 2


def test_elsewhere_a_refusal_is_final(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    scanner = Scanner(1, monkeypatch)
    with pytest.raises(PermissionError):
        storage.take_place(*files)
    assert scanner.pauses == []


def test_of_two_who_write_at_once_the_last_one_is_right(tmp_path: Path) -> None:
    """What is half written by one is never put in place by the other."""
    path = tmp_path / "table"
    with storage.replacing(path) as slow:
        slow.write_bytes(b"half")
        with storage.replacing(path) as quick:
            quick.write_bytes(b"quick")
        assert path.read_bytes() == b"quick"
        slow.write_bytes(b"slow and whole")
    assert path.read_bytes() == b"slow and whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("writer", ["table", "part"])
def test_files_that_no_lock_guards_are_written_by_several_at_once(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One begins and ends while another one's file is ready, and not in place yet."""
    from ludarium.analysis.table import write_table
    from ludarium.play import parts

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    write = {
        "table": lambda: write_table(tmp_path / "kept", {}, np.arange(9)),
        "part": lambda: parts.keep("kept", b"content"),
    }[writer]
    write()
    (kept,) = tmp_path.rglob("kept")
    whole, take_place = kept.read_bytes(), storage.take_place

    def interrupted(source: Path, target: Path) -> None:
        monkeypatch.setattr(storage, "take_place", take_place)
        write()
        assert source.read_bytes() == whole
        take_place(source, target)

    monkeypatch.setattr(storage, "take_place", interrupted)
    write()
    assert storage.take_place is take_place
    assert kept.read_bytes() == whole
    assert [item.name for item in kept.parent.iterdir()] == ["kept"]


def test_a_file_is_on_the_disk_before_it_takes_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("fsync"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("replace"), replace(*names)))
    with storage.replacing(tmp_path / "file") as partial:
        partial.write_bytes(b"content")
    assert done == ["fsync", "replace"] + ["fsync"] * (os.name == "posix")
