"""The header of a checkpoint's file, read without torch, which is slow to import.

The file has the safetensors format, https://huggingface.co/docs/safetensors; its library checks
that the sizes in the header match the file. The description of the checkpoint is a text in
the header. The sizes that it asks for are checked against bounds before they are used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from safetensors import SafetensorError, safe_open

from ludarium.base.files import convert, load_json, open_regular_file
from ludarium.base.messages import named, shortened

from .options import option_features
from .shape import Architecture, NetworkShape, check_member, check_shape

KEY = "ludarium"  # key of the description in the header
FORMAT = 3

# Upper limits on what a file may ask for, far above any network of a game.
MOST_BYTES = 1 << 30
MOST_HEADER_BYTES = 1 << 21
_MOST_ENTRIES = 1 << 16  # entries of an observation
_MOST_FEATURES = 1 << 12
_TENSORS_OF_A_BLOCK = 6  # each block has at least this many


@dataclass(frozen=True)
class CheckpointHeader:
    """A checkpoint's description of its network.

    Attributes:
        game: name of the game.
        version: version of its rules, observation and action numbers.
        options: the game's options. Those of a stranger's file go to
            `ludarium.envs.registry.make_stored_game`.
        shape: the network's shape.
        architecture: the network's class and size.
        step: how long it has learnt: gradient steps, or the learner's actions of PPO.
        variants: the sets of options that the network learnt, if it is one for many
            (`ludarium.models.family`); ``options`` are those that it was evaluated with.
        notes: further information, as JSON values: of a training run its algorithm, iteration,
            seconds, seed and configuration.
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
    """Read a checkpoint's description of its network, without the weights.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a checkpoint of this program, or its header is damaged; the
            message names the file and says what is wrong, in a few hundred characters.
    """
    with open_checkpoint(path, "np") as (_, _, header):
        return header


@contextmanager
def open_checkpoint(
    path: str | os.PathLike[str], framework: str
) -> Iterator[tuple[Any, dict[str, Any], CheckpointHeader]]:
    """An open checkpoint file, the description in it as JSON, and as a `CheckpointHeader`.

    Only the header takes memory. Every error within the context names the file.

    Args:
        path: path of the file.
        framework: framework of the tensors that are read: ``np`` or ``pt``.

    Raises:
        FileNotFoundError, ValueError: see `load_header`.
    """
    with open_file(Path(path), framework, "checkpoint") as file:
        text = (file.metadata() or {}).get(KEY)
        if text is None:
            raise ValueError("it is a safetensors file, but not a ludarium checkpoint")
        description = load_json(text, "its description", dict[str, Any])
        if description.get("format") != FORMAT:
            raise ValueError(
                f"it has checkpoint format {description.get('format')!r:.80}; this program reads "
                f"format {FORMAT}"
            )
        yield file, description, _header_of(text, len(file.keys()))


@contextmanager
def open_file(path: Path, framework: str, what: str) -> Iterator[Any]:
    """Open a file of the safetensors format; every error within the context names the file.

    Args:
        path: path of the file.
        framework: framework of the tensors that are read: ``np`` or ``pt``.
        what: name of the expected content, for errors, such as ``checkpoint``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not a regular file, too large, or damaged.
    """
    name = named(path)
    unreadable = "it is not a readable safetensors file: "
    try:
        opened = open_regular_file(path, MOST_BYTES, f"a {what}")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no {what} {name}") from None
    try:
        with opened as stream:
            length = int.from_bytes(stream.read(8), "little")
            size = os.fstat(stream.fileno()).st_size
        if length > min(MOST_HEADER_BYTES, size - 8):
            raise ValueError(f"{unreadable}its header is cut or too long")
        if framework == "pt" and any("\ud800" <= letter <= "\udfff" for letter in str(path)):
            raise ValueError("its name is not UTF-8, and torch reads no such file: rename it")
        with safe_open(path, framework) as file:
            yield file
    except Exception as error:  # damaged files and custom networks may raise anything
        reason = str(error) or type(error).__name__
        reason = unreadable + reason if isinstance(error, SafetensorError) else reason
        raise ValueError(f"{name} cannot be loaded: {shortened(reason, 280)}") from error


class _Network(msgspec.Struct):
    shape: NetworkShape
    options: dict[str, Any]
    module: str | None = None


class _Description(msgspec.Struct):
    game: str
    version: int
    options: dict[str, Any]
    network: _Network
    step: int
    notes: dict[str, Any]
    variants: Annotated[list[dict[str, Any]], Meta(max_length=1 << 12)] = []


class _Size(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Options of a network of this package."""

    channels: Annotated[int, Meta(ge=1, le=1 << 14)]
    blocks: Annotated[int, Meta(ge=0)]
    features: Annotated[int, Meta(ge=1, le=_MOST_FEATURES)] | None = None


def _header_of(text: str, tensors: int) -> CheckpointHeader:
    """Read a description; ``ValueError`` if it is damaged, or has too many blocks for ``tensors``.

    Args:
        text: the description.
        tensors: number of the file's tensors.
    """
    found: _Description = load_json(text, "its description", _Description)
    network = found.network
    if math.prod(network.shape.observation) > _MOST_ENTRIES:
        raise ValueError(
            f"its description asks for more than {_MOST_ENTRIES:,} entries of an observation"
        )
    options, features = network.options, None
    if network.module is None:
        size: _Size = convert(network.options, "its network", _Size)
        options, features = msgspec.to_builtins(size), size.features
        check_shape(network.shape)
        if features is not None:
            check_member(network.shape, network.shape)
        if _TENSORS_OF_A_BLOCK * size.blocks > tensors:
            raise ValueError(f"its weights do not fit its description: {size.blocks} blocks")
    names = set(found.options)
    if any(set(variant) != names for variant in found.variants):
        raise ValueError("its description is damaged: variants have other options than the game")
    variants = found.variants
    learnt = len(option_features(variants, variants[0])) if variants else None
    if learnt != features:
        raise ValueError(
            f"its description is damaged: {len(variants)} sets of options give {learnt} features, "
            f"not {features}"
        )
    return CheckpointHeader(
        game=found.game,
        version=found.version,
        options=found.options,
        shape=network.shape,
        architecture=Architecture(options, network.module),
        step=found.step,
        variants=variants,
        notes=found.notes,
    )
