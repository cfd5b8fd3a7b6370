"""The weights of a checkpoint as numpy's arrays, read without torch.

A file is checked as `ludarium.models.checkpoint` describes. Networks of the user's own are for that
module: their weights are known to their class alone.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .header import CheckpointHeader, description_of, header_of, naming, open_file
from .layers import weight_shapes

CHECKSUM = "sha256"  # its key in the description


@dataclass(frozen=True)
class StoredNetwork(CheckpointHeader):
    """A checkpoint's description and weights.

    Attributes:
        weights: arrays by name.
    """

    weights: dict[str, np.ndarray] = field(repr=False, compare=False)


def load_weights(path: str | os.PathLike[str]) -> StoredNetwork:
    """Read a checkpoint of a network of this package.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint of this program, is damaged, or holds a network of
            someone's own; the message names the file and says what is wrong, in a few hundred
            characters.
    """
    with naming(Path(path)), open_file(Path(path), "np") as file:
        description, names = description_of(file), file.keys()
        header = header_of(description, len(names))
        if header.architecture.module is not None:
            raise ValueError(
                f"it holds a network of someone's own, {header.architecture.module!r:.100}, which "
                "needs torch"
            )
        _check_shapes(file, set(names), weight_shapes(header.shape, header.architecture))
        weights = {name: file.get_tensor(name) for name in names}
        raw = ((name, array.tobytes()) for name, array in sorted(weights.items()))
        if checksum_of(description, raw) != description.get(CHECKSUM):
            raise ValueError("it is damaged: description and weights do not fit their checksum")
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise ValueError(f"its weights are damaged: {name} is not finite")
            if name.endswith("running_var") and (array < 0).any():
                raise ValueError(f"its weights are damaged: a variance in {name} is negative")
    return StoredNetwork(**vars(header), weights=weights)


def checksum_of(description: Mapping[str, Any], weights: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 of the rest of the description and of all weights, in hexadecimal.

    Args:
        description: without its checksum, or with it.
        weights: names in order, and the bytes of each tensor.
    """
    rest = {key: value for key, value in description.items() if key != CHECKSUM}
    checksum = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name, content in weights:
        checksum.update(name.encode())
        checksum.update(content)
    return checksum.hexdigest()


def _check_shapes(file: Any, found: set[str], needed: Mapping[str, tuple[int, ...]]) -> None:
    """Raise ``ValueError`` unless the tensors, still in their file, are those of the network."""
    for name in sorted(found ^ set(needed)):
        problem = "is not there" if name in needed else "is none of the network"
        raise ValueError(f"its weights do not fit its description: {name[:100]} {problem}")
    for name, shape in needed.items():
        tensor = file.get_slice(name)
        dtype = "I64" if name.endswith("num_batches_tracked") else "F32"
        if (tensor.get_dtype(), tuple(tensor.get_shape())) != (dtype, shape):
            raise ValueError(
                f"its weights do not fit its description: {name} is {tensor.get_dtype()} "
                f"{list(tensor.get_shape())} and should be {dtype} {list(shape)}"
            )
