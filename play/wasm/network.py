"""Networks for modules: the arrays that their kernels read, and files that hold them.

A module is compiled for all networks of its game. So a network's arrays have no fixed place in its
memory: a program that loads a file puts them behind the module's data, and writes address and
length of each into the module's array ``network_places``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable

import numpy as np

from ludarium.base.files import sha256_of
from ludarium.envs.engine.game import Game
from ludarium.models import Architecture
from ludarium.models.kernels import digest_of, network_part, ranges_of
from ludarium.models.kernels.packing import WRITTEN, PackedNetwork, pack
from ludarium.models.kernels.target import WASM
from ludarium.models.layers import Layers, layers, weight_shapes
from ludarium.training.networks import calibration_inputs_of, network_shape

from .memory import LINE

#: The first bytes of a file.
MAGIC = b"ludarium network"
_FORMAT = 2


def any_network(game: Game) -> PackedNetwork:
    """A network whose arrays have the types that each network of a game has."""
    shape = network_shape(game)
    sizes = weight_shapes(shape, Architecture({"channels": 8, "blocks": 1}))
    weights = {name: np.zeros(size, np.float32) for name, size in sizes.items()}
    return pack(layers(weights, shape), np.zeros((3, 2), np.float32), WASM)


def part_of(game: Game) -> Callable:
    """The part that calls networks of a game."""
    return network_part("board" if len(game.observation_shape) == 3 else "vector")


def layout_of(game: Game) -> str:
    """Digest by which a module recognises files for its game and its kernels."""
    about = (game.name, game.version, game.planes_shape, game.num_actions, digest_of(WASM))
    return sha256_of(repr((_FORMAT, *about)).encode())[:16]


def network_content(game: Game, network: Layers) -> bytes:
    """The content of a network's file.

    After `MAGIC` come two numbers, uint32 in little-endian order: the CRC-32 of everything after
    it, and the length of a description in JSON, which follows. The description has ``format``,
    ``game``, ``layout``; for each array of `PackedNetwork`, in order, its place in a module's
    memory, behind the module's data, and its length (``places``); how many ``bytes`` these take
    together; and for each array in the file its number, its length in bytes, and whether it holds
    int8 that become float32 (``parts``). The contents of the parts follow, one after the other.
    Arrays that are not in the file begin with zeros.
    """
    places: list[list[int]] = []
    parts: list[list[int | bool]] = []
    content, end = b"", 0
    ranges = ranges_of(network, calibration_inputs_of(game))
    packed = pack(network, ranges, WASM)
    for number, (name, array) in enumerate(packed._asdict().items()):
        places.append([end, len(array)])
        end += -(-array.nbytes // LINE) * LINE
        if name not in WRITTEN:
            is_small = name == "head_weights"
            stored = (array.astype(np.int8) if is_small else array).tobytes()
            parts.append([number, len(stored), is_small])
            content += stored
    about = {
        **{"format": _FORMAT, "game": game.name, "layout": layout_of(game)},
        **{"places": places, "bytes": end, "parts": parts},
    }
    text = json.dumps(about, separators=(",", ":")).encode()
    checked = struct.pack("<I", len(text)) + text + content
    return MAGIC + struct.pack("<I", zlib.crc32(checked)) + checked
