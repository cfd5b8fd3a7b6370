"""Memory: how much is free, arrays that do not fit, and arrays that nobody may write into."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

_Value = TypeVar("_Value")

_SYSTEM = Path("/proc/meminfo")
#: Limits of the container, if this process is in one (cgroup v2).
_CONTAINER = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """How many bytes are free both in the system and in this container; infinite if nobody knows.

    Only Linux tells. Cached pages of files that the system can drop count as free.
    """
    free = math.inf
    if _SYSTEM.exists():
        free = 1024 * _numbers(_SYSTEM).get("MemAvailable:", math.inf)
    try:
        limit, used = (
            int((_CONTAINER / f"memory.{name}").read_text(encoding="ascii"))
            for name in ("max", "current")
        )
        files = _numbers(_CONTAINER / "memory.stat").get("inactive_file", 0)
    except (OSError, ValueError):  # no limit (its text is "max"), or no container
        return free
    return min(free, max(0, limit - used + files))


def require_memory(what: str, needed: int) -> None:
    """Raise ``ValueError`` if fewer than ``needed`` bytes are free.

    Use it for arrays that are filled at once; for others see `zeros`.

    Args:
        what: the thing that takes them; the message begins with it.
        needed: number of bytes.
    """
    free = available_memory()
    if needed > free:
        raise ValueError(
            f"{what} would take {needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB "
            "are free: ask for less"
        )


def zeros(what: str, shape: Any, dtype: Any) -> np.ndarray:
    """An array of zeros, whose memory the system provides only as it is written.

    Raises:
        ValueError: the system cannot reserve that much; the message begins with ``what``.
    """
    try:
        return np.zeros(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        raise ValueError(f"{what} is more memory than there is: ask for less") from None


def _numbers(path: Path) -> dict[str, int]:
    """The numbers in a file of the system, by the words before them; other lines are skipped."""
    lines = (
        line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines()
    )
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def read_only(array: np.ndarray) -> np.ndarray:
    """A view of an array, for callers: it shows what the array holds, and takes no writes."""
    view = array.view()
    view.flags.writeable = False
    return view


def sealed(value: _Value) -> _Value:
    """The value itself, after all of its arrays have become read-only.

    They are found in tuples, lists, dicts and dataclasses too.
    """
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, dict):
        for each in value.values():
            sealed(each)
    elif isinstance(value, list | tuple):
        for each in value:
            sealed(each)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            sealed(getattr(value, field.name))
    return value
