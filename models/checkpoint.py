"""Checkpoints: one safetensors file with the weights, and a JSON description in its header.

Loading a stranger's checkpoint is safe: the worst that it can do is play badly. Nothing is
unpickled, and a name in a file never causes an import. The header is read first. Memory for the
weights is allocated only after their names, dtypes and shapes match the network that the
description gives and their bytes are present. A checksum of description and weights detects damage.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save
from torch import Tensor, nn

from .architecture import Architecture, make_network, state_types
from .network import NetworkShape, PolicyValueNetwork

SUFFIX = ".safetensors"
_KEY = "ludarium"
_CHECKSUM = "sha256"  # in the description
_FORMAT = 3

# Upper limits of what a file may ask for, far above any network of a game.
_MOST_BYTES = 1 << 30
_MOST_HEADER_BYTES = 1 << 21
_MOST_TENSORS = 10_000
_MOST_DEPTH = 32  # of the description
_MOST_CHANNELS = 1 << 14
_MOST_ENTRIES = 1 << 16  # of an observation
_MOST_ACTIONS = 1 << 16
_MOST_PLACES = 1 << 31
_TENSORS_OF_A_BLOCK = 6  # at least

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


@dataclass(frozen=True)
class Checkpoint:
    """A network and the information that is needed to use it.

    Attributes:
        game: name of the game.
        version: version of its rules, observation and action numbers.
        options: the game's options. Those of a stranger's file go to
            `ludarium.envs.registry.make_stored_game`.
        shape: of the network.
        architecture: which network it is, and of what size.
        step: learner steps taken.
        notes: information for people: configuration, seed, wall time, results.
        network: with the weights.
    """

    game: str
    version: int
    options: dict[str, Any]
    shape: NetworkShape
    architecture: Architecture
    step: int
    network: PolicyValueNetwork = field(repr=False, compare=False)
    notes: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint atomically; return the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(checkpoint_bytes(checkpoint))
    os.replace(partial, path)
    return path


def checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    """The content of a checkpoint's file; the same checkpoint gives the same bytes."""
    description: dict[str, Any] = {
        "format": _FORMAT,
        "game": checkpoint.game,
        "version": checkpoint.version,
        "options": checkpoint.options,
        "network": {"shape": asdict(checkpoint.shape), **asdict(checkpoint.architecture)},
        "step": checkpoint.step,
        "notes": checkpoint.notes,
    }
    weights = {
        name: value.detach().cpu().contiguous()
        for name, value in checkpoint.network.state_dict().items()
    }
    description = json.loads(json.dumps(description, allow_nan=False))  # as it will be read
    description[_CHECKSUM] = _checksum(description, weights)
    return save(weights, metadata={_KEY: json.dumps(description)})


def _checksum(description: Mapping[str, Any], weights: Mapping[str, Tensor]) -> str:
    """SHA-256 of the rest of the description and of all weights, in hexadecimal."""
    rest = {key: value for key, value in description.items() if key != _CHECKSUM}
    checksum = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(weights):
        checksum.update(name.encode())
        checksum.update(weights[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return checksum.hexdigest()


def checkpoint_options(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The options of the game of a checkpoint, read without loading the weights.

    Raises:
        FileNotFoundError, ValueError: as for `load_checkpoint`.
    """
    with _naming(Path(path)):
        return _described(_read(Path(path), with_weights=False)).options


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, weights on the CPU, ready for evaluation.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint of this program, is damaged, or holds a network of
            someone's own that is not registered (`ludarium.models.register_network`); the message
            names the file and says what is wrong, in a few hundred characters.
    """
    with _naming(Path(path)):
        file = _read(Path(path))
        described = _described(file)
        _check_tensors(file.tensors, state_types(described.shape, described.architecture))
        weights = _weights(file)
        if _checksum(file.description, weights) != file.description.get(_CHECKSUM):
            raise ValueError("it is damaged: description and weights do not fit their checksum")
        network = make_network(described.shape, described.architecture)
        network.load_state_dict(weights)
        _check_weights(network.eval(), described.shape)
    return Checkpoint(**described._asdict(), network=network)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turns every error into a short `ValueError` that names the file."""
    name = str(path) if str(path).isprintable() else repr(str(path))
    name = name if len(name) <= 200 else f"...{name[-200:]}"
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no checkpoint {name}") from None
    except Exception as error:  # whatever a damaged file, or a network of someone's own, leads to
        reason = str(error) or type(error).__name__
        raise ValueError(f"{name} cannot be loaded: {reason[:300]}") from error


# The file.


class _Tensor(NamedTuple):
    """A tensor's entry in a header; ``begin`` and ``end`` are offsets into the data."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


class _File(NamedTuple):
    """A file's header, and its data."""

    description: dict[str, Any]
    tensors: dict[str, _Tensor]
    data: bytes


def _read(path: Path, with_weights: bool = True) -> _File:
    """Read a file of the safetensors format; `_naming` makes errors name it.

    https://huggingface.co/docs/safetensors: eight bytes that say how long the header is, the header
    as JSON, the tensors' bytes one after the other.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file")
    if status.st_size > _MOST_BYTES:
        raise ValueError(
            f"it has {status.st_size:,} bytes; a checkpoint has at most {_MOST_BYTES:,}"
        )
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        size = status.st_size - 8 - length
        if size < 0 or length > _MOST_HEADER_BYTES:
            raise ValueError("it is not a readable safetensors file: its header is cut or too long")
        header = _parsed(stream.read(length), "it is not a readable safetensors file")
        data = stream.read(size) if with_weights else b""
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ValueError("it is a safetensors file, but not a ludarium checkpoint")
    description = _parsed(metadata[_KEY].encode(), "its description is damaged")
    if with_weights and len(data) != size:
        raise ValueError("it became shorter while it was read")
    return _File(description, _tensors(header, size), data)


def _parsed(text: bytes, problem: str) -> dict[str, Any]:
    """Parse a JSON object that is not deeply nested."""
    try:
        parsed = json.loads(text.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{problem}: {error}") from None
    level = [parsed]
    for _ in range(_MOST_DEPTH):
        level = [
            part
            for value in level
            if isinstance(value, dict | list)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
    if level or not isinstance(parsed, dict):
        raise ValueError(f"{problem}: it is no JSON object, or nested too deeply")
    return parsed


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _tensors(header: dict[str, Any], size: int) -> dict[str, _Tensor]:
    """The tensors that a header lists, whose bytes must be all of the data."""
    if len(header) > _MOST_TENSORS:
        raise ValueError(f"it has {len(header):,} tensors; the most are {_MOST_TENSORS:,}")
    tensors = {name: _tensor(name, entry) for name, entry in header.items()}
    end = 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].begin):
        if tensor.begin != end:
            raise ValueError(f"the bytes of the tensor {name!r:.80} are not where they should be")
        end = tensor.end
    if end != size:
        raise ValueError(f"its weights are cut or damaged: {size:,} bytes instead of {end:,}")
    return tensors


def _tensor(name: str, entry: Any) -> _Tensor:
    try:
        dtype, shape, (begin, end) = _DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        numbers = [*shape, begin, end]
        if any(type(number) is not int or number < 0 for number in numbers) or len(shape) > 8:
            raise ValueError
        if math.prod(shape) * dtype.itemsize != end - begin:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"what its header says of the tensor {name!r:.80} is damaged") from None
    return _Tensor(dtype, tuple(shape), begin, end)


def _weights(file: _File) -> dict[str, Tensor]:
    return {
        name: torch.frombuffer(bytearray(file.data[begin:end]), dtype=dtype).reshape(shape)
        if end > begin
        else torch.empty(shape, dtype=dtype)
        for name, (dtype, shape, begin, end) in file.tensors.items()
    }


# The description.


class _Described(NamedTuple):
    """A `Checkpoint` without its network."""

    game: str
    version: int
    options: dict[str, Any]
    shape: NetworkShape
    architecture: Architecture
    step: int
    notes: dict[str, Any]


def _described(file: _File) -> _Described:
    description = file.description
    if description.get("format") != _FORMAT:
        raise ValueError(
            f"it has checkpoint format {description.get('format')!r:.80}; this program reads "
            f"format {_FORMAT}"
        )
    network = _item(description, "network", dict)
    return _Described(
        game=_item(description, "game", str),
        version=_item(description, "version", int),
        options=_item(description, "options", dict),
        shape=_shape(_item(network, "shape", dict)),
        architecture=_architecture(network, len(file.tensors)),
        step=_item(description, "step", int),
        notes=_item(description, "notes", dict),
    )


def _item(mapping: dict[str, Any], key: str, kind: type) -> Any:
    """An entry of a description; ``ValueError`` if it is missing or has another type."""
    value = mapping.get(key)
    if type(value) is not kind:
        raise ValueError(f"its description is damaged: {key} is {value!r:.80}")
    return value


def _shape(described: dict[str, Any]) -> NetworkShape:
    observation = _item(described, "observation", list)
    places = described.get("action_places")
    numbers = [_item(described, "num_actions", int), *observation]
    if any(type(number) is not int or number < 1 for number in numbers):
        raise ValueError("its description is damaged: a size is no positive number")
    if math.prod(observation) > _MOST_ENTRIES or numbers[0] > _MOST_ACTIONS:
        raise ValueError(
            f"its description asks for more than {_MOST_ENTRIES:,} entries of an observation, or "
            f"more than {_MOST_ACTIONS:,} actions"
        )
    if places is not None and (
        type(places) is not list
        or any(type(place) is not int or not -1 <= place < _MOST_PLACES for place in places)
    ):
        raise ValueError("its description is damaged: action_places")
    return NetworkShape(tuple(observation), numbers[0], None if places is None else tuple(places))


def _architecture(network: dict[str, Any], tensors: int) -> Architecture:
    """The architecture, if this number of tensors could be its weights."""
    options = _item(network, "options", dict)
    if network.get("module") is not None:
        return Architecture(options, _item(network, "module", str))
    channels, blocks = _item(options, "channels", int), _item(options, "blocks", int)
    if channels > _MOST_CHANNELS or _TENSORS_OF_A_BLOCK * blocks > tensors:
        raise ValueError(
            f"its weights do not fit its description: {channels:.0f} channels, {blocks:.0f} blocks"
        )
    return Architecture(options)


# The weights.


def _check_tensors(
    tensors: dict[str, _Tensor], needed: dict[str, tuple[torch.dtype, tuple[int, ...]]]
) -> None:
    """Raise ``ValueError`` unless the tensors are those that a network needs."""
    for name, (dtype, shape) in needed.items():
        if name not in tensors:
            raise ValueError(f"its weights do not fit its description: {name} is not there")
        if tensors[name][:2] != (dtype, shape):
            raise ValueError(
                f"its weights do not fit its description: {name} is {tensors[name].dtype} "
                f"{list(tensors[name].shape)} and should be {dtype} {list(shape)}"
            )
    for name in tensors:
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
        if not all(torch.isfinite(answer).all() for answer in output):
            raise ValueError("its weights are damaged: the network's answers are not finite")
