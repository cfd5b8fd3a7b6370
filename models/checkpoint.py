"""Checkpoints: one safetensors file with the weights, and a JSON description in its header.

Loading a stranger's checkpoint is safe: the worst that it can do is play badly. Nothing is
unpickled, and a name in a file never causes an import. The header is read first. Memory for the
weights is allocated only after their names, dtypes and shapes match the network that the
description gives and their bytes are present. A checksum of description and weights detects damage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from ludarium.envs.engine.storage import writing

from .architecture import make_network, state_types
from .header import (
    FORMAT,
    KEY,
    CheckpointHeader,
    description_of,
    header_of,
    naming,
    open_file,
)
from .network import PolicyValueNetwork
from .shape import NetworkShape
from .weights import CHECKSUM, checksum_of

SUFFIX = ".safetensors"

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}

#: Dtype and shape of a tensor.
TensorType = tuple[torch.dtype, tuple[int, ...]]


@dataclass(frozen=True)
class Checkpoint(CheckpointHeader):
    """A network and the information that is needed to use it.

    Attributes:
        network: with the weights.
    """

    network: PolicyValueNetwork = field(repr=False, compare=False)


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint atomically; return the path."""
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(checkpoint_bytes(checkpoint))
        os.replace(partial, path)
    return path


def checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    """The content of a checkpoint's file; the same checkpoint gives the same bytes."""
    description: dict[str, Any] = {
        "format": FORMAT,
        "game": checkpoint.game,
        "version": checkpoint.version,
        "options": checkpoint.options,
        "network": {"shape": asdict(checkpoint.shape), **asdict(checkpoint.architecture)},
        "step": checkpoint.step,
        "notes": checkpoint.notes,
    }
    if checkpoint.variants:
        description["variants"] = checkpoint.variants
    weights = {  # copies, since tied weights must not share memory in a file
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in checkpoint.network.state_dict().items()
    }
    description = json.loads(json.dumps(description, allow_nan=False))  # as it will be read
    description[CHECKSUM] = _checksum(description, weights)
    return save(weights, metadata={KEY: json.dumps(description)})


def _checksum(description: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    raw = (
        (name, weights[name].reshape(-1).view(torch.uint8).numpy().tobytes())
        for name in sorted(weights)
    )
    return checksum_of(description, raw)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, weights on the CPU, ready for evaluation.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint of this program, is damaged, or holds a network of
            someone's own that is not registered (`ludarium.models.register_network`); the message
            names the file and says what is wrong, in a few hundred characters.
    """
    with naming(Path(path)), open_file(Path(path), "pt") as file:
        description, names = description_of(file), file.keys()
        header = header_of(description, len(names))
        found = {name: _type_of(file.get_slice(name)) for name in names}
        _check_tensors(found, state_types(header.shape, header.architecture))
        weights = {name: file.get_tensor(name) for name in names}
        if _checksum(description, weights) != description.get(CHECKSUM):
            raise ValueError("it is damaged: description and weights do not fit their checksum")
        network = make_network(header.shape, header.architecture)
        network.load_state_dict(weights)
        _check_weights(network.eval(), header.shape)
    return Checkpoint(**vars(header), network=network)


def _type_of(tensor: Any) -> TensorType:
    """Dtype and shape of a tensor that is still in its file."""
    name = tensor.get_dtype()
    if name not in _DTYPES:
        raise ValueError(f"it has a tensor of {name}, which no network here has")
    return _DTYPES[name], tuple(tensor.get_shape())


def _check_tensors(found: dict[str, TensorType], needed: dict[str, TensorType]) -> None:
    """Raise ``ValueError`` unless the tensors are those that a network needs."""
    for name, (dtype, shape) in needed.items():
        if name not in found:
            raise ValueError(f"its weights do not fit its description: {name} is not there")
        if found[name] != (dtype, shape):
            raise ValueError(
                f"its weights do not fit its description: {name} is {found[name][0]} "
                f"{list(found[name][1])} and should be {dtype} {list(shape)}"
            )
    for name in found:
        if name not in needed:
            raise ValueError(f"its weights do not fit its description: {name!r:.80} is not needed")


@torch.inference_mode()
def _check_weights(network: PolicyValueNetwork, shape: NetworkShape) -> None:
    """Raise ``ValueError`` unless the network returns finite outputs."""
    for name, value in network.state_dict().items():
        if not torch.isfinite(value).all():
            raise ValueError(f"its weights are damaged: {name} is not finite")
    for name, module in network.named_modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d):
            variance = module.running_var
            if variance is not None and (variance < 0).any():
                raise ValueError(f"its weights are damaged: a variance in {name} is negative")
    for value in (0.0, 1.0):
        output = network(torch.full((1, *shape.observation), value))
        answers = [answer for answer in output if answer is not None]
        if not all(torch.isfinite(answer).all() for answer in answers):
            raise ValueError("its weights are damaged: the network's answers are not finite")
