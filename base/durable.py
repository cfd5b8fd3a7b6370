"""Durable files: flushed to the disk, and never written through a link; `write_file` replaces whole
files.

Every file of a run is written by this module, except its lock and TensorBoard's curves. So the
guarantees for a kill, a power cut or a full disk are in one place, where tests inject such faults.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from .storage import sync_folder, take_place

#: Suffix of files that are being written; readers ignore them.
PARTIAL = ".partial"

_NO_LOCKS = "its file system has no locks: take a folder on another one"
_REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.ELOOP: "it is a link: move it away",
    errno.ENOSYS: _NO_LOCKS,
    errno.ENOLCK: _NO_LOCKS,
    errno.EOPNOTSUPP: _NO_LOCKS,
}


class StorageError(OSError):
    """A file cannot be written. The one-line message names the file and the remedy."""


class DamagedError(ValueError):
    """A file's content is not what was written. The one-line message names the file."""


def write_file(path: Path, content: bytes) -> None:
    """Replace a file atomically: a reader sees either the old or the new content.

    Only one process at a time may write it, for example under the lock of a run or a contest: the
    temporary file always has the same name, so the next writer replaces one left by a kill. For
    other files there is `ludarium.base.storage.replacing`.

    Raises:
        StorageError: it cannot be written; its content is the previous one, or the new one if only
            the folder could not be flushed.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        if path.exists() and not path.is_file():
            raise StorageError(f"cannot write {path}: it is not a regular file; name another one")
        if os.path.lexists(partial):  # left by a killed process
            os.unlink(partial)
        _write(partial, content, os.O_EXCL)
        take_place(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # to free its space; the next write replaces it
            os.unlink(partial)
        raise storage_error(path, error) from error


def move_file(source: Path, target: Path) -> None:
    """Rename a file within its folder, atomically; a file ``target`` is replaced.

    Raises:
        StorageError: it cannot be renamed.
    """
    try:
        take_place(source, target)
        sync_folder(target.parent)
    except OSError as error:
        raise storage_error(target, error) from error


def append(path: Path, content: bytes) -> None:
    """Append to a file. A kill may leave part of ``content`` there; an error leaves none.

    What another process appends at the same time stays: then a part may stay too.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        is_new = not path.exists()
        _write(path, content, os.O_APPEND)
        if is_new:
            sync_folder(path.parent)
    except OSError as error:
        raise storage_error(path, error) from error


def make_folders(path: Path) -> list[Path]:
    """Make a folder and its missing parents; return the new ones, innermost first.

    Raises:
        StorageError: it cannot be made.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            with suppress(FileExistsError):  # another process was faster
                os.mkdir(folder)
                made.insert(0, folder)
                sync_folder(folder.parent)
    except OSError as error:
        raise storage_error(path, error) from error
    if not path.is_dir():
        raise StorageError(f"{path} is not a folder; give another one")
    return made


def remove_file(path: Path) -> None:
    """Remove a file if it is there; `StorageError` if it cannot be removed."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise storage_error(path, error) from error


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is not a link, and flush it to the disk (fsync)."""
    system = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_BINARY"))
    file = os.open(path, os.O_WRONLY | os.O_CREAT | mode | system, 0o666)
    try:
        size, rest = os.fstat(file).st_size, memoryview(content)
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            # Take back what was written, unless another process has appended behind it.
            with suppress(OSError):
                if os.fstat(file).st_size == size + len(content) - len(rest):
                    os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


def storage_error(path: Path, error: OSError) -> StorageError:
    """The error for a file that cannot be written, with the remedy."""
    if isinstance(error, StorageError):
        return error
    remedy = _REMEDIES.get(error.errno or 0, "solve that")
    return StorageError(
        f"cannot write {path} ({error.strerror or error}): {remedy}, then start again; what was "
        "saved before is whole"
    )
