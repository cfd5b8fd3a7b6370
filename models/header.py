"""What a checkpoint's file says before its weights; read without torch, which is slow to import.

The file is of the safetensors format, https://huggingface.co/docs/safetensors; its library checks
that the sizes in the header are those of the file. The description of the checkpoint is a text in
the header. Whatever it says is checked against bounds first.
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
from typing import Any

from safetensors import SafetensorError, safe_open

from .options import option_features
from .shape import Architecture, NetworkShape

KEY = "ludarium"  # of the description in the header
FORMAT = 3

# Upper limits of what a file may ask for, far above any network of a game.
_MOST_BYTES = 1 << 30
_MOST_HEADER_BYTES = 1 << 21
_MOST_DEPTH = 32  # of the description
_MOST_CHANNELS = 1 << 14
_MOST_ENTRIES = 1 << 16  # of an observation
_MOST_ACTIONS = 1 << 16
_MOST_PLACES = 1 << 31
_MOST_FEATURES = 1 << 12
_MOST_VARIANTS = 1 << 12
_TENSORS_OF_A_BLOCK = 6  # at least


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
    with naming(Path(path)), open_file(Path(path), "np") as file:
        return header_of(description_of(file), len(file.keys()))


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
        reason = reason if reason.isprintable() else ascii(reason)
        raise ValueError(f"{name} cannot be loaded: {reason[:300]}") from error


# The file.


@contextmanager
def open_file(path: Path, framework: str) -> Iterator[Any]:
    """Open a file of the safetensors format, for tensors of ``framework``: ``np`` or ``pt``.

    Memory is taken for no more than the header. `naming` makes errors name the file.
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
    if length > min(_MOST_HEADER_BYTES, status.st_size - 8):
        raise ValueError("it is not a readable safetensors file: its header is cut or too long")
    try:
        with safe_open(path, framework) as file:
            yield file
    except SafetensorError as error:
        raise ValueError(f"it is not a readable safetensors file: {error}") from None


def description_of(file: Any) -> dict[str, Any]:
    """The description in the header of an open file."""
    text = (file.metadata() or {}).get(KEY)
    if text is None:
        raise ValueError("it is a safetensors file, but not a ludarium checkpoint")
    return _parsed(text, "its description is damaged")


def _parsed(text: str, problem: str) -> dict[str, Any]:
    """Parse a JSON object that is not deeply nested."""
    try:
        parsed = json.loads(text, parse_constant=_refuse_constant)
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


# The description.


def header_of(description: dict[str, Any], tensors: int) -> CheckpointHeader:
    """What a description says; ``ValueError`` if it is damaged, or this many tensors do not fit."""
    if description.get("format") != FORMAT:
        raise ValueError(
            f"it has checkpoint format {description.get('format')!r:.80}; this program reads "
            f"format {FORMAT}"
        )
    network = _item(description, "network", dict)
    architecture = _architecture(network, tensors)
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
    fits = 0 <= _TENSORS_OF_A_BLOCK * blocks <= tensors
    if not (fits and 1 <= channels <= _MOST_CHANNELS):
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
