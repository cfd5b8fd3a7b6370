"""Layouts of kernels' arguments, as tuples and texts that are the same in every process.

A layout is one of

- ``("A", dtype, dimensions, is_contiguous, is_writable)``, an array; ``dtype`` a text of `text_of`;
- ``("T", kind, entries)``, a tuple, with the layouts of its entries; ``kind`` is empty, or
  ``module:name`` of a named tuple's class; tuples lie at most 8 deep in one another;
- ``("i",)`` an integer, ``("u",)`` a ``np.uint64``, ``("b",)`` a truth value, ``("f",)`` a float,
  ``("g",)`` a ``np.float32``, ``("n",)`` None.

Arguments become words of 64 bits: of an array its address, shape and strides in bytes; of None
nothing; of a number one word; the entries of a tuple follow one another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

Layout = tuple[Any, ...]

_EXAMPLES = {"n": None, "b": True, "u": np.uint64(1), "i": 1, "g": np.float32(1), "f": 1.0}


def layout_of(value: Any) -> Layout:
    """The layout of an argument.

    Raises:
        TypeError: kernels do not take such values.
    """
    if isinstance(value, np.ndarray):
        flags = value.flags
        return (
            *("A", text_of(value.dtype), value.ndim),
            *(bool(flags.c_contiguous), bool(flags.writeable)),
        )
    if isinstance(value, tuple):
        kind = type(value)
        name = "" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}"
        return ("T", name, tuple(map(layout_of, value)))
    for letter, kinds in (
        ("b", bool | np.bool_),
        ("u", np.uint64),
        ("i", int | np.integer),
        ("g", np.float32),
        ("f", float),
        ("n", type(None)),
    ):
        if isinstance(value, kinds) and not isinstance(value, np.timedelta64):
            return (letter,)
    remedy = ": pass an array of one record" if isinstance(value, np.void) else ""
    raise TypeError(
        "kernels take arrays, numbers, truth values, None and tuples of these, not "
        f"{type(value).__name__}{remedy}"
    )


def fits(given: Layout, wanted: Layout) -> bool:
    """Whether an argument of one layout may be passed where code was made for another one.

    An array that can be written may stand for one that cannot, a contiguous one for one that is
    not, and a tuple for one of another class.
    """
    if given == wanted:
        return True
    if given[0] != wanted[0]:
        return False
    if given[0] == "A":
        return given[1:3] == wanted[1:3] and given[3] >= wanted[3] and given[4] >= wanted[4]
    return bool(given[0] == "T" and all_fit(given[2], wanted[2]))


def all_fit(given: Sequence[Layout], wanted: Sequence[Layout]) -> bool:
    """Whether all arguments fit, see `fits`."""
    return len(given) == len(wanted) and all(map(fits, given, wanted))


def words_of(layout: Layout) -> int:
    """The number of words that an argument of a layout becomes.

    Raises:
        ValueError: it is no layout.
    """
    if isinstance(layout, tuple):
        match layout:
            case ("n",):
                return 0
            case ("b" | "i" | "u" | "f" | "g",):
                return 1
            case ("A", str(), int(dimensions), bool(), bool()) if 0 <= dimensions <= 32:
                return 1 + 2 * dimensions
            case ("T", _, tuple(entries)):
                return sum(map(words_of, entries))
    raise ValueError("this is no layout of a kernel's argument")


#: Texts by the identity of the dtype, which is kept so that no other one gets it. Equal dtypes may
#: differ for the compiler: numpy compares neither ``aligned`` nor ``np.record``.
_texts: dict[int, tuple[np.dtype, str]] = {}
_MOST_TEXTS = 1024


def text_of(dtype: np.dtype) -> str:
    """A dtype as text, the same in every process; `dtype_of` is its inverse.

    Raises:
        TypeError: it holds Python objects, or numbers in another byte order than this machine's.
    """
    known = _texts.get(id(dtype))
    if known is not None:
        return known[1]
    if dtype.hasobject or not dtype.isnative:
        raise TypeError(f"kernels take no arrays of {dtype}")
    text = json.dumps(_described(dtype), separators=(",", ":"))
    if len(_texts) >= _MOST_TEXTS:
        _texts.clear()
    _texts[id(dtype)] = dtype, text
    return text


def _described(dtype: np.dtype) -> Any:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [_described(base), list(shape)]
    if dtype.names is None:
        return dtype.str
    assert dtype.fields is not None
    fields = [
        [name, _described(dtype.fields[name][0]), dtype.fields[name][1]] for name in dtype.names
    ]
    return {
        "fields": fields,
        "bytes": dtype.itemsize,
        "aligned": dtype.isalignedstruct,
        "record": dtype.type is np.record,
    }


@cache
def dtype_of(text: str) -> np.dtype:
    """The dtype of a text of `text_of`."""
    return _dtype(json.loads(text))


def _dtype(described: Any) -> np.dtype:
    if isinstance(described, str):
        return np.dtype(described)
    if isinstance(described, list):
        base, shape = described
        return np.dtype((_dtype(base), tuple(shape)))
    names, formats, offsets = zip(*described["fields"], strict=True)
    layout: Any = {
        "names": names,
        "formats": [_dtype(each) for each in formats],
        "offsets": offsets,
        "itemsize": described["bytes"],
    }
    dtype = np.dtype(layout, align=described["aligned"])
    return np.dtype((np.record, dtype)) if described["record"] else dtype


def example_of(layout: Layout) -> Any:
    """An argument of a layout."""
    if layout[0] == "A":
        _, text, dimensions, is_contiguous, is_writable = layout
        array = np.zeros((4,) * dimensions, dtype_of(text))
        if not is_contiguous:
            array = array[(slice(None, None, 2),) * dimensions]
        array.flags.writeable = is_writable
        return array
    if layout[0] == "T":
        entries = tuple(map(example_of, layout[2]))
        module, _, name = layout[1].partition(":")
        return getattr(import_module(module), name)(*entries) if name else entries
    return _EXAMPLES[layout[0]]
