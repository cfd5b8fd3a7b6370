"""Tables of solved games as files in safetensors format.

A file has one array, and in its header a description, as JSON, with the SHA-256 of both.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from ludarium.base.files import load_json
from ludarium.base.messages import named, quoted
from ludarium.base.storage import cache_folder, write_whole
from ludarium.models.header import MOST_BYTES, MOST_HEADER_BYTES, open_file

_SUFFIX = ".table.safetensors"
_ARRAY, _DESCRIPTION, _CHECKSUM = "table", "description", "sha256"


def default_path(name: str) -> Path:
    """Default path of the table with this name.

    Raises:
        RuntimeError: the user has no home folder.
    """
    return cache_folder() / f"{name}{_SUFFIX}"


def write_table(
    path: str | os.PathLike[str], description: dict[str, Any], array: np.ndarray
) -> Path:
    """Write a table atomically; return the path.

    Raises:
        ValueError: the array is so large that, with a header, `read_table` might refuse the file.
        OSError: it cannot be written.
    """
    path, most = Path(path), MOST_BYTES - MOST_HEADER_BYTES
    if array.nbytes > most:
        raise ValueError(
            f"the table for {named(path)} has {array.nbytes:,} bytes; accepted: at most {most:,}: "
            "solve less of the game"
        )
    array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    text = json.dumps(description | {_CHECKSUM: _checksum(description, array)})
    write_whole(path, save({_ARRAY: array}, {_DESCRIPTION: text}))
    return path


def read_table(
    path: str | os.PathLike[str],
    dtype: Any,
    shape: tuple[int | None, ...],
    wanted: dict[str, Any],
) -> np.ndarray:
    """The array of a table, read-only.

    Compiled code that reads the array checks no bounds, so its dtype and number of axes, and each
    length that is not None, must be the expected ones.

    Args:
        path: path of the file, which may come from a stranger.
        dtype: the array's dtype.
        shape: the array's shape; None for an axis of any length.
        wanted: what the description must say; it may say more.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a table, has been changed, is for something else, or its array has
            another dtype or shape; the message names the file.
    """
    with open_file(Path(path), "np", "table") as file:
        text = (file.metadata() or {}).get(_DESCRIPTION)
        if file.keys() != [_ARRAY] or text is None:
            raise ValueError("it is not a table of a solved game")
        description: dict[str, Any] = load_json(text.encode(), "its description", dict[str, Any])
        array: np.ndarray = file.get_tensor(_ARRAY)
        if description.pop(_CHECKSUM, None) != _checksum(description, array):
            raise ValueError("it is damaged: its checksum is wrong; make it again or reinstall")
        differences = [
            f"{key} {quoted(description.get(key))} instead of {value!r}"
            for key, value in wanted.items()
            if description.get(key) != value
        ]
        if differences:
            raise ValueError(f"it is for something else: {', '.join(differences)}")
        axes = zip(shape, array.shape, strict=False)
        fits = array.ndim == len(shape) and all(want in (None, axis) for want, axis in axes)
        if array.dtype != dtype or not fits:
            raise ValueError(
                f"it has {array.dtype} of shape {array.shape}, where {np.dtype(dtype)} of shape "
                f"{shape} is needed"
            )
    array.flags.writeable = False
    return array


def _checksum(description: dict[str, Any], array: np.ndarray) -> str:
    digest = hashlib.sha256(json.dumps(description).encode())
    digest.update(array.data)
    return digest.hexdigest()
