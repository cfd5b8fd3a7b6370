"""Where a block can stand on a tower: its orientations, its placements, and their mirror images.

A placement's number is ``9 * orientation + position``, with ``orientation = 4 * flipped +
quarter turns`` and ``position = 3 * least y + least x``. Of orientations that give the same
cubes, only the lowest is a placement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .blocks import SIDE, Block, Cube, shifted

COLUMNS = SIDE * SIDE
ORIENTATIONS = 8
PLACEMENTS = ORIENTATIONS * COLUMNS


def oriented(cubes: Sequence[Cube], orientation: int) -> tuple[Cube, ...]:
    """The block turned upside down if ``orientation`` is 4 or more, then by quarter turns."""
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
    return _lowest(cubes, 4 * flipped + (quarters + 1) % 4)


def after_flip(cubes: Sequence[Cube], orientation: int) -> int:
    """The lowest orientation that looks like this one turned upside down about the x axis."""
    flipped, quarters = divmod(orientation, 4)
    return _lowest(cubes, 4 * (1 - flipped) + -quarters % 4)


def _lowest(cubes: Sequence[Cube], orientation: int) -> int:
    shape = oriented(cubes, orientation)
    return next(lower for lower in range(ORIENTATIONS) if oriented(cubes, lower) == shape)


def orientation_text(orientation: int) -> str:
    """An orientation in writing, such as ``r3f``."""
    flipped, quarters = divmod(orientation, 4)
    return f"r{quarters}{'f' * flipped}"


def placements(cubes: Sequence[Cube]) -> dict[int, frozenset[Cube]]:
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


def moved(cube: Cube, quarters: int, mirrored: bool) -> Cube:
    """The cube of a tower after a left-right mirroring, if so, and then quarter turns."""
    x, y, z = cube
    if mirrored:
        x = SIDE - 1 - x
    for _ in range(quarters):
        x, y = SIDE - 1 - y, x
    return x, y, z


def mirror_types(types: Sequence[Block]) -> list[int] | None:
    """For each type the number of its mirror image, or None where some type has none.

    A type and its mirror image have equal values and counts. Types that are their own mirror
    images stay what they are.
    """
    by_shape: dict[tuple[Cube, ...], list[int]] = defaultdict(list)
    for number, block in enumerate(types):
        by_shape[_any_way_round(block.cubes)].append(number)
    images = list(range(len(types)))
    for shape, numbers in by_shape.items():
        mirrored = _any_way_round([(-x, y, z) for x, y, z in shape])
        if mirrored == shape:
            continue
        numbers = sorted(numbers, key=lambda number: _worth(types[number]))
        partners = sorted(by_shape.get(mirrored, []), key=lambda number: _worth(types[number]))
        if [_worth(types[n]) for n in numbers] != [_worth(types[n]) for n in partners]:
            return None
        for number, partner in zip(numbers, partners, strict=True):
            images[number] = partner
    return images


def _any_way_round(cubes: Sequence[Cube]) -> tuple[Cube, ...]:
    """The same for all orientations of a block, and different for different blocks."""
    return min(oriented(cubes, orientation) for orientation in range(ORIENTATIONS))


def _worth(block: Block) -> tuple[int, int]:
    return block.value, block.count
