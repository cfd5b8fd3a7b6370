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
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

_MAGIC = b"ludarium table 1"
_PREFIX = len(_MAGIC) + 32 + 8
_ALIGNMENT = 64


def default_path(name: str) -> Path:
    """Where the table called ``name`` is kept: in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "ludarium" / f"{name}.table"


def write_table(
    path: str | os.PathLike[str], description: dict[str, Any], array: np.ndarray
) -> Path:
    """Write a table; a reader, or a crash, never sees half a file. Returns the path."""
    path = Path(path)
    stored = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    layout = {"dtype": stored.dtype.str, "shape": stored.shape}
    text = json.dumps(description | {"array": layout}).encode()
    text += b" " * (-(_PREFIX + len(text)) % _ALIGNMENT)
    length = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(length + text)
    digest.update(stored.data)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in (_MAGIC, digest.digest(), length, text, stored.data):
                file.write(piece)
        os.chmod(partial, 0o644)
        os.replace(partial, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise
    return path


def read_table(path: str | os.PathLike[str]) -> tuple[dict[str, Any], np.ndarray]:
    """The description and the array of a table; the array is read-only and stays in the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no table, or not as it was written; the message names it.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no table {path}")
    if path.stat().st_size < _PREFIX:
        raise ValueError(f"{path} is no table of a solved game: it is too short")
    content = np.memmap(path, np.uint8, mode="r")
    if content[: len(_MAGIC)].tobytes() != _MAGIC:
        raise ValueError(f"{path} is no table of a solved game that this program can read")
    body = _PREFIX - 8
    expected = content[len(_MAGIC) : body].tobytes()
    if hashlib.sha256(content.data[body:]).digest() != expected:
        raise ValueError(f"the table {path} is damaged: its checksum is wrong; solve again")
    begin = _PREFIX + int.from_bytes(content[body:_PREFIX].tobytes(), "little")
    description = json.loads(content[_PREFIX:begin].tobytes())
    layout = description.pop("array")
    array = np.asarray(content[begin:]).view(layout["dtype"]).reshape(layout["shape"])
    return description, array
