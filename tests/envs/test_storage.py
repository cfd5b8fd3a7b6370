"""Files on other systems, as far as they can be imitated: places, and taking another's place."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludarium.envs.engine import storage


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
