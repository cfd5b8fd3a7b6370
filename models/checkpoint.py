"""Checkpoints: one safetensors file with the weights, and a JSON description in its header.

Loading a stranger's checkpoint is safe: the worst that it can do is play badly. Nothing is
unpickled, and a name in a file never causes an import. The header is read first. Memory for the
weights is allocated only after their names, dtypes and shapes match the network that the
description gives and their bytes are present. A checksum of description and weights detects damage.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from ludarium.base.storage import write_whole

from .architecture import check_saved, make_network, state_types
from .header import FORMAT, KEY, CheckpointHeader, load_header, open_checkpoint
from .network import PolicyValueNetwork
from .shape import NetworkShape
from .weights import CHECKSUM, checksum_of, load_weights, read_tensors

SUFFIX = ".safetensors"

#: Names that the format gives to the dtypes that a network may have.
_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


@dataclass(frozen=True)
class Checkpoint(CheckpointHeader):
    """A network and the information that is needed to use it.

    Attributes:
        network: the network with its weights.
    """

    network: PolicyValueNetwork = field(repr=False, compare=False)


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint atomically; return the path.

    Raises:
        ValueError: see `checkpoint_bytes`.
        OSError: the file cannot be written.
    """
    path = Path(path)
    write_whole(path, checkpoint_bytes(checkpoint))
    return path


def checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    """The content of a checkpoint's file; the same checkpoint gives the same bytes.

    Raises:
        ValueError: it holds a user's network that would be another one once it is loaded, or whose
            class is not registered; or a number in options or notes is not finite.
    """
    if checkpoint.architecture.module is not None:
        check_saved(checkpoint.network, checkpoint.shape, checkpoint.architecture)
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
    weights = {  # copies, because tied weights must not share memory in a file
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in checkpoint.network.state_dict().items()
    }
    description = json.loads(json.dumps(description, allow_nan=False))  # as a reader gets it
    description[CHECKSUM] = checksum_of(description, weights, _to_bytes)
    return save(weights, metadata={KEY: json.dumps(description)})


def _to_bytes(tensor: Tensor) -> bytes:
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, weights on the CPU, ready for evaluation.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a checkpoint of this program, is damaged, or holds a custom
            network that is not registered (`ludarium.models.register_network`); the message names
            the file and says what is wrong, in a few hundred characters.
    """
    if load_header(path).architecture.module is None:
        fields = dict(vars(load_weights(path)))
        network = make_network(fields["shape"], fields["architecture"])
        weights = {name: torch.from_numpy(array) for name, array in fields.pop("weights").items()}
        network.load_state_dict(weights)
        return Checkpoint(**fields, network=network.eval())
    with open_checkpoint(path, "pt") as (file, description, header):
        needed = {
            name: (_DTYPES[dtype], shape)
            for name, (dtype, shape) in state_types(header.shape, header.architecture).items()
        }
        weights = read_tensors(file, description, needed, _to_bytes)
        network = make_network(header.shape, header.architecture)
        network.load_state_dict(weights)
        _check_numbers(network.eval(), header.shape)
    return Checkpoint(**vars(header), network=network)


@torch.inference_mode()
def _check_numbers(network: PolicyValueNetwork, shape: NetworkShape) -> None:
    """Raise ``ValueError`` unless a custom network's weights and answers are finite."""
    for name, tensor in network.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"its weights are damaged: {name} is not finite")
    for value in (0.0, 1.0):
        output = network(torch.full((1, *shape.observation), value))
        answers = [answer for answer in output if answer is not None]
        if not all(torch.isfinite(answer).all() for answer in answers):
            raise ValueError("its weights are damaged: the network's answers are not finite")
