"""Osiron's board as the analysis sees it, and its colourings by number.

A colouring is the set of the mover's twelve spaces, an integer with a bit for each. Sets are
numbered in rising order; cut into an upper and a lower half of twelve bits, the number of a set
is that of the first set with the same upper half, plus the rank of the lower half among all of
its size.
"""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import table_record
from ludarium.envs.osiron.board import CORNERS, PAIR_ENDS
from ludarium.envs.osiron.rules import ALL_SPACES, CIRCLES, PAIRS, SPACES

_HALF = SPACES // 2
_HALVES = np.arange(1 << _HALF)
_SIZES = np.bitwise_count(_HALVES)
#: The halves of each size, in rising order.
_OF_SIZE = [_HALVES[size == _SIZES] for size in range(_HALF + 1)]
_UNREACHABLE = 1 << SPACES  # a space that is not there, in place of a circle that does not count


def board_record(game: Game) -> np.ndarray:
    """The board with the rules of a game, a record as the kernels take it:

    - ``ends`` uint8[30, 2]: the spaces of each pair;
    - ``exchange`` int32[31]: the set of these two, empty for no pair;
    - ``seen`` uint8[2, 30]: each pair as the light and as the dark player see it;
    - ``goals`` int32[2, 7]: the circles that count for the mover and for the opponent, on the
      board as the mover sees it;
    - ``first`` int32[4096]: the number of the first colouring with each upper half;
    - ``rank`` int16[4096]: the rank of each lower half;
    - ``reversed`` int16[4096]: each half with its bits in reverse order.
    """
    turned_ends = [(SPACES - 1 - higher, SPACES - 1 - lower) for lower, higher in PAIR_ENDS]
    followers = np.array([len(_OF_SIZE[_HALF - size]) for size in _SIZES])
    rank = np.empty(len(_HALVES), np.int16)
    for halves in _OF_SIZE:
        rank[halves] = np.arange(len(halves))
    bits = _HALVES[:, None] >> np.arange(_HALF) & 1
    start = int(game.start(0).state.light)
    return table_record(
        ends=np.array(PAIR_ENDS, np.uint8),
        exchange=np.array([*(1 << low | 1 << high for low, high in PAIR_ENDS), 0], np.int32),
        seen=np.array([range(PAIRS), [PAIR_ENDS.index(ends) for ends in turned_ends]], np.uint8),
        goals=np.array([_goals(start), _goals(start ^ ALL_SPACES)], np.int32),
        first=(np.cumsum(followers) - followers).astype(np.int32),
        rank=rank,
        reversed=(bits[:, ::-1] << np.arange(_HALF)).sum(axis=1).astype(np.int16),
    )


def all_colourings() -> np.ndarray:
    """All colourings in the order of their numbers, int32[2704156]."""
    return np.concatenate(
        [
            upper << _HALF | _OF_SIZE[_HALF - size]
            for upper, size in zip(_HALVES, _SIZES, strict=True)
        ]
    ).astype(np.int32)


def _goals(start: int) -> list[int]:
    """The circles that count for a player: all, save those that the player starts with."""
    points = sorted(set().union(*CORNERS))
    around = [[s for s, corners in enumerate(CORNERS) if point in corners] for point in points]
    circles = [sum(1 << space for space in spaces) for spaces in around if len(spaces) == 6]
    assert len(circles) == CIRCLES
    return [_UNREACHABLE if circle & start == circle else circle for circle in circles]
