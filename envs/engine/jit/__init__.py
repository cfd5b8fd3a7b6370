"""The only door to the compiler: `kernel` compiles what Python calls, `part` what kernels call.

Behind it are two ways. `linked` knows numba's insides, compiles twice as fast and keeps kernels on
disk, in `disk_cache`. `plain` needs documented names only, and takes its place with a warning where
the installed numba is not one that `private` knows. Networks, and modules for other machines, write
instructions of their own: they import `linked` and `private`, and need a known numba.
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

__all__ = ["COMPILES", "SOURCES", "is_jitted", "kernel", "on_compile", "part"]

#: False with ``NUMBA_DISABLE_JIT=1``: all functions stay plain Python.
COMPILES = not config.DISABLE_JIT  # type: ignore[attr-defined]

#: What decides, beside a function's own source, how it is compiled.
SOURCES = tuple(sorted(Path(__file__).parent.glob("*.py")))


def kernel(function: Any, name: str, sources: str) -> Callable:
    """Compile an entry point, which Python calls.

    Args:
        function: what to compile. Its ``__qualname__`` must be no other function's.
        name: what its files on disk are called.
        sources: a digest of all that it is made of.
    """
    return _way.kernel(function, name, sources) if COMPILES else function


def part(function: Any, forceinline: bool = False, disjoint: bool = False) -> Any:
    """Compile what kernels call. Python can call it too, and then it is compiled for that.

    Args:
        function: what to compile.
        forceinline: it becomes part of each caller's body.
        disjoint: its array and record arguments never overlap. It is optimised on its own before
            it goes into its callers, who know less about their arguments.
    """
    return _way.part(function, forceinline, disjoint) if COMPILES else function


def on_compile(call: Callable[[Any], None]) -> None:
    """From now on call this with each kernel's Python function before it is compiled."""
    _way.on_compile(call)
