"""Layouts of kernels' arguments, as tuples and text that are the same in every process."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

Layout = tuple[Any, ...]


def layout_of(value: Any) -> Layout:
    if value is None:
        return ("n",)
    if isinstance(value, np.ndarray):
        f = value.flags
        return ("A", text_of(value.dtype), value.ndim, bool(f.c_contiguous), bool(f.writeable))
    if isinstance(value, tuple):
        kind = type(value)
        name = "" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}"
        return ("T", name, tuple(map(layout_of, value)))
    if isinstance(value, bool | np.bool_):
        return ("b",)
    if isinstance(value, np.uint64):
        return ("u",)
    if isinstance(value, int | np.integer):
        return ("i",)
    if isinstance(value, np.float32):
        return ("g",)
    if isinstance(value, float):
        return ("f",)
    raise TypeError(f"kernels take arrays, numbers, None and tuples of these, not {type(value)}")


@cache
def text_of(dtype):
    return json.dumps(_entry(dtype), separators=(",", ":"))


def _entry(d):
    if d.subdtype:
        base, shape = d.subdtype
        return ["sub", _entry(base), list(shape)]
    if d.names is None:
        return d.str
    fields = [[n, _entry(d.fields[n][0]), d.fields[n][1]] for n in d.names]
    return ["rec" if d.type is np.record else "void", fields, d.itemsize, d.isalignedstruct]


@cache
def dtype_of(text):
    return _dtype(json.loads(text))


def _dtype(e):
    if isinstance(e, str):
        return np.dtype(e)
    if e[0] == "sub":
        return np.dtype((_dtype(e[1]), tuple(e[2])))
    _, fields, size, aligned = e
    d = np.dtype(
        {
            "names": [f[0] for f in fields],
            "formats": [_dtype(f[1]) for f in fields],
            "offsets": [f[2] for f in fields],
            "itemsize": size,
        },
        align=aligned,
    )
    return np.dtype((np.record, d)) if e[0] == "rec" else d


def example_of(layout):
    k = layout[0]
    if k == "A":
        _, text, ndim, contiguous, writable = layout
        a = np.zeros((2,) * ndim, dtype_of(text))
        if not contiguous:
            a = np.zeros((4,) * ndim, dtype_of(text))[(slice(None, None, 2),) * ndim]
        a.flags.writeable = writable
        return a
    if k == "T":
        entries = tuple(map(example_of, layout[2]))
        if not layout[1]:
            return entries
        module, _, name = layout[1].partition(":")
        return getattr(import_module(module), name)(*entries)
    return {"n": None, "b": True, "u": np.uint64(1), "i": 1, "g": np.float32(1), "f": 1.0}[k]


def words_of(layout):
    if layout[0] == "A":
        return 1 + 2 * layout[2]
    if layout[0] == "T":
        return sum(map(words_of, layout[2]))
    return 0 if layout[0] == "n" else 1
