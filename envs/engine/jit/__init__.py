"""Compiles functions with numba: kernels, which Python calls, and parts, which kernels call.

Two modules do the work. `linked` knows numba's insides, compiles twice as fast and keeps kernels on
disk, in `disk_cache`. `plain` needs only documented names; it takes the place of `linked`, with a
warning, if `private` does not know the installed numba. The code for networks and for other
machines emits LLVM instructions: it imports `linked` and `private`, and needs a known numba.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
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

__all__ = ["COMPILES", "SOURCES", "is_jitted", "kernel", "part"]

#: False with ``NUMBA_DISABLE_JIT=1``: all functions stay plain Python.
COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]

#: The sources that, beside a function's own, decide how it is compiled.
SOURCES = tuple(sorted(Path(__file__).parent.glob("*.py")))


def kernel(function: Any, name: str, sources: str) -> Callable:
    """Compile an entry point, which Python calls.

    Args:
        function: the function to compile; no other function has its ``__qualname__``. If it has an
            attribute ``ludarium_subject``, a message on standard error announces the first
            compilation for that subject, a game or networks; with `plain` none does.
        name: the beginning of the names of its files on disk.
        sources: a digest of all its sources.
    """
    return _way.kernel(function, name, sources) if COMPILES else function


def part(function: Any, forceinline: bool = False, disjoint: bool = False) -> Any:
    """Compile a function that kernels call. If Python calls it too, it is compiled for that also.

    Args:
        function: the function to compile.
        forceinline: it becomes part of each caller's body.
        disjoint: its array and record arguments never overlap. It is optimised on its own before
            it goes into its callers, who know less about their arguments.
    """
    return _way.part(function, forceinline, disjoint) if COMPILES else function
