"""Positions as sets of cells, and the records that the compiled search works on."""

from __future__ import annotations

import numpy as np

from ludarium.base.memory import zeros
from ludarium.base.numbers import require_seed
from ludarium.envs.corso import Corso
from ludarium.envs.engine.draw.grid import square_symmetries
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import record_dtype, table_record

from ..solver import NO_LIMIT
from . import kernels
from .kernels import BUCKET, MOVES, PLIES, TAG_BITS, Cells

#: Board sizes whose keys fit into the table.
SIZES = range(2, 6)
_LARGEST = SIZES[-1]


def check_game(game: Game) -> Corso:
    """The game, if the search can handle it.

    Raises:
        ValueError: it is another game, or the board is too large.
    """
    if not isinstance(game, Corso):
        raise ValueError(f"this solves Corso, not {game.name}")
    if game.size not in SIZES:
        raise ValueError(
            f"size {game.size} is out of reach: exact keys end at size {_LARGEST}; "
            f"choose a size from {SIZES[0]} to {_LARGEST}"
        )
    return game


def cells_of(position: Position) -> Cells:
    """The cells of a position as its mover sees them."""
    cells: Cells = kernels.cells_of(position.state.cells, position.mover)
    return cells


def smallest_table(size: int) -> int:
    """Bytes of the smallest table in which bucket and entry together hold a whole key."""
    return BUCKET * 8 << max(0, _key_bits(size) - TAG_BITS)


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


def board_record(size: int, entries: int, seed: int) -> np.ndarray:
    """Constants of the search: an array of one record, whose type is the same for every size.

    Args:
        size: the board's size.
        entries: number of the table's entries.
        seed: seed of the function that scrambles keys.
    """
    cells = size * size
    symmetries = square_symmetries(size).astype(np.int64)
    sets = np.arange(1 << size)
    numbers = np.zeros((_LARGEST, 1 << _LARGEST, len(symmetries)), np.int64)
    for rank in range(size):
        for file in range(size):
            digits = 5 ** symmetries[:, rank * size + file]
            numbers[rank, sets] += (sets >> file & 1)[:, None] * digits
    to = np.zeros((len(symmetries), _LARGEST**2), np.int64)
    to[:, :cells] = symmetries
    back = np.zeros_like(to)
    back[:, :cells] = np.argsort(symmetries, axis=1)
    all_cells = (1 << cells) - 1
    first_file = sum(1 << rank * size for rank in range(size))
    key_bits = _key_bits(size)
    key_mask = (1 << key_bits) - 1
    bucket_bits = (entries // BUCKET).bit_length() - 1
    factors = np.random.default_rng(require_seed(seed)).integers(1 << 62, size=2) & key_mask | 1
    return table_record(
        width=size,
        cells=all_cells,
        rank=(1 << size) - 1,
        not_first_file=all_cells & ~first_file,
        not_last_file=all_cells & ~(first_file << size - 1),
        numbers=numbers,
        to=to,
        back=back,
        factors=factors,
        key_mask=key_mask,
        key_shift=key_bits // 2,
        bucket_bits=bucket_bits,
        bucket_mask=(1 << bucket_bits) - 1,
    )


def new_workers(threads: int, eager: int) -> np.ndarray:
    """Scratch space of the search, one record per thread.

    Fields: ``nodes``, positions searched so far; ``limit``, the number at which a search ends;
    ``stop``, set to end a search; ``eager``, the least gain for which an expansion that takes
    opposing marbles comes before placements; ``keys``, a position's number under each symmetry;
    ``history`` of placements and of expansions, by cell; ``cell``, ``area`` and ``rank`` of the
    actions at each ply.
    """
    fields = (
        ("nodes", np.int64),
        ("limit", np.int64),
        ("stop", np.int64),
        ("eager", np.int64),
        ("keys", np.int64, (8,)),
        ("history", np.int64, (2, _LARGEST**2)),
        ("cell", np.int64, (PLIES, MOVES)),
        ("area", np.int64, (PLIES, MOVES)),
        ("rank", np.int64, (PLIES, MOVES)),
    )
    workers = np.zeros(threads, record_dtype(*fields))
    workers["limit"] = NO_LIMIT
    workers["eager"] = eager
    return workers


def _key_bits(size: int) -> int:
    return (5 ** (size * size) - 1).bit_length()
