"""Compiles with documented names of numba only: games play with any version of it.

Slower than `linked`: each function is compiled on its own, and again in every process. Nothing is
kept on disk, because numba's own cache would mix up the records of two games, see `private`.
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
    """Compile what kernels call; what is promised of it makes no difference here."""
    return _compiled(function)


def on_compile(call: Callable[[Any], None]) -> None:
    """Announce nothing: the warning about numba's version did."""
