"""`State`: everything that a resumed run needs, and its file, which leaves out the replay.

The file is a zip without compression: JSON, tensors as safetensors, arrays as npy. Its comment is
the SHA-256 of everything before it, so any change is recognised. Nothing is pickled.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from ludarium.base.files import sha256_of

Value = TypeVar("Value")

_DIGEST = 64  # characters of a SHA-256
_ARRAYS = "arrays"  # folder within the file


@dataclass(frozen=True)
class State:
    """The state of a run after an iteration.

    Attributes:
        description: JSON values, such as step counts and generator states.
        tensors: the learner's tensors by name, see `flatten`.
        arrays: arrays of the games in progress, by name.
        chunk: positions that this iteration added to the replay, structured [N]; None without a
            replay. They are saved in a separate file, which `RunFolder.chunk` reads; so None
            after resuming too.
        replay: for each chunk still in use its iteration, and how many of its positions are in use,
            which are its last ones.
    """

    description: dict[str, Any]
    tensors: dict[str, Tensor]
    arrays: dict[str, np.ndarray]
    chunk: np.ndarray | None = None
    replay: list[tuple[int, int]] = field(default_factory=list)


def array_bytes(array: np.ndarray) -> bytes:
    """An array as the content of an npy file."""
    stream = io.BytesIO()
    np.save(stream, _padded_with_zeros(array), allow_pickle=False)
    return stream.getvalue()


def _padded_with_zeros(array: np.ndarray) -> np.ndarray:
    """The same records with zeros as padding between the fields.

    The padding could otherwise hold arbitrary memory. With zeros, equal records give equal bytes,
    and no foreign memory gets into a file.
    """
    if array.dtype.names is None:
        return array
    clean = np.zeros(array.shape, array.dtype)
    clean[...] = array
    return clean


def pack_state(state: State, description: Mapping[str, Any]) -> bytes:
    """The content of a state's file.

    Args:
        state: the state; its chunk, and the list of chunks, are left out.
        description: JSON values that are stored instead of the state's own.
    """
    tensors = {  # copies, because tied weights must not share memory in a file
        name: each.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, each in state.tensors.items()
    }
    members = {
        "state.json": json.dumps(description).encode(),
        "tensors.safetensors": save(tensors),
        **{f"{_ARRAYS}/{name}.npy": array_bytes(array) for name, array in state.arrays.items()},
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content)
        file.comment = bytes(_DIGEST)
    content = stream.getvalue()[:-_DIGEST]
    return content + sha256_of(content).encode()


def unpack_state(content: bytes) -> State:
    """The state from which `pack_state` made this content.

    Raises:
        ValueError: the content has changed since.
    """
    if sha256_of(content[:-_DIGEST]).encode() != content[-_DIGEST:]:
        raise ValueError("its content does not match its SHA-256")
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    description = json.loads(members.pop("state.json"))
    tensors = load(members.pop("tensors.safetensors"))
    arrays = {
        name.removesuffix(".npy"): np.load(io.BytesIO(members.pop(f"{_ARRAYS}/{name}")))
        for name in unflatten(members, _ARRAYS, "/")
    }
    return State(description, tensors, arrays)


def flatten(groups: Mapping[Any, Mapping[str, Value]], separator: str = ".") -> dict[str, Value]:
    """Merge groups, such as tensors or arrays, into one mapping with keys ``group.name``."""
    return {
        f"{group}{separator}{name}": value
        for group, values in groups.items()
        for name, value in values.items()
    }


def unflatten(flat: Mapping[str, Value], group: Any, separator: str = ".") -> dict[str, Value]:
    """One group of a mapping made by `flatten`; empty if it has no such group."""
    start = f"{group}{separator}"
    return {
        name.removeprefix(start): value for name, value in flat.items() if name.startswith(start)
    }


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments and step counts, as ``parameter.name``."""
    return flatten(optimizer.state_dict()["state"])


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load tensors of `optimizer_tensors`; learning rates and other settings stay."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        moments.setdefault(int(index), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
    # The fused step ignores strides: moments need the memory layout of their weights.
    for parameter, entry in optimizer.state.items():
        for key, value in entry.items():
            if value.shape == parameter.shape:
                entry[key] = torch.empty_like(parameter).copy_(value).detach()
