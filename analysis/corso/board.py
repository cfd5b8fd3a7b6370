"""Positions as sets of cells, and the table that the compiled search works on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from ludarium.base.memory import zeros
from ludarium.envs.corso import Corso
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position

from . import kernels
from .kernels import BUCKET, SIZES, TAG_BITS, Cells, key_bits


def check_game(game: Game) -> Corso:
    """The game, if the search can handle it.

    Raises:
        ValueError: it is another game, or the board is too large.
    """
    if not isinstance(game, Corso):
        raise ValueError(f"this solves Corso, not {game.name}")
    if game.size not in SIZES:
        raise ValueError(
            f"size {game.size} is out of reach: exact keys end at size {SIZES[-1]}; "
            f"choose a size from {SIZES[0]} to {SIZES[-1]}"
        )
    return game


def cells_of(position: Position) -> Cells:
    """The cells of a position as its mover sees them."""
    return Cells(*kernels_of(position.game).sets_of(position.state.cells, position.mover))


def kernels_of(game: Game) -> SimpleNamespace:
    """The compiled search, the same for all boards."""
    return specialise(kernels, game)


def smallest_table(size: int) -> int:
    """Bytes of the smallest table in which bucket and entry together hold a whole key."""
    return BUCKET * 8 << max(0, key_bits(size) - TAG_BITS)


def new_table(size: int, memory: int) -> np.ndarray:
    """An empty table, int64[a power of two], in at most ``memory`` bytes.

    Its buckets do not cross the lines of the processor's cache.

    Raises:
        ValueError: the memory is too little, or more than there is.
    """
    if memory < smallest_table(size):
        raise ValueError(
            f"a table of {memory} bytes is too small for size {size}: "
            f"give at least {smallest_table(size)}"
        )
    entries = 1 << (memory // 8).bit_length() - 1
    room = zeros(f"a table of {memory} bytes", entries + BUCKET, np.int64)
    skipped = -(room.ctypes.data // 8) % BUCKET
    return room[skipped : skipped + entries]
