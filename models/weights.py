"""The weights of a checkpoint as numpy arrays, read without torch.

This is the one reader of the networks of this package: `ludarium.models.checkpoint` makes a torch
module of what it returns. Custom networks are loaded only by that module, because the names and
shapes of their weights follow from their class.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .header import CheckpointHeader, open_checkpoint
from .layers import answers, layers, member_weights, weight_shapes

CHECKSUM = "sha256"  # key of the checksum in the description


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
        ValueError: the file is not a checkpoint of this program, is damaged, or holds a custom
            network; the message names the file and says what is wrong, in a few hundred
            characters.
    """
    with open_checkpoint(path, "np") as (file, description, header):
        if header.architecture.module is not None:
            raise ValueError(
                f"it holds a custom network, {header.architecture.module!r:.100}, which needs torch"
            )
        needed = {
            name: ("I64" if name.endswith("num_batches_tracked") else "F32", shape)
            for name, shape in weight_shapes(header.shape, header.architecture).items()
        }
        weights = read_tensors(file, description, needed, np.ndarray.tobytes)
        for name, array in weights.items():
            if not np.isfinite(array).all():
                raise ValueError(f"its weights are damaged: {name} is not finite")
            if name.endswith("running_var") and (array < 0).any():
                raise ValueError(f"its weights are damaged: a variance in {name} is negative")
        _check_answers(weights, header)
    return StoredNetwork(**vars(header), weights=weights)


def _check_answers(weights: dict[str, np.ndarray], header: CheckpointHeader) -> None:
    """Raise ``ValueError`` unless a network's answers are finite."""
    if header.variants:
        features = [0.0] * header.architecture.options["features"]
        weights = member_weights(weights, header.shape, header.shape, features)
    observations = np.zeros((2, *header.shape.observation), np.float32)
    observations[1] = 1
    with np.errstate(all="ignore"):
        found = answers(layers(weights, header.shape), observations)
    if not all(np.isfinite(answer).all() for answer in found):
        raise ValueError("its weights are damaged: the network's answers are not finite")


def read_tensors(
    file: Any,
    description: Mapping[str, Any],
    needed: Mapping[str, tuple[str, tuple[int, ...]]],
    to_bytes: Callable[[Any], bytes],
) -> dict[str, Any]:
    """The tensors of a checkpoint's file, after checks that they fit the network.

    Args:
        file: the open file.
        description: the description in it.
        needed: dtype, as the format names it, and shape of each tensor.
        to_bytes: function that returns the bytes of a tensor.

    Raises:
        ValueError: they fit another network, or are damaged.
    """
    for name in sorted(set(file.keys()) ^ set(needed)):
        problem = "is missing" if name in needed else "is not a weight of the network"
        raise ValueError(f"its weights do not fit its description: {name[:100]} {problem}")
    for name, (dtype, shape) in needed.items():
        tensor = file.get_slice(name)
        if (tensor.get_dtype(), tuple(tensor.get_shape())) != (dtype, shape):
            raise ValueError(
                f"its weights do not fit its description: {name} is {tensor.get_dtype()} "
                f"{list(tensor.get_shape())} and should be {dtype} {list(shape)}"
            )
    weights = {name: file.get_tensor(name) for name in needed}
    if checksum_of(description, weights, to_bytes) != description.get(CHECKSUM):
        raise ValueError("it is damaged: description and weights do not fit their checksum")
    return weights


def checksum_of(
    description: Mapping[str, Any], weights: Mapping[str, Any], to_bytes: Callable[[Any], bytes]
) -> str:
    """SHA-256 of the description without `CHECKSUM`, and of all weights, in hexadecimal."""
    rest = {key: value for key, value in description.items() if key != CHECKSUM}
    checksum = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(weights):
        checksum.update(name.encode())
        checksum.update(to_bytes(weights[name]))
    return checksum.hexdigest()
