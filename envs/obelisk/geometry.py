"""Obelisk's geometry: cubes, the ways a block can lie, where it can be put, and mirror images.

A cube is ``(x, y, z)``, each at least 0; z counts upwards. Column ``3 * y + x`` of a tower holds
the cubes with this x and y.

A block lies in one of 8 orientations, ``4 * flipped + quarter turns``, and is put down in one of 72
placements, ``9 * orientation + position``, with ``position = 3 * least y + least x``. If several
orientations give the same cubes, only the lowest has placements. `rules.resting_height` computes
the height at which a block comes to rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

#: A cube of a block.
Cube = tuple[int, int, int]
#: The cubes over the columns of a tower by placement number; the lowest cube is at z = 0.
Placements = dict[int, frozenset[Cube]]

SIDE = 3  # columns of a tower in each direction
COLUMNS = SIDE * SIDE
HEIGHT = 9  # height of the rods, in cubes
ORIENTATIONS = 8
PLACEMENTS = ORIENTATIONS * COLUMNS

_FAR_ABOVE, _FAR_BELOW = 100, -100  # stand for columns that a placement does not cover


def shifted(cubes: Sequence[Cube]) -> tuple[Cube, ...]:
    """The same cubes in rising order, with least x, y and z 0."""
    low_x, low_y, low_z = (min(axis) for axis in zip(*cubes, strict=True))
    return tuple(sorted((x - low_x, y - low_y, z - low_z) for x, y, z in cubes))


def connected(cubes: Sequence[Cube]) -> set[Cube]:
    """The cubes that are connected to the first one."""
    reached, waiting = {cubes[0]}, [cubes[0]]
    while waiting:
        x, y, z = waiting.pop()
        for near in (
            *((x - 1, y, z), (x + 1, y, z), (x, y - 1, z)),
            *((x, y + 1, z), (x, y, z - 1), (x, y, z + 1)),
        ):
            if near in cubes and near not in reached:
                reached.add(near)
                waiting.append(near)
    return reached


def oriented(cubes: Sequence[Cube], orientation: int) -> tuple[Cube, ...]:
    """The block, turned upside down if ``orientation`` is 4 or more, and then by quarter turns."""
    flipped, quarters = divmod(orientation, 4)
    turned = list(cubes)
    if flipped:
        turned = [(x, -y, -z) for x, y, z in turned]
    for _ in range(quarters):
        turned = [(-y, x, z) for x, y, z in turned]
    return shifted(turned)


def own_orientations(cubes: Sequence[Cube]) -> list[int]:
    """The orientations that differ from every lower one."""
    shapes = [oriented(cubes, orientation) for orientation in range(ORIENTATIONS)]
    return [number for number, shape in enumerate(shapes) if shape not in shapes[:number]]


def after_turn(cubes: Sequence[Cube], orientation: int) -> int:
    """The lowest orientation that looks like this one after one more quarter turn."""
    flipped, quarters = divmod(orientation, 4)
    return lowest(cubes, 4 * flipped + (quarters + 1) % 4)


def after_flip(cubes: Sequence[Cube], orientation: int) -> int:
    """The lowest orientation that looks like this one turned upside down about the x axis."""
    flipped, quarters = divmod(orientation, 4)
    return lowest(cubes, 4 * (1 - flipped) + -quarters % 4)


def lowest(cubes: Sequence[Cube], orientation: int) -> int:
    """The lowest orientation that looks like this one."""
    shape = oriented(cubes, orientation)
    return next(lower for lower in range(ORIENTATIONS) if oriented(cubes, lower) == shape)


def orientation_text(orientation: int) -> str:
    """The text of an orientation, such as ``r3f``."""
    flipped, quarters = divmod(orientation, 4)
    return f"r{quarters}{'f' * flipped}"


def placements(cubes: Sequence[Cube]) -> Placements:
    """The placements of a block by number: the cubes over the columns, the lowest at z = 0."""
    found = {}
    for orientation in own_orientations(cubes):
        shape = oriented(cubes, orientation)
        width, depth = (1 + max(cube[axis] for cube in shape) for axis in (0, 1))
        for y in range(SIDE - depth + 1):
            for x in range(SIDE - width + 1):
                number = COLUMNS * orientation + SIDE * y + x
                found[number] = frozenset((x + i, y + j, z) for i, j, z in shape)
    return found


# Tables; `rules` describes them.


def profiles(all_placements: Sequence[Placements]) -> tuple[np.ndarray, np.ndarray]:
    """The tables ``underside`` and ``top``, int8[blocks, 72, 9]."""
    shape = (len(all_placements), PLACEMENTS, COLUMNS)
    underside, top = np.full(shape, _FAR_ABOVE, np.int8), np.full(shape, _FAR_BELOW, np.int8)
    for block, places in enumerate(all_placements):
        for place, cubes in places.items():
            for x, y, z in cubes:
                entry = block, place, SIDE * y + x
                underside[entry] = min(underside[entry], z)
                top[entry] = max(top[entry], z + 1)
    return underside, top


def cubes_above(blocks: Sequence[Sequence[Cube]]) -> np.ndarray:
    """The table ``above``, uint8[blocks, 2, 10]."""
    above = np.zeros((len(blocks), 2, HEIGHT + 1), np.uint8)
    for number, cubes in enumerate(blocks):
        for flipped in (0, 1):
            for _, _, z in oriented(cubes, 4 * flipped):
                for rest in range(HEIGHT + 1):
                    above[number, flipped, rest] += z + rest >= HEIGHT
    return above


# Symmetries.


def moved(cube: Cube, quarters: int, mirrored: bool) -> Cube:
    """The image of a tower's cube under a left-right mirroring, if any, and then quarter turns."""
    x, y, z = cube
    if mirrored:
        x = SIDE - 1 - x
    for _ in range(quarters):
        x, y = SIDE - 1 - y, x
    return x, y, z


def column_images(mirrored: bool, quarters: int) -> np.ndarray:
    """Where a symmetry of a tower takes each of its columns, int[9]."""
    images = [moved((c % SIDE, c // SIDE, 0), quarters, mirrored) for c in range(COLUMNS)]
    return np.array([SIDE * y + x for x, y, _ in images])


def mirror_images(
    blocks: Sequence[Sequence[Cube]], worths: Sequence[tuple[int, int]]
) -> list[int] | None:
    """For each block the number of its mirror image; None if some block has none.

    A mirror image must have the same worth, (value, count). A block with the same shape as its
    mirror image keeps its number.
    """
    by_shape: dict[tuple[Cube, ...], list[int]] = defaultdict(list)
    for number, cubes in enumerate(blocks):
        by_shape[_any_way_round(cubes)].append(number)
    images = list(range(len(blocks)))
    for shape, numbers in by_shape.items():
        mirrored = _any_way_round([(-x, y, z) for x, y, z in shape])
        if mirrored == shape:
            continue
        numbers = sorted(numbers, key=lambda number: worths[number])
        partners = sorted(by_shape.get(mirrored, []), key=lambda number: worths[number])
        if [worths[number] for number in numbers] != [worths[number] for number in partners]:
            return None
        for number, partner in zip(numbers, partners, strict=True):
            images[number] = partner
    return images


def _any_way_round(cubes: Sequence[Cube]) -> tuple[Cube, ...]:
    """A key that is the same for all orientations of a block, and differs between shapes."""
    return min(oriented(cubes, orientation) for orientation in range(ORIENTATIONS))
