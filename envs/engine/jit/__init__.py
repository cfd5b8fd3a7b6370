"""Compiles functions with numba: kernels, which Python calls, and parts, which kernels call.

Two modules do the work. `linked` knows numba's insides, compiles twice as fast and keeps kernels on
disk, in `disk_cache`. `plain` needs only documented names; it takes the place of `linked`, with a
warning, if `private` does not know the installed numba. The code for networks and for other
machines emits LLVM instructions: it imports `linked` and `private`, and needs a known numba.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import config
from numba.extending import is_jitted

_way: Any
try:
    from . import linked as _way
except ImportError as error:
    from . import plain as _way

    warnings.warn(
        f"games are compiled anew in each process, and networks cannot play: {error}",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "COMPILES",
    "SOURCES",
    "forget",
    "is_jitted",
    "kernel",
    "part",
    "part_of",
    "remember_source",
    "source_of",
]

#: False with ``NUMBA_DISABLE_JIT=1``: all functions stay plain Python.
COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]

#: The sources that, beside a function's own, decide how it is compiled.
SOURCES = tuple(sorted(Path(__file__).parent.glob("*.py")))


def kernel(function: Any, name: str, sources: str) -> Callable:
    """Compile an entry point, which Python calls.

    Args:
        function: the function to compile; no other function has its ``__qualname__``. If it has an
            attribute ``ludarium_subject``, a message on standard error announces the first
            compilation for that subject, a game or networks; with `plain` none does. If it has a
            function ``ludarium_is_current``, code is kept only while that is true.
        name: the beginning of the names of its files on disk.
        sources: a digest of all its sources.
    """
    return _way.kernel(function, name, sources) if COMPILES else function


def part(function: Any, forceinline: bool = False) -> Any:
    """Compile a function that kernels call. If Python calls it too, it is compiled for that also.

    Args:
        function: the function to compile, as it is defined.
        forceinline: it becomes part of each caller's body.
    """
    remember_source(function)
    return part_of(function, forceinline)


def part_of(function: Any, forceinline: bool = False, disjoint: bool = False) -> Any:
    """A `part` of a function that was defined earlier.

    Args:
        function, forceinline: as for `part`.
        disjoint: its array and record arguments never overlap. It is optimised on its own before
            it goes into its callers, who know less about their arguments.
    """
    return _way.part(function, forceinline, disjoint) if COMPILES else function


def forget(part: Any) -> None:
    """Let a part be compiled anew for the next kernel: what it reads has changed."""
    getattr(part, "_callee", part).overloads.clear()


#: Sources with their size and time, by the name of the file.
_remembered: dict[str, tuple[tuple[int, int], bytes]] = {}


def remember_source(function: Any) -> None:
    """Keep the source of a function that is just being defined, for `source_of`."""
    file = function.__code__.co_filename
    with suppress(OSError):
        status = os.stat(file)
        version = status.st_size, status.st_mtime_ns
        if file not in _remembered or _remembered[file][0] != version:
            _remembered[file] = version, Path(file).read_bytes()


def source_of(file: Path) -> bytes:
    """The content of a source when its functions were defined: people edit files meanwhile.

    A file of which no function was compiled is read now.
    """
    known = _remembered.get(str(file))
    return file.read_bytes() if known is None else known[1]
