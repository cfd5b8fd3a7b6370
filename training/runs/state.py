"""`State`: everything that a resumed run needs, and how its parts are serialised.

Nothing is pickled: the description is JSON, tensors are safetensors, arrays are uncompressed npz.
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
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

Value = TypeVar("Value")


@dataclass(frozen=True)
class State:
    """The state of a run after an iteration.

    Attributes:
        description: JSON values, such as step counts and generator states.
        tensors: of the learner, by name; see `flatten`.
        arrays: of the games in progress, by name.
        chunk: positions that this iteration played, structured [N], where later ones learn from
            them too; kept in a file of their own. None once it is read again: `RunFolder.chunk`.
        replay: iteration and number of positions, the latest of it, of each chunk that is still
            learnt from.
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


def arrays_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays as the content of an npz file."""
    stream = io.BytesIO()
    clean = {name: _padded_with_zeros(array) for name, array in arrays.items()}
    np.savez(stream, allow_pickle=False, **clean)
    return stream.getvalue()


def _padded_with_zeros(array: np.ndarray) -> np.ndarray:
    """The same records with zeros as padding between the fields.

    The padding would otherwise hold arbitrary memory. With zeros, equal records give equal bytes,
    and no foreign memory gets into a file.
    """
    if array.dtype.names is None:
        return array
    clean = np.zeros(array.shape, array.dtype)
    clean[...] = array
    return clean


def read_arrays(content: bytes) -> dict[str, np.ndarray]:
    """The arrays in the content of an npz file.

    Raises:
        ValueError: it is none of `arrays_bytes`. Nothing is unpacked, and no array is made that
            is larger than its part of the file.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            for member in file.infolist():
                if member.compress_type != zipfile.ZIP_STORED:
                    raise ValueError(f"{member.filename} is compressed")
                data = file.read(member)
                arrays[member.filename.removesuffix(".npy")] = _read_array(data)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"no arrays can be read from it ({error})") from None
    return arrays


def _read_array(content: bytes) -> np.ndarray:
    """The array in the content of an npy file."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        # Version 2 is for headers of more than 64 KiB, which no record of ours needs.
        raise ValueError(f"arrays of npy version {version} are not read")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    start = stream.tell()
    count = 1
    for length in shape:
        count *= length
    if dtype.hasobject or count * dtype.itemsize != len(content) - start or fortran:
        raise ValueError(f"{dtype} of shape {shape} is not what {len(content) - start} bytes hold")
    return np.frombuffer(content, dtype, count, start).reshape(shape).copy()


def tensors_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Tensors, wherever they are, as the content of a safetensors file."""
    return save({name: value.detach().cpu().contiguous() for name, value in tensors.items()})


def read_tensors(content: bytes) -> dict[str, Tensor]:
    """The tensors in the content of a safetensors file; ``ValueError`` if it is none."""
    try:
        return load(content)
    except SafetensorError as error:
        raise ValueError(f"no tensors can be read from it ({error})") from None


def read_json(content: bytes) -> dict[str, Any]:
    """The mapping in the content of a JSON file; ``ValueError`` if it is none."""
    try:
        data = json.loads(content)
    except RecursionError:
        raise ValueError("its JSON is nested too deep") from None
    if not isinstance(data, dict):
        raise ValueError("it holds no mapping")
    return data


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
    """Load what `optimizer_tensors` returned; learning rates and other settings stay."""
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        moments.setdefault(int(index), {})[key] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
    # The fused step ignores strides: moments must have the memory layout of their weights.
    for parameter, entry in optimizer.state.items():
        for key, value in entry.items():
            if value.shape == parameter.shape:
                entry[key] = torch.empty_like(parameter).copy_(value).detach()
