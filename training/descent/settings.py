"""Settings of a minimax search."""

from __future__ import annotations

from typing import NamedTuple


class MinimaxSettings(NamedTuple):
    """Settings of one search: plain numbers, which compiled kernels accept directly.

    Attributes:
        expansions: positions to expand for each move, those kept from earlier moves aside. A line
            that has begun is followed to its end.
        to_end: follow each line to the end of the game (Descent), or only to the first position
            that is new (best-first minimax).
        score_weight: of the score beside the result in a position's value; 0 in games without
            points.
        exploitation: of the ordinal distribution that self-play draws its actions from: with 1 the
            best action, with 0 all alike.
    """

    expansions: int = 64
    to_end: bool = False
    score_weight: float = 0.0
    exploitation: float = 1.0
