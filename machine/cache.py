"""Object code that was made before, in files that are written whole or not at all.

A file holds kernels of a unit that were asked for together. Its name has a digest of all that the
code depends on; a digest of the content stands before it. A damaged file is made anew. No file is a
pickle, and none depends on a version of Python or of the compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from ludarium.base.storage import cache_folder, take_place

_MAGIC = b"ludarium code 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size
_SIZE_BYTES = 8
SUFFIX = ".code"
_SUFFIXES = (SUFFIX, ".part", ".lock")  # the second of unfinished files
_DAYS_UNUSED = 3  # when a unit keeps code, its files that nobody has read for so many days go
_SECONDS_PER_DAY = 86_400
_LONGEST_WAIT = 600  # seconds to wait for another process, which may have been stopped


@dataclass(frozen=True)
class Form:
    """Machine code of one kernel for arguments of certain layouts.

    Attributes:
        kernel: the kernel's name.
        symbol: the name of its machine code.
        layouts: the layouts of its arguments.
        returned: what it returns, see ``calling.add``.
    """

    kernel: str
    symbol: str
    layouts: tuple[Any, ...]
    returned: str


@dataclass(frozen=True)
class ObjectCode:
    """An object file with forms of kernels."""

    forms: tuple[Form, ...]
    content: bytes


def folder() -> Path | None:
    """The folder of compiled code: ``LUDARIUM_CODE_FOLDER``, or one in the user's cache folder.

    It is None if the user has no home.
    """
    named = os.environ.get("LUDARIUM_CODE_FOLDER")
    if named:
        return Path(named)
    with suppress(RuntimeError):
        return cache_folder() / "code"
    return None


def read(name: str, key: str) -> ObjectCode | None:
    """What was kept under a unit's name and a key; None if it is missing or damaged."""
    where = folder()
    return None if where is None else read_file(where / _file_name(name, key))


def read_file(file: Path) -> ObjectCode | None:
    """What a file holds; None if it is missing or damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    start = len(_MAGIC) + _DIGEST_BYTES
    if data[:start] != _MAGIC + hashlib.sha256(data[start:]).digest():
        return None
    with suppress(OSError):
        os.utime(file)  # it is in use, see `_remove_unused`
    size = int.from_bytes(data[start : start + _SIZE_BYTES], "little")
    begin = start + _SIZE_BYTES
    forms = json.loads(data[begin : begin + size])
    return ObjectCode(tuple(map(form_of, forms)), data[begin + size :])


@contextmanager
def making(name: str, key: str) -> Iterator[None]:
    """A context in which one process at a time makes what is to be kept under a key.

    Others wait, and then find it kept; after ten minutes they make it too. Nobody waits if the
    folder cannot be written, or its file system has no locks.
    """
    from filelock import FileLock, Timeout  # slow to import

    where = folder()
    if where is None or not _is_writable(where):
        yield
        return
    file = where / f"{name}-{key}.lock"
    lock = FileLock(file)
    with suppress(OSError, NotImplementedError, Timeout):  # a file system without locks
        lock.acquire(timeout=_LONGEST_WAIT)
    try:
        yield
    finally:
        if lock.is_locked:  # else the file is another process's
            with suppress(OSError):
                lock.release()
                file.unlink()


def keep(name: str, key: str, code: ObjectCode) -> None:
    """Keep object code, or warn that it cannot be kept; remove the unit's files unused for days."""
    where = folder()
    if where is None or not _is_writable(where):
        _warn_once(f"{where or 'the home folder'} cannot be written")
        return
    file = where / _file_name(name, key)
    unfinished = file.with_name(f"{file.stem}-{uuid4().hex[:12]}.part")
    try:
        unfinished.write_bytes(content_of(code))
        take_place(unfinished, file)
    except OSError as error:
        _warn_once(f"{where}: {error.strerror}")
    finally:
        with suppress(OSError):
            unfinished.unlink()
    _remove_unused(where, name)


def kept() -> dict[Path, int]:
    """The files of the cache with their sizes in bytes, unfinished ones and locks included."""
    found: dict[Path, int] = {}
    where = folder()
    for file in sorted(where.glob("*")) if where is not None else ():
        if file.suffix in _SUFFIXES:
            with suppress(OSError):  # another process has removed it
                found[file] = file.stat().st_size
    return found


def clear() -> None:
    """Remove all files of the cache.

    Raises:
        OSError: one cannot be removed.
    """
    for file in kept():
        file.unlink(missing_ok=True)


def content_of(code: ObjectCode) -> bytes:
    """What a file with this code holds; see `read_file`."""
    forms = json.dumps([[f.kernel, f.symbol, f.layouts, f.returned] for f in code.forms]).encode()
    content = len(forms).to_bytes(_SIZE_BYTES, "little") + forms + code.content
    return _MAGIC + hashlib.sha256(content).digest() + content


def form_of(entry: list[Any]) -> Form:
    """A form from JSON."""
    kernel, symbol, layouts, returned = entry
    return Form(kernel, symbol, _tuples(layouts), returned)


def _tuples(entry: Any) -> Any:
    return tuple(map(_tuples, entry)) if isinstance(entry, list) else entry


def _file_name(name: str, key: str) -> str:
    return f"{name}-{key}{SUFFIX}"


@cache
def _is_writable(where: Path) -> bool:
    try:
        where.mkdir(parents=True, exist_ok=True)
        probe = where / f"{uuid4().hex[:12]}.part"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    return True


@cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"compiled code cannot be kept on disk, so each process compiles it again: {reason}; "
        "LUDARIUM_CODE_FOLDER may name a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


def _remove_unused(where: Path, name: str) -> None:
    """Remove a unit's files, unfinished ones too, that were not used for `_DAYS_UNUSED`."""
    oldest = time.time() - _DAYS_UNUSED * _SECONDS_PER_DAY
    with suppress(OSError):
        for file in where.glob(f"{name}-*"):
            if file.suffix in _SUFFIXES and file.stat().st_mtime < oldest:
                file.unlink()
