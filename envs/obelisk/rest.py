"""Where a block comes to rest on a tower, for texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import HEIGHT, SIDE, Cube


@dataclass(frozen=True)
class Rest:
    """A block on a tower.

    Attributes:
        low, high: it stands from this height to that one.
        lost: cells below it that can never be filled.
        above: its cubes higher than the rods.
        heights: of the columns afterwards.
    """

    low: int
    high: int
    lost: int
    above: int
    heights: np.ndarray

    def __str__(self) -> str:
        lost = f" -{self.lost}" if self.lost else ""
        return f"{self.low}-{self.high}{'!' if self.above else ''}{lost}"


def come_to_rest(heights: np.ndarray, cubes: frozenset[Cube]) -> Rest:
    """Where a block slides down to; ``cubes`` are a placement's, the lowest at 0."""
    bottoms: dict[int, int] = {}
    tops: dict[int, int] = {}
    for x, y, z in cubes:
        column = SIDE * y + x
        bottoms[column] = min(z, bottoms.get(column, z))
        tops[column] = max(z + 1, tops.get(column, 0))
    low = max(int(heights[column]) - bottom for column, bottom in bottoms.items())
    after = np.array(heights, int)
    for column, top in tops.items():
        after[column] = low + top
    lost = sum(low + bottom - int(heights[column]) for column, bottom in bottoms.items())
    above = sum(low + z >= HEIGHT for _, _, z in cubes)
    return Rest(low, low + max(tops.values()), lost, above, after)
