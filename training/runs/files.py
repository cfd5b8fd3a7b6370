"""Durable files: written completely or not at all, and verified by their digest.

Every file that a run writes goes through this module. So the guarantees for a kill, a power cut or
a full disk are in one place, where tests can make them fail.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

#: Suffix of files and folders that are being written or removed; readers ignore them.
PARTIAL = ".partial"

_BLOCK = 1 << 20  # bytes that are hashed at a time
_REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EROFS: "make it writable",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
}


class StorageError(OSError):
    """A file cannot be written. The one-line message names the file and the remedy."""


class DamagedError(ValueError):
    """A file's content is not what was written. The one-line message names the file."""


class Digest(NamedTuple):
    """Size and hash that identify a file's content.

    Attributes:
        size: in bytes.
        sha256: hexadecimal.
    """

    size: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> Digest:
        """The digest of a file with this content."""
        return cls(len(content), hashlib.sha256(content).hexdigest())


def write_file(path: Path, content: bytes) -> Digest:
    """Replace a file atomically: a reader sees either the old or the new content.

    Raises:
        StorageError: it cannot be written; what was there before still is.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        _write(partial, content, os.O_TRUNC)
        os.replace(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        _try_to_remove(partial)
        raise _storage_error(path, error) from error
    return Digest.of(content)


def write_folder(path: Path, contents: dict[str, bytes]) -> None:
    """Replace a folder of files atomically.

    Raises:
        StorageError: it cannot be written.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        remove_folder(partial)
        os.mkdir(partial)
        for name, content in contents.items():
            _write(partial / name, content, os.O_TRUNC)
        _sync_folder(partial)
        remove_folder(path)
        os.replace(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        _try_to_remove(partial)
        raise _storage_error(path, error) from error


def append(path: Path, content: bytes) -> None:
    """Append to a file. A kill may leave part of ``content`` there.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        is_new = not path.exists()
        _write(path, content, os.O_APPEND)
        if is_new:
            _sync_folder(path.parent)
    except OSError as error:
        raise _storage_error(path, error) from error


def make_folders(path: Path) -> list[Path]:
    """Make a folder and its missing parents; return the new ones, innermost first.

    Raises:
        StorageError: it cannot be made.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        for folder in reversed(missing):
            os.mkdir(folder)
            _sync_folder(folder.parent)
    except FileExistsError:
        pass  # another process was faster
    except OSError as error:
        raise _storage_error(path, error) from error
    if not path.is_dir():
        raise StorageError(f"{path} is no folder; give another one")
    return missing


def remove_file(path: Path) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _storage_error(path, error) from error


def remove_folder(path: Path) -> None:
    """Remove a folder if it is there. A kill never leaves part of it under its name."""
    if not path.is_dir():
        return
    try:
        doomed = path
        if not path.name.endswith(PARTIAL):
            doomed = path.with_name(f"{path.name}.removed{PARTIAL}")
            remove_folder(doomed)
            os.replace(path, doomed)
        for item in doomed.iterdir():
            if item.is_dir() and not item.is_symlink():
                remove_folder(item)
            else:
                os.unlink(item)
        os.rmdir(doomed)
    except OSError as error:
        raise _storage_error(path, error) from error


def check_digest(path: Path, expected: Digest) -> None:
    """Raise `DamagedError` unless the file is there and has this digest."""
    _check_size(path, expected.size)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror})") from None
    _check_hash(path, digest.hexdigest(), expected)


def read_verified(path: Path, expected: Digest) -> bytes:
    """Read a file and verify its digest; raises `DamagedError`."""
    content = read_file(path, expected.size, exact=True)
    _check_hash(path, hashlib.sha256(content).hexdigest(), expected)
    return content


def read_file(path: Path, size: int, exact: bool = False) -> bytes:
    """Read a file of at most (or ``exact``) ``size`` bytes; raises `DamagedError`."""
    _check_size(path, size, exact)
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror})") from None


def _check_size(path: Path, size: int, exact: bool = True) -> None:
    """Raise `DamagedError` unless this is a regular file of the size."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise DamagedError(f"{path} is missing") from None
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(found.st_mode):
        raise DamagedError(f"{path} is no regular file")
    if found.st_size > size or (exact and found.st_size < size):
        limit = f"{size:,} bytes" if exact else f"at most {size:,}"
        raise DamagedError(f"{path} is damaged ({found.st_size:,} bytes instead of {limit})")


def _check_hash(path: Path, found: str, expected: Digest) -> None:
    if found != expected.sha256:
        raise DamagedError(f"{path} is damaged (its SHA-256 is another one than was saved)")


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file and flush it to the disk (fsync)."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | mode | getattr(os, "O_BINARY", 0), 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)


def _sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system supports that."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # a file system that cannot
            raise
    finally:
        os.close(folder)


def _try_to_remove(partial: Path) -> None:
    """Remove a half-written file or folder if possible, to free its space."""
    try:
        if partial.is_dir():
            remove_folder(partial)
        else:
            os.unlink(partial)
    except OSError:
        pass  # the next start removes it


def _storage_error(path: Path, error: OSError) -> StorageError:
    if isinstance(error, StorageError):
        return error
    remedy = _REMEDIES.get(error.errno or 0, "see to it")
    return StorageError(
        f"cannot write {path} ({error.strerror or error}): {remedy}, then start again; what was "
        "saved before is whole"
    )
