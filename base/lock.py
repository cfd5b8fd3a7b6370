"""A lock that gives a folder or a file one writer at a time; the end of the process releases it."""

from __future__ import annotations

import os
import re
import socket
import stat
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor

from .durable import StorageError, storage_error

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_LONGEST = 300  # bytes of a lock file
_HOLDER = re.compile(r"(\d+)\s+(\S+)\s*")  # process and machine


class WriterLock:
    """A lock that one process holds until it releases it or ends, however it ends.

    Args:
        path: the lock file; it contains the holder's process number and machine.
        of: the file that it gives one writer; None: the folder of ``path``.
    """

    def __init__(self, path: Path, of: Path | None = None) -> None:
        self.path = path
        self._of = of or path.parent
        self._another = "another file" if of else "another folder"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock; this does nothing if the object already holds it.

        Raises:
            ValueError: another process holds the lock, and the message names the process if the
                file can be read; or this program did not write the file, which is left alone.
            StorageError: the file cannot be written, is a link, or its file system has no locks.
        """
        if self._file is not None:
            return
        try:
            file = os.open(self.path, _FLAGS, 0o666)
            try:
                self._take(file)
            except BaseException:
                os.close(file)
                raise
        except OSError as error:
            raise storage_error(self.path, error) from error
        self._file = file

    def _take(self, file: int) -> None:
        """Lock the open file, and write down its holder."""
        found, text = os.fstat(file), ""
        is_lock = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_size <= _LONGEST
        with suppress(PermissionError):  # Windows forbids reading what another process has locked
            text = os.read(file, _LONGEST).decode(errors="replace") if is_lock else ""
        holder = _HOLDER.fullmatch(text)
        if not is_lock or (text and holder is None):
            raise ValueError(
                f"{self.path} is not a lock that this program wrote: move it away, or give "
                f"{self._another}"
            )
        if not lock_descriptor(file, blocking=False):
            who = f"process {holder[1]} on {holder[2]}" if holder else "another process"
            raise ValueError(
                f"{self._of} is in use by {who}: wait until it ends, or give {self._another}"
            )
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, f"{os.getpid()} {socket.gethostname()}\n".encode())

    def check(self) -> None:
        """Raise `StorageError` if the lock file is no longer the one that was locked."""
        assert self._file is not None, "only the holder of the lock calls this"
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(os.fstat(self._file), os.lstat(self.path)):
                return
        raise StorageError(
            f"{self._of} was moved or replaced while it was in use (its lock is another file, or "
            "gone): what was saved is whole; start again with its present name"
        )

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
