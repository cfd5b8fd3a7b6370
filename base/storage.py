"""Where a user's files are kept, and how a file takes another's place, on every system."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Seconds between attempts on Windows, where a virus scanner holds a new file open for a moment.
PAUSES = (0.01, 0.03, 0.1, 0.3, 1.0)


def cache_folder() -> Path:
    """The user's folder for files that this program makes and can make again.

    On macOS it is ``~/Library/Caches/ludarium``. Elsewhere it is ``ludarium`` in the folder that
    ``$XDG_CACHE_HOME`` names, on Windows ``%LOCALAPPDATA%``; without that ``~/.cache/ludarium``.

    Raises:
        RuntimeError: the user has no home folder.
    """
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ludarium"
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "ludarium"


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """A context in which a file is written: an ``OSError`` becomes one that names the file.

    Raises:
        OSError: as it was raised in the context, with another message.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise type(error)(f"cannot write {os.fspath(path)} ({reason})") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A context that yields a path to write to; at the end that file replaces ``path``.

    The new file is flushed to the disk first. If writing fails, ``path`` stays as it was; of
    several processes the last one wins. Missing parents are made.

    Raises:
        OSError: it cannot be written, or ``path`` is something other than a file; the message
            names ``path``.
    """
    with writing(path):
        if path.exists() and not path.is_file():
            raise OSError("it is not a regular file; name another one")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(".partial", "ludarium-", path.parent) as folder:
            partial = Path(folder, path.name)
            yield partial
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            take_place(partial, path)
            sync_folder(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file's content, see `replacing`, also for the errors."""
    with replacing(path) as partial:
        partial.write_bytes(content)


def take_place(source: Path, target: Path) -> None:
    """Rename a file or folder; an existing file is replaced.

    Windows refuses while another program has either open; then this retries for a second and a
    half before it raises the error.

    Raises:
        OSError: as `os.replace` raises it.
    """
    for pause in PAUSES if sys.platform == "win32" else ():
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    os.replace(source, target)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system supports that.

    Raises:
        OSError: the folder cannot be opened or flushed.
    """
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):  # the file system cannot do it
            raise
    finally:
        os.close(folder)
