"""Keeps compiled kernels on disk, each in a file of its own, written whole or not at all.

numba's own cache has an index for each function beside numbered files of machine code. Two
processes that compile at once can give the same number to different code, one that is killed
between the two writes leaves a number that stands for older code, and a damaged file ends in a
traceback. Here a file's name has a digest of all that its code depends on, the file begins with a
digest of its content, and it is moved into place when it is whole. If a file is damaged, its
kernel is compiled anew.

The content is a pickle, as numba makes it: like Python's own ``__pycache__``, these folders must
not be writable for people whom the user does not trust.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import numba
from numba import config

from ludarium.base.console import say
from ludarium.base.storage import cache_folder, take_place

from .private import CompileResult, dumps

_MAGIC = b"ludarium kernel 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SUFFIX = ".kernel"
_DAYS_UNUSED = 3  # code of other sources and unfinished files are removed after so many
_SECONDS_PER_DAY = 86_400


def kernel_folder() -> Path | None:
    """The folder of kernels: ``NUMBA_CACHE_DIR/ludarium`` if that is set, else `cache_folder`.

    It is None if the user has no home.
    """
    named = config.CACHE_DIR  # type: ignore[attr-defined]
    if named:
        return Path(named) / "ludarium"
    with suppress(RuntimeError):
        return cache_folder()
    return None


@cache
def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"compiled games cannot be kept on disk, so each process compiles them again: {reason}; "
        "NUMBA_CACHE_DIR may name a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _announce(subject: str, is_kept: bool) -> None:
    if subject:
        kept = "; the code is kept for later ones" if is_kept else ""
        say(f"ludarium: compiling {subject} for this command (up to half a minute){kept}")


class KernelCache:
    """The compiled forms of one kernel, by the types of its arguments; stands in for numba's cache.

    Args:
        name: beginning of the files' names, the same whatever the sources are.
        sources: a digest of all that the kernel is made of.
        subject: a game or networks; its first kernel that is not on disk is announced. "" is not.
        is_current: tells whether the kernel would still be made of ``sources``; if not, it is not
            kept.
    """

    def __init__(
        self, name: str, sources: str, subject: str, is_current: Callable[[], bool]
    ) -> None:
        self._folder = kernel_folder()
        self._name = name
        self._sources = sources
        self._subject = subject
        self._is_current = is_current

    @property
    def cache_path(self) -> str | None:
        """The folder that new files go to, or None."""
        return str(self._folder) if self._folder else None

    def load_overload(self, sig: tuple, target_context: Any) -> Any:
        """The compiled kernel for argument types ``sig``; None if numba has to compile it."""
        target_context.refresh()
        name = self._file_name(sig, target_context.codegen())
        content = None if self._folder is None else _read(self._folder / name)
        if content is None:
            is_kept = self._folder is not None and _is_writable(self._folder)
            _announce(self._subject, is_kept)
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: tuple, compiled: Any) -> None:
        """Keep a compiled kernel, or warn that it cannot be kept; remove files of older sources."""
        folder = self._folder
        if not self._is_current():
            return
        if folder is None or not _is_writable(folder):
            _warn_once(f"{folder or 'the home folder'} cannot be written")
            return
        if compiled.library.has_dynamic_globals:
            _warn_once(f"{self._name} uses a large array that is not among the game's tables")
            return
        file = folder / self._file_name(sig, compiled.codegen)
        try:
            _write(file, dumps(compiled._reduce()))
        except OSError as error:
            _warn_once(f"{folder}: {error.strerror}")
        _remove_unused(folder, self._name, self._sources)

    def flush(self) -> None:
        """Do nothing: a file name always stands for the same code."""

    def _file_name(self, sig: tuple, codegen: Any) -> str:
        conditions = (
            *(self._name, self._sources, str(sig), codegen.magic_tuple()),
            *(numba.__version__, llvmlite.__version__, sys.version, platform.machine()),
        )
        digest = hashlib.sha256(repr(conditions).encode()).hexdigest()[:24]
        return f"{self._name}-{self._sources}-{digest}{_SUFFIX}"


def _read(file: Path) -> bytes | None:
    """The content of a file, or None if it is missing or damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    content = data[start:]
    if data[:start] != _MAGIC + hashlib.sha256(content).digest():
        return None
    with suppress(OSError):
        os.utime(file)  # it is in use, see `_remove_unused`
    return content


def _write(file: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all."""
    unfinished = file.with_name(f"{file.stem}-{uuid4().hex[:12]}.part")
    try:
        unfinished.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)
        take_place(unfinished, file)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _remove_unused(folder: Path, name: str, sources: str) -> None:
    """Remove a kernel's files of other sources, and unfinished ones, that were not used for days.

    They stay that long because another process may run those sources from the same folder.
    """
    oldest = time.time() - _DAYS_UNUSED * _SECONDS_PER_DAY
    with suppress(OSError):
        for file in folder.glob(f"{name}-*"):
            is_torn = file.suffix == ".part"
            is_other = file.suffix == _SUFFIX and not file.name.startswith(f"{name}-{sources}-")
            if (is_torn or is_other) and file.stat().st_mtime < oldest:
                file.unlink()
