"""Tables of solved games as files: a description and one array.

A file holds, one after the other,

- 16 bytes that say what it is;
- the SHA-256 of all that follows, 32 bytes;
- the length of the description, 8 bytes with the lowest first;
- the description, JSON, with spaces after it until the array begins at a multiple of 64 bytes;
- the array in C order, little-endian; the description has its dtype and shape.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.envs.engine.files import load_json, open_regular_file
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.storage import cache_folder, take_place, writing

_MAGIC = b"ludarium table 1"
_PREFIX = len(_MAGIC) + 32 + 8
_ALIGNMENT = 64
_LARGEST_FILE = 2**32
_LARGEST_DESCRIPTION = 2**16
_KIND = "a table of a solved game"


def default_path(name: str) -> Path:
    """Default path of the table called ``name``."""
    return cache_folder() / f"{name}.table"


def write_table(
    path: str | os.PathLike[str], description: dict[str, Any], array: np.ndarray
) -> Path:
    """Write a table atomically; return the path."""
    path = Path(path)
    stored = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    layout = {"dtype": stored.dtype.str, "shape": stored.shape}
    text = json.dumps(description | {"array": layout}).encode()
    text += b" " * (-(_PREFIX + len(text)) % _ALIGNMENT)
    length = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(length + text)
    digest.update(stored.data)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for piece in (_MAGIC, digest.digest(), length, text, stored.data):
                    file.write(piece)
            os.chmod(partial, 0o644)
            take_place(Path(partial), path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(partial)
            raise
    return path


def read_table(
    path: str | os.PathLike[str], dtype: Any, shape: tuple[int | None, ...]
) -> tuple[dict[str, Any], np.ndarray]:
    """The description and the array of a table; the array is read-only.

    It stays in the file, but for Windows, which lets nobody replace a file that is mapped.

    Compiled code that looks up in the array checks no bounds: so its dtype and shape are not
    taken from the file, but must be those that are asked for.

    Args:
        path: of the file, which may come from a stranger.
        dtype: of the array.
        shape: of the array; None for an axis of any length.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no table, not as it was written, or has another array; the message
            names it.
    """
    name = quoted(os.fspath(path), 100)
    with open_regular_file(path, _LARGEST_FILE, _KIND) as file:
        size = os.fstat(file.fileno()).st_size
        if size < _PREFIX:
            raise ValueError(f"{name} is no table of a solved game: it is too short")
        if sys.platform == "win32":
            content = np.frombuffer(file.read(size), np.uint8)
        else:
            content = np.memmap(file, np.uint8, mode="r")
    if content[: len(_MAGIC)].tobytes() != _MAGIC:
        raise ValueError(f"{name} is no table of a solved game that this program can read")
    body = _PREFIX - 8
    expected = content[len(_MAGIC) : body].tobytes()
    if hashlib.sha256(content.data[body:]).digest() != expected:
        raise ValueError(f"the table {name} is damaged: its checksum is wrong; solve again")
    length = int.from_bytes(content[body:_PREFIX].tobytes(), "little")
    if length > min(_LARGEST_DESCRIPTION, size - _PREFIX):
        raise ValueError(f"the table {name} has a description of {length:,} bytes, too many")
    begin = _PREFIX + length
    description = load_json(
        content[_PREFIX:begin].tobytes(), f"the description of the table {name}"
    )
    if not isinstance(description, dict):
        raise ValueError(f"the description of the table {name} is {quoted(description)}")
    layout = description.pop("array", None)
    return description, _array(content[begin:], layout, np.dtype(dtype), shape, name)


def _array(
    content: np.ndarray, layout: Any, dtype: np.dtype, shape: tuple[int | None, ...], name: str
) -> np.ndarray:
    """The bytes as the array that is asked for, if the file says the same and has as many."""
    wanted = dtype.newbyteorder("<").str
    found = layout if isinstance(layout, dict) else {}
    axes: Any = found.get("shape")
    fits = (
        found.get("dtype") == wanted
        and isinstance(axes, list)
        and len(axes) == len(shape)
        and all(type(axis) is int and axis >= 0 for axis in axes)
        and all(want in (None, axis) for axis, want in zip(axes, shape, strict=True))
    )
    if not fits or math.prod(axes) * dtype.itemsize != len(content):
        raise ValueError(
            f"the table {name} has {len(content):,} bytes of {quoted(layout, 100)}, where "
            f"{wanted} of shape {shape} is needed"
        )
    return np.asarray(content).view(wanted).reshape(axes)
