"""A file layer that fails: every operation that changes a disk is counted, and one goes wrong.

`FailingOS` stands in for the module ``os`` where files are written and put in place.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from ludarium.base import durable, storage

#: What changes a disk, or makes sure that it is changed.
OPERATIONS = ("open", "write", "fsync", "replace", "unlink", "mkdir")


class Killed(BaseException):
    """What a killed process does from then on: nothing."""


class FailingOS:
    """The module ``os``, whose operation number ``fails`` (from 0) goes wrong.

    Args:
        fails: which one; None for none, only counting.
        how: ``kill``, the process then does nothing more; a write is cut in the
            middle. ``power``: the same, and what was not synchronised is lost. ``full``: this
            one and all later ones but removals fail, as on a full disk.
    """

    def __init__(self, fails: int | None = None, how: str = "kill") -> None:
        self.fails = fails
        self.how = how
        self.done: list[str] = []
        self._names: dict[int, str] = {}
        self._synced: dict[str, int] = {}  # bytes that are safe, of files that were written to

    def stand_in(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of ``os``, until ``patch`` is undone."""
        for module in (durable, storage):
            patch.setattr(module, "os", self)

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        return self._counted(name, function) if name in OPERATIONS else function

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_WRONLY:
                return function(*arguments)  # of a folder, to synchronise it
            self.done.append(name)
            is_due = self.fails is not None and len(self.done) > self.fails
            if is_due and not (self.how == "full" and name == "unlink"):
                self._fail(name, *arguments)
            result = function(*arguments)
            self._note(name, arguments, result)
            return result

        return call

    def _note(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        """Keep count of what would be lost if the power went."""
        if name == "open":
            self._names[result] = str(arguments[0])
            self._synced.setdefault(str(arguments[0]), os.fstat(result).st_size)
        elif name == "fsync" and arguments[0] in self._names:
            self._synced[self._names[arguments[0]]] = os.fstat(arguments[0]).st_size
        elif name == "replace":
            old, new = map(str, arguments)
            self._synced = {
                (new + path.removeprefix(old) if path.startswith(old) else path): size
                for path, size in self._synced.items()
            }

    def _fail(self, name: str, *arguments: Any) -> None:
        """Do half of it, perhaps, and raise."""
        first = len(self.done) == (self.fails or 0) + 1
        if name == "write" and first:
            os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
        if self.how == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.how == "power" and first:
            for path, size in self._synced.items():
                if os.path.isfile(path):
                    os.truncate(path, min(size, os.path.getsize(path)))
        raise Killed(name)
