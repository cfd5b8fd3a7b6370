"""Records and arrays for checks of rules in plain Python: an index below 0 is an error in them.

numpy and compiled code count such an index from the end, so a step over an edge of the board
silently ends on the other side. They also note which fields of a record a call reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_Entry = tuple[str, Any]  # field and index; the index is None for a field that is one number


class Reads:
    """What one call of a rule reads of a record.

    Attributes:
        fields: the fields of which it reads something that it has not written itself.
    """

    def __init__(self) -> None:
        self.fields: set[str] = set()
        self._written: set[_Entry] = set()

    def read(self, field: str, index: Any = None) -> None:
        """Note that an entry of a field is read, or, if the index is no number, some of them."""
        if not _is_number(index) or (field, index) not in self._written:
            self.fields.add(field)

    def write(self, field: str, index: Any = None) -> None:
        """Note that an entry of a field is written."""
        if _is_number(index):
            self._written.add((field, index))


def watched(value: Any, reads: Reads | None = None) -> Any:
    """A view of a record or an array that refuses indices below 0; any other value as it is.

    Args:
        value: the record, array, or other value.
        reads: is told what is read of a record.
    """
    if isinstance(value, np.void):
        return _Record(value, reads)
    return value.view(_Array) if isinstance(value, np.ndarray) else value


class _Record:
    """A record whose arrays are watched."""

    __slots__ = ("_reads", "_record")

    def __init__(self, record: np.void, reads: Reads | None) -> None:
        object.__setattr__(self, "_record", record)
        object.__setattr__(self, "_reads", reads)

    def __getattr__(self, name: str) -> Any:
        return self._watched(name, getattr(self._record, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._record, name, value)
        if self._reads is not None:
            self._reads.write(name)

    def __getitem__(self, name: str) -> Any:
        return self._watched(name, self._record[name])

    def __setitem__(self, name: str, value: Any) -> None:
        self._record[name] = value
        if self._reads is not None:
            self._reads.write(name)

    def _watched(self, name: str, value: Any) -> Any:
        value = watched(value)
        if isinstance(value, _Array):
            value.field, value.reads = name, self._reads
        elif self._reads is not None:
            self._reads.read(name)
        return value


class _Array(np.ndarray):
    """An array that refuses indices below 0.

    Attributes:
        field: the field of a record that it is.
        reads: is told what is read of it.
    """

    field = ""
    reads: Reads | None = None

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index)
        if self.reads is not None:
            self.reads.read(self.field, index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(index)
        super().__setitem__(index, value)
        if self.reads is not None:
            self.reads.write(self.field, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """Compute with whole arrays, all of which are read."""
        for value in inputs:
            if isinstance(value, _Array) and value.reads is not None:
                value.reads.read(value.field, ...)
        if "out" in settings:
            settings["out"] = tuple(map(_bare, settings["out"]))
        return watched(getattr(ufunc, method)(*map(_bare, inputs), **settings))


def _bare(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, _Array) else value


def _is_number(index: Any) -> bool:
    numbers = index if isinstance(index, tuple) else (index,)
    return all(number is None or isinstance(number, int | np.integer) for number in numbers)


def _refuse_negative(index: Any) -> None:
    for number in index if isinstance(index, tuple) else (index,):
        if isinstance(number, int | np.integer) and number < 0:
            raise IndexError(f"index {number} is below 0, and would count from the end")
