"""Keeps results of a long search: who wins the first plies, and what took the most work.

A search that begins with these entries in its table is spared that work, so it knows in moments who
wins a position of the first plies.

A file has int64[N, 2]: the number of a position as the table has it (see `kernels`: the least
of the eight, fixed cells as the mover's own), and an entry's low 23 bits.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position

from ..solver import after
from ..table import read_table, write_table
from . import kernels
from .board import cells_of, check_game, kernels_of
from .kernels import board_record, new_workers

RAISED = 24  # added to the effort of entries that were asked for, so that hardly any displace them
_MOST = 63  # the largest effort that fits into an entry
_SUFFIX = ".known.safetensors"
_FORMAT = 1


def hardest_known(
    table: np.ndarray, board: np.record, asked: Sequence[tuple[int, int]], count: int
) -> np.ndarray:
    """Entries of a search's table: those that were asked for, and those that took the most work.

    Args:
        table: the search's table.
        board: the record that the search used, see `board_record`.
        asked: numbers of positions with their entries' low bits, 0 where there is no entry.
        count: how many entries to take in all.

    Returns:
        int64[count or fewer, 2], sorted by number. Entries that were asked for are recorded with
        `RAISED` more effort, up to 63, so that hardly any others displace them in the tables into
        which they are written.
    """
    wanted: dict[int, int] = {}
    for number, data in asked[:count]:
        if data:
            effort = min((int(data) >> kernels.WORK_SHIFT) + RAISED, _MOST)
            rest = int(data) & (1 << kernels.WORK_SHIFT) - 1
            wanted[int(number)] = effort << kernels.WORK_SHIFT | rest
    places = np.flatnonzero(table)
    work = table[places] >> kernels.WORK_SHIFT & 63
    places = places[np.argsort(-work, kind="stable")[:count]]
    entries = table[places]
    scrambled = (entries >> kernels.TAG_SHIFT) << int(board.bucket_bits) | places // kernels.BUCKET
    numbers = _unscrambled(board, scrambled)
    for number, data in zip(numbers.tolist(), (entries & kernels.DATA_MASK).tolist(), strict=True):
        if len(wanted) < count:
            wanted.setdefault(number, data)
    return np.array(sorted(wanted.items()), np.int64).reshape(-1, 2)


def _unscrambled(board: np.record, keys: np.ndarray) -> np.ndarray:
    """The inverse of `kernels.scramble`."""
    mask, shift = int(board.key_mask), int(board.key_shift)
    numbers = keys.astype(np.uint64)
    for factor in reversed(board.factors.tolist()):
        shifted = numbers
        while shifted.any():
            shifted = shifted >> np.uint64(shift)
            numbers = numbers ^ shifted
        numbers = numbers * np.uint64(pow(factor, -1, mask + 1)) & np.uint64(mask)
    return numbers.astype(np.int64)


def first_positions(game: Game, plies: int) -> list[Position]:
    """The unfinished positions after up to ``plies`` plies, one for each `kernels.number_of`.

    Raises:
        ValueError: the search cannot handle the game, see `check_game`.
    """
    boards, workers = board_record(check_game(game).size, kernels.BUCKET, 0), new_workers(1, 0)
    found: dict[int, Position] = {}
    layer = [game.start()]
    for _ in range(plies + 1):
        following = []
        for position in layer:
            number = int(kernels_of(game).number_of(boards, workers, cells_of(position)))
            if number not in found and not position.is_over:
                found[number] = position
                following += [after(position, action) for action in position.legal_actions]
        layer = following
    return list(found.values())


def write_known(path: str | os.PathLike[str], game: Game, known: np.ndarray) -> Path:
    """Write the entries of `hardest_known`, int64[N, 2], to a file; return the path.

    Raises:
        ValueError, OSError: see `write_table`.
    """
    return write_table(path, _description(game), known)


def read_known(path: str | os.PathLike[str], game: Game) -> np.ndarray:
    """Read entries from a file of `write_known`, int64[N, 2]; its checksum is verified.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not such a file, or damaged, or for other rules.
    """
    return read_table(path, np.int64, (None, 2), _description(game))


def shipped_known(game: Game) -> np.ndarray:
    """The entries that ship for a board, int64[N, 2]; N is 0 if the board needs none.

    Raises:
        ValueError: the search cannot handle the game, see `check_game`, or the file is damaged.
    """
    size = check_game(game).size
    path = Path(__file__).with_name(f"{size}x{size}{_SUFFIX}")
    return np.array(read_known(path, game)) if path.is_file() else np.zeros((0, 2), np.int64)


def _description(game: Game) -> dict[str, Any]:
    """What a file says that it is for."""
    options = dict(game.options)
    return {"format": _FORMAT, "game": game.name, "version": game.version, "options": options}
