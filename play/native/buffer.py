"""The caller's buffer: the places of a game's arrays, and of a network's, in it.

The arrays lie one after the other, behind `glue.c`'s fields. What is only read lies in the library,
from where `glue.c` copies the network's weights, see `PACKED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position_text import no_format
from ludarium.models.kernels.packing import WRITTEN, PackedNetwork
from ludarium.models.kernels.target import Target

from ..wasm.memory import LINE, Limits, address_of, memory_of, named_arrays

#: Arrays of a network that lie in the library in the order of `PLAIN`, and in the buffer as packed;
#: and arrays that lie only in the library, which all processors share if they are equal.
PACKED = ("weights", "head_weights")
SHARED = ("table", "scale", "stem", "stem_bias", "norms", "head_bias", "head_scale")
#: The order of weights [output][tap][input].
PLAIN = Target(1, 1, 1, np.dtype(np.uint8))
_CONSTANTS = {
    f"network_{name}" for name in PackedNetwork._fields if name not in (*PACKED, *WRITTEN)
}
_KEPT = 256


class Asked(NamedTuple):
    """Takes a network's place in the search: the array at the buffer's start, for `ask`."""

    buffer: np.ndarray


@dataclass(frozen=True)
class Layout:
    """The places of arrays in the buffer.

    Attributes:
        offsets: offsets in bytes from its start, by name.
        end: the offset behind them.
    """

    offsets: Mapping[str, int]
    end: int

    @classmethod
    def of(cls, memory: Mapping[str, Any], start: int = 0) -> Layout:
        """A layout of arrays one after the other."""
        offsets = {}
        for name, array in arrays_in_buffer(memory):
            offsets[name] = start
            start += -(-array.nbytes // LINE) * LINE
        return cls(offsets, start)


def game_layout(game: Game, limits: Limits) -> Layout:
    """The layout of a game and the search over it."""
    return Layout.of(memory_in_buffer(game, limits))


def network_layout(packed: PackedNetwork, start: int) -> Layout:
    """The layout of a network's weights and scratch memory, behind a game."""
    return Layout.of({"network": packed}, start)


def kept_bytes(game: Game) -> int:
    """Bytes at the start of the buffer for the fields of `glue.c`: actions, a text, and others."""
    return _KEPT + 4 * game.max_plies + position_bytes(game)


def position_bytes(game: Game) -> int:
    """How many characters, of one byte each, a text of a position has at most."""
    form = game.position_format or no_format()
    return int(form.new_text().dtype["text"].shape[0])


def memory_in_buffer(game: Game, limits: Limits) -> dict[str, Any]:
    """The kernels' arguments that are tuples of arrays, by name, with `glue.c`'s fields first."""
    kept = np.zeros(kept_bytes(game), np.uint8)
    return {"network": Asked(kept), **memory_of(game, limits)}


def arrays_in_buffer(memory: Mapping[str, Any]) -> list[tuple[str, np.ndarray]]:
    """The arrays that lie in the buffer, by name, each once."""
    found: dict[int, tuple[str, np.ndarray]] = {}
    for name, value in memory.items():
        for full_name, array in named_arrays(name, value).items():
            if not is_constant(full_name):
                found.setdefault(address_of(array), (full_name, array))
    return list(found.values())


def is_constant(name: str) -> bool:
    """Whether an array, by its name in `named_arrays`, lies in the library alone."""
    return name.endswith("_tables") or name in _CONSTANTS
