"""Compiles with documented names of numba only, so that games work with any version of it.

It is slower than `linked`: each function is compiled on its own, and again in every process, as the
warning about numba's version says.
Nothing is kept on disk, since numba's own cache would mix up the records of two games, see
`private`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_compiled = njit(nogil=True, error_model="numpy")


def kernel(function: Any, name: str, sources: str) -> Callable:
    """Compile an entry point, which Python calls."""
    return _compiled(function)


def part(function: Any, forceinline: bool = False, disjoint: bool = False) -> Any:
    """Compile a function that kernels call; ``forceinline`` and ``disjoint`` have no effect."""
    return _compiled(function)
