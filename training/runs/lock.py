"""A lock that gives a folder one writer at a time, and that a dead process does not hold."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from .files import StorageError

_TAKEN = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
_BEYOND = 1 << 30  # Windows: the byte that is locked, far from those that others shall read


class FolderLock:
    """A lock that one process holds until it releases it or ends, in whatever way.

    The operating system keeps the lock (``flock``; on Windows a locked byte). On file systems
    without locks the content of the file names the holder, and a holder on this machine that no
    longer runs is ignored.

    Args:
        path: the lock file; it contains the holder's process number and machine.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock; does nothing if this object already holds it.

        Raises:
            ValueError: another process holds it; the message says which.
            StorageError: the file cannot be written.
        """
        if self._file is not None:
            return
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise StorageError(
                f"cannot write {self.path} ({error.strerror}): make it writable, or give another "
                "folder"
            ) from error
        try:
            process, host = _holder(file)
            locked = _lock(file)
            if locked is None:
                locked = not _may_be_alive(process, host)
            if not locked:
                who = f"process {process} on {host}" if process else "another process"
                raise ValueError(
                    f"{self.path.parent} is in use by {who}: wait until it ends, or give another "
                    "folder"
                )
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, f"{os.getpid()} {socket.gethostname()}\n".encode())
        except OSError as error:
            os.close(file)
            raise StorageError(f"cannot write {self.path} ({error.strerror})") from error
        except ValueError:
            os.close(file)
            raise
        self._file = file

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = None


def _holder(file: int) -> tuple[int, str]:
    """Process and machine that the file names; 0 where it names none."""
    os.lseek(file, 0, os.SEEK_SET)
    process, _, host = os.read(file, 300).decode(errors="replace").partition(" ")
    known = process.isascii() and process.isdecimal() and len(process) < 20
    return (int(process), host.strip()) if known else (0, "")


def _lock(file: int) -> bool | None:
    """Whether the system grants the lock; None where the file system has no locks."""
    try:
        try:
            import fcntl
        except ImportError:
            import msvcrt

            os.lseek(file, _BEYOND, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _TAKEN else None
    return True


def _may_be_alive(process: int, host: str) -> bool:
    """Whether the process that a lock names may still be running."""
    if not process or (process == os.getpid() and host == socket.gethostname()):
        return False
    if host != socket.gethostname():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, and someone else's
    return True
