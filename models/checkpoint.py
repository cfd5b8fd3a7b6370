"""Checkpoints: one safetensors file with weights, and a JSON description in its header.

Nothing is ever unpickled, so a checkpoint from a stranger can do no more than play badly.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from .network import NetworkShape, PolicyValueNetwork, build_network

SUFFIX = ".safetensors"
_KEY = "ludarium"
_FORMAT = 2


@dataclass(frozen=True)
class Checkpoint:
    """A network with what must be known to use it.

    Attributes:
        game: name of the game.
        version: version of its rules, observation and action numbers.
        options: the game's options.
        shape: of the network.
        channels, blocks: size of the network.
        step: learner steps taken.
        notes: whatever else helps people: configuration, seed, wall time, results.
        network: with the weights.
    """

    game: str
    version: int
    options: dict[str, Any]
    shape: NetworkShape
    channels: int
    blocks: int
    step: int
    network: PolicyValueNetwork = field(repr=False, compare=False)
    notes: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, path: str | os.PathLike[str]) -> Path:
    """Write a checkpoint; a reader, or a crash, never sees half a file. Returns the path."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(checkpoint_bytes(checkpoint))
    os.replace(partial, path)
    return path


def checkpoint_bytes(checkpoint: Checkpoint) -> bytes:
    """The content of a checkpoint's file; the same checkpoint gives the same bytes."""
    description = {
        "format": _FORMAT,
        "game": checkpoint.game,
        "version": checkpoint.version,
        "options": checkpoint.options,
        "network": {
            "shape": asdict(checkpoint.shape),
            "channels": checkpoint.channels,
            "blocks": checkpoint.blocks,
        },
        "step": checkpoint.step,
        "notes": checkpoint.notes,
    }
    weights = {
        name: value.detach().cpu().contiguous()
        for name, value in checkpoint.network.state_dict().items()
    }
    return save(weights, metadata={_KEY: json.dumps(description)})


def checkpoint_options(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The options of the game that a checkpoint plays, without its weights.

    Raises:
        FileNotFoundError, ValueError: as for `load_checkpoint`.
    """
    description, _ = _read(Path(path), with_weights=False)
    try:
        options: dict[str, Any] = dict(description["options"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the description in {path} is damaged: {error!r}") from None
    return options


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint, weights on the CPU, ready for evaluation.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint of this program, or is damaged; the message
            names it and says what is wrong.
    """
    path = Path(path)
    description, weights = _read(path)
    try:
        network = description["network"]
        places = network["shape"]["action_places"]
        shape = NetworkShape(
            observation=tuple(network["shape"]["observation"]),
            num_actions=network["shape"]["num_actions"],
            action_places=None if places is None else tuple(places),
        )
        checkpoint = Checkpoint(
            game=description["game"],
            version=description["version"],
            options=description["options"],
            shape=shape,
            channels=network["channels"],
            blocks=network["blocks"],
            step=description["step"],
            network=build_network(shape, network["channels"], network["blocks"]),
            notes=description["notes"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"the description in {path} is damaged: {error!r}") from None
    try:
        checkpoint.network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"the weights in {path} do not fit its description: {error}") from None
    for name, value in weights.items():
        if not torch.isfinite(value).all():
            raise ValueError(f"the weights in {path} are damaged: {name} is not finite")
    checkpoint.network.eval()
    return checkpoint


def _read(path: Path, with_weights: bool = True) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Description and weights in a file; errors as for `load_checkpoint`."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(_KEY)
            names = file.keys() if with_weights else ()
            weights = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a readable safetensors file: {error}") from None
    if text is None:
        raise ValueError(f"{path} is a safetensors file, but not a ludarium checkpoint")
    try:
        description = json.loads(text)
        written = description["format"]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"the description in {path} is damaged: {error!r}") from None
    if written != _FORMAT:
        raise ValueError(
            f"{path} has checkpoint format {written!r}; this program reads format {_FORMAT}"
        )
    return description, weights
