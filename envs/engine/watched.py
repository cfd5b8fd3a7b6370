"""Views of records and arrays, for rules in plain Python, that refuse indices below 0.

numpy and compiled code count such an index from the end, so a step over an edge of the board
silently ends on the other side. The views also note which fields of a record a call reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

#: Attributes of a field whose use reads none of its entries.
_UNREAD = {"dtype", "fill", "name", "ndim", "reads", "shape", "size"}


class Reads:
    """What one call of a rule reads of a record.

    Attributes:
        fields: the fields that it reads, other than entries that it has written before.
    """

    def __init__(self) -> None:
        self.fields: set[str] = set()
        self._written: set[tuple[str, Any]] = set()  # fields with indices of entries
        self._replaced: set[str] = set()  # fields that were written as a whole

    def read(self, field: str, index: Any = ...) -> None:
        """Note that an entry of a field is read, or some entries if the index is not a number."""
        if field not in self._replaced and not (
            _is_number(index) and (field, index) in self._written
        ):
            self.fields.add(field)

    def write(self, field: str, index: Any = ...) -> None:
        """Note that an entry of a field, or every entry, is written; slices are not tracked."""
        if _is_number(index):
            self._written.add((field, index))
        elif _is_everything(index):
            self._replaced.add(field)


def watched(value: Any, reads: Reads | None = None) -> Any:
    """A view of a record or an array that refuses indices below 0; any other value as it is.

    Args:
        value: the record, array, or other value.
        reads: notes what is read of a record.
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
        if self._reads is None:
            return watched(value)
        if isinstance(value, np.ndarray):
            field = value.view(_Field)
            field.name, field.reads = name, self._reads
            return field
        self._reads.read(name)
        return value


class _Array(np.ndarray):
    """An array that refuses indices below 0."""

    def __getitem__(self, index: Any) -> Any:
        _refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _refuse_negative(index)
        super().__setitem__(index, value)


class _Field(_Array):
    """An array in a record, which reports reads and writes; arrays sliced from it do not.

    Attributes:
        name: the name of the field.
        reads: notes what is read and written.
    """

    name: str
    reads: Reads

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in _UNREAD:
            return super().__getattribute__(name)
        self.reads.read(self.name)
        return getattr(self._array(), name)

    def __getitem__(self, index: Any) -> Any:
        self.reads.read(self.name, index)
        return self._array()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        _note_reads([value])
        self._array()[index] = value
        self.reads.write(self.name, index)

    def _array(self) -> _Array:
        """The same entries, in an array that reports nothing."""
        return np.asarray(self).view(_Array)

    def fill(self, value: Any) -> None:
        """Write ``value`` everywhere."""
        self[...] = value

    def __array_function__(self, function: Any, types: Any, given: Any, settings: Any) -> Any:
        """Call a function of numpy, which reads the arrays that it is given."""
        _note_reads([self, *given, *settings.values()])
        return super().__array_function__(function, types, given, settings)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        """Compute with whole arrays, all of which are read."""
        _note_reads(inputs)
        settings = {name: _bare(value) for name, value in settings.items()}
        found = getattr(ufunc, method)(*map(_bare, inputs), **settings)
        return tuple(map(watched, found)) if isinstance(found, tuple) else watched(found)


def _note_reads(values: Iterable[Any]) -> None:
    """Note that all entries of those values that are fields are read."""
    for value in values:
        if isinstance(value, _Field):
            value.reads.read(value.name)


def _bare(value: Any) -> Any:
    """A watched array, or each in a tuple, as a plain array; any other value as it is."""
    if isinstance(value, tuple):
        return tuple(map(_bare, value))
    return np.asarray(value) if isinstance(value, _Array) else value


def _is_number(index: Any) -> bool:
    numbers = index if isinstance(index, tuple) else (index,)
    return all(isinstance(number, int | np.integer) for number in numbers)


def _is_everything(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is ... or (isinstance(part, slice) and part == slice(None)) for part in parts)


def _refuse_negative(index: Any) -> None:
    for number in index if isinstance(index, tuple) else (index,):
        if isinstance(number, int | np.integer) and number < 0:
            raise IndexError(f"index {number} is below 0, and would count from the end")
