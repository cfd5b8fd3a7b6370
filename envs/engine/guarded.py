"""Views of records and arrays, for rules in plain Python, that refuse numbers below 0 as indices.

numpy and compiled code count such an index from the end, so a step over an edge of the board
silently ends on the other side. Slices and arrays of indices are not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def guarded(value: Any) -> Any:
    """Such a view of a record or an array; any other value as it is."""
    if isinstance(value, np.void):
        return _Record(value)
    return value.view(_Array) if isinstance(value, np.ndarray) else value


class _Record:
    """A record whose arrays are guarded."""

    __slots__ = ("_record",)

    def __init__(self, record: np.void) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        return guarded(getattr(self._record, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._record, name, value)

    __getitem__, __setitem__ = __getattr__, __setattr__  # rules may write state["ply"] too

    def __repr__(self) -> str:
        return repr(self._record)


class _Array(np.ndarray):
    """An array that refuses a number below 0 as an index, alone or in a tuple."""

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(index)
        super().__setitem__(index, value)

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))  # numpy prints by indices below 0

    def __str__(self) -> str:
        return str(self.view(np.ndarray))


def _refuse_negative(index: Any) -> None:
    for number in index if isinstance(index, tuple) else (index,):
        if isinstance(number, int | np.integer) and number < 0:
            raise IndexError(f"index {number} is below 0, and would count from the end")
