"""What a checkpoint's file says before its weights; read without torch, which is slow to import.

The file is of the safetensors format, https://huggingface.co/docs/safetensors: eight bytes that say
how long the header is, the header as JSON, the tensors' bytes one after the other. The description
of the checkpoint is a text in the header. Whatever a file holds is checked against bounds first.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .options import option_features
from .shape import Architecture, NetworkShape

KEY = "ludarium"  # of the description in the header
FORMAT = 3

# Upper limits of what a file may ask for, far above any network of a game.
_MOST_BYTES = 1 << 30
_MOST_HEADER_BYTES = 1 << 21
_MOST_TENSORS = 10_000
_MOST_DEPTH = 32  # of the description
_MOST_CHANNELS = 1 << 14
_MOST_ENTRIES = 1 << 16  # of an observation
_MOST_ACTIONS = 1 << 16
_MOST_PLACES = 1 << 31
_MOST_FEATURES = 1 << 12
_MOST_VARIANTS = 1 << 12
_TENSORS_OF_A_BLOCK = 6  # at least

# Bytes of a number, by the format's name of its dtype.
_ITEM_BYTES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2},
    **{"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1},
}


@dataclass(frozen=True)
class CheckpointHeader:
    """What a checkpoint says of its network.

    Attributes:
        game: name of the game.
        version: version of its rules, observation and action numbers.
        options: the game's options. Those of a stranger's file go to
            `ludarium.envs.registry.make_stored_game`.
        shape: of the network.
        architecture: which network it is, and of what size.
        step: learner steps taken.
        variants: the sets of options that the network learnt, if it is one for many
            (`ludarium.models.family`); ``options`` are those that it was evaluated with.
        notes: information for people: configuration, seed, wall time, results.
    """

    game: str
    version: int
    options: dict[str, Any]
    shape: NetworkShape
    architecture: Architecture
    step: int
    variants: list[dict[str, Any]] = field(default_factory=list, kw_only=True)
    notes: dict[str, Any] = field(default_factory=dict, kw_only=True)


def load_header(path: str | os.PathLike[str]) -> CheckpointHeader:
    """Read what a checkpoint says of its network, without the weights.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint of this program, or its header is damaged; the message
            names the file and says what is wrong, in a few hundred characters.
    """
    with naming(Path(path)):
        return header_of(read_file(Path(path), with_weights=False))


@contextmanager
def naming(path: Path) -> Iterator[None]:
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


class TensorEntry(NamedTuple):
    """A tensor's entry in a header; ``begin`` and ``end`` are offsets into the data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class CheckpointFile(NamedTuple):
    """A file's header, and its data."""

    description: dict[str, Any]
    tensors: dict[str, TensorEntry]
    data: bytes


def read_file(path: Path, with_weights: bool = True) -> CheckpointFile:
    """Read a file of the safetensors format; `naming` makes errors name it."""
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
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise ValueError("it is a safetensors file, but not a ludarium checkpoint")
    description = _parsed(metadata[KEY].encode(), "its description is damaged")
    if with_weights and len(data) != size:
        raise ValueError("it became shorter while it was read")
    return CheckpointFile(description, _tensors(header, size), data)


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


def _tensors(header: dict[str, Any], size: int) -> dict[str, TensorEntry]:
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


def _tensor(name: str, entry: Any) -> TensorEntry:
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        numbers = [*shape, begin, end]
        if any(type(number) is not int or number < 0 for number in numbers) or len(shape) > 8:
            raise ValueError
        if math.prod(shape) * _ITEM_BYTES[dtype] != end - begin:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"what its header says of the tensor {name!r:.80} is damaged") from None
    return TensorEntry(dtype, tuple(shape), begin, end)


# The description.


def header_of(file: CheckpointFile) -> CheckpointHeader:
    """What the description of a file says; ``ValueError`` if it is damaged."""
    description = file.description
    if description.get("format") != FORMAT:
        raise ValueError(
            f"it has checkpoint format {description.get('format')!r:.80}; this program reads "
            f"format {FORMAT}"
        )
    network = _item(description, "network", dict)
    architecture = _architecture(network, len(file.tensors))
    return CheckpointHeader(
        game=_item(description, "game", str),
        version=_item(description, "version", int),
        options=_item(description, "options", dict),
        shape=_shape(_item(network, "shape", dict)),
        architecture=architecture,
        step=_item(description, "step", int),
        variants=_variants(description, architecture),
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
    if "features" in options:
        features = _item(options, "features", int)
        if not 1 <= features <= _MOST_FEATURES:
            raise ValueError(f"its description is damaged: features is {features!r:.80}")
    if channels > _MOST_CHANNELS or _TENSORS_OF_A_BLOCK * blocks > tensors:
        raise ValueError(
            f"its weights do not fit its description: {channels:.0f} channels, {blocks:.0f} blocks"
        )
    return Architecture(options)


def _variants(description: dict[str, Any], architecture: Architecture) -> list[dict[str, Any]]:
    """The sets of options that a network of many learnt; none for other networks."""
    variants = _item({"variants": [], **description}, "variants", list)
    names = set(_item(description, "options", dict))
    if len(variants) > _MOST_VARIANTS or any(
        type(variant) is not dict or set(variant) != names for variant in variants
    ):
        raise ValueError("its description is damaged: variants")
    features = None if architecture.module else architecture.options.get("features")
    found = len(option_features(variants, variants[0])) if variants else None
    if features != found:
        raise ValueError(
            f"its description is damaged: {len(variants)} sets of options give {found} features, "
            f"not {features}"
        )
    return variants
