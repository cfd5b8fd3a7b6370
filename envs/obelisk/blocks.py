"""The catalogue of blocks: the default one, and how another one is read and checked.

A catalogue is written as in ``blocks.json``, which is the default one; the README of this
folder explains its format.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..engine.files import MEGABYTE, read_json_file
from ..engine.messages import quoted
from .geometry import HEIGHT, SIDE, Cube, connected, shifted

#: Colours that a block may have, and how each is painted: also of different lightness.
COLOURS = {
    "black": "#34373d",
    "white": "#faf8f2",
    "grey": "#9aa0a8",
    "brown": "#7a4a22",
    "red": "#c9302c",
    "orange": "#f0932b",
    "yellow": "#f8e04e",
    "green": "#6cc98a",
    "blue": "#2f6cc0",
    "purple": "#a78be0",
}

_MOST_TYPES = 100
_MOST_OF_A_TYPE = 50
_MOST_VALUE = 50
_MOST_CUBES = SIDE * SIDE * HEIGHT
_FARTHEST = 100  # from 0, of a coordinate as it is written
_TOWER = {"width": SIDE, "depth": SIDE, "height": HEIGHT}
_BLOCK_KEYS = ("id", "colour", "value", "count", "cubes")


@dataclass(frozen=True)
class Block:
    """One type of block: how it looks, what it is worth, how many there are, its cubes."""

    id: str
    colour: str
    value: int
    count: int
    cubes: tuple[Cube, ...]

    @property
    def height(self) -> int:
        """Cubes from bottom to top; flipping does not change it."""
        return 1 + max(z for _, _, z in self.cubes)


@dataclass(frozen=True)
class Catalogue:
    """The types of the common pile, in the order of their numbers, and the black block."""

    types: tuple[Block, ...]
    black: Block

    @property
    def everything(self) -> tuple[Block, ...]:
        """All types, the black block last."""
        return (*self.types, self.black)

    @property
    def pile_size(self) -> int:
        """Blocks in the common pile of a new game."""
        return sum(block.count for block in self.types)


def accept_blocks(value: Any) -> dict[str, Any] | None:
    """The option ``blocks`` in its normal form: ``None`` for the default catalogue, or a dict.

    Args:
        value: ``None``, the path of a JSON file, or what such a file contains.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be read, or the catalogue is not one; the message names the
            block and says what is wrong with it.
    """
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        value = read_json_file(value, MEGABYTE, "a catalogue of blocks")
    normal = _written(_checked(value))
    return None if normal == _default_file() else normal


def catalogue(option: Mapping[str, Any] | None) -> Catalogue:
    """The catalogue that a value of the option ``blocks`` in its normal form stands for."""
    return _checked(_default_file() if option is None else option)


@cache
def _default_file() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("blocks.json").read_text(encoding="utf-8"))


def _written(blocks: Catalogue) -> dict[str, Any]:
    """The catalogue as in a file, so that equal ones are equal and JSON can hold them."""
    return {
        "tower": dict(_TOWER),
        "black": _written_block(blocks.black),
        "blocks": [_written_block(block) for block in blocks.types],
    }


def _written_block(block: Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "colour": block.colour,
        "value": block.value,
        "count": block.count,
        "cubes": [list(cube) for cube in block.cubes],
    }


def _checked(value: Any) -> Catalogue:
    _check_keys("the catalogue", value, ("tower", "black", "blocks"))
    if value["tower"] != _TOWER:
        raise ValueError(
            f"tower is {quoted(value['tower'])}, but action numbers and observations are made for "
            f"{SIDE} x {SIDE} columns of height {HEIGHT}: write {json.dumps(_TOWER)}"
        )
    entries = value["blocks"]
    if not _is_list(entries) or not 1 <= len(entries) <= _MOST_TYPES:
        raise ValueError(f"blocks must be a list of 1 to {_MOST_TYPES} blocks")
    black = _checked_block("the black block", value["black"])
    if black.cubes != ((0, 0, 0),):
        raise ValueError(
            f"block {black.id!r}: the black block must be a single cube, for it is placed by "
            f"naming a column; it has {len(black.cubes)} cubes"
        )
    types = tuple(
        _checked_block(f"block number {number}", entry) for number, entry in enumerate(entries, 1)
    )
    blocks = Catalogue(types, black)
    seen: set[str] = set()
    for block in blocks.everything:
        if block.id in seen:
            raise ValueError(f"block {block.id!r}: two blocks have this id; every id must differ")
        seen.add(block.id)
    if blocks.pile_size < 2:
        raise ValueError(
            f"block {types[0].id!r} is alone in the pile; a turn needs two blocks: "
            "raise its count or add a block"
        )
    return blocks


def _checked_block(place: str, entry: Any) -> Block:
    """The block that one entry of a file describes; ``place`` names it until its id is known."""
    if isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
        place = f"block {quoted(entry['id'])}"
    _check_keys(place, entry, _BLOCK_KEYS)
    if not isinstance(entry["id"], str) or not re.fullmatch(r"[a-z0-9-]{1,40}", entry["id"]):
        raise ValueError(
            f"{place}: id is {quoted(entry['id'])}; an id is 1 to 40 of the letters a-z, digits "
            "and hyphens, so that moves can be written with it"
        )
    if not isinstance(entry["colour"], str) or entry["colour"] not in COLOURS:
        raise ValueError(
            f"{place}: colour is {quoted(entry['colour'])}; colours are {', '.join(COLOURS)}"
        )
    for key, low, high in (("value", -_MOST_VALUE, _MOST_VALUE), ("count", 1, _MOST_OF_A_TYPE)):
        if type(entry[key]) is not int or not low <= entry[key] <= high:
            raise ValueError(
                f"{place}: {key} is {quoted(entry[key])}; it must be an integer from {low} to "
                f"{high}"
            )
    return Block(
        entry["id"],
        entry["colour"],
        entry["value"],
        entry["count"],
        _checked_cubes(place, entry["cubes"]),
    )


def _checked_cubes(place: str, value: Any) -> tuple[Cube, ...]:
    """The cubes in rising order, shifted so that the least x, y and z are 0."""
    if not _is_list(value) or not 1 <= len(value) <= _MOST_CUBES:
        raise ValueError(f"{place}: cubes must be a list of [x, y, z], 1 to {_MOST_CUBES} of them")
    for cube in value:
        if not _is_list(cube) or len(cube) != 3 or not all(map(_is_coordinate, cube)):
            raise ValueError(
                f"{place}: cube {quoted(cube)} is not a list of three integers [x, y, z] from "
                f"-{_FARTHEST} to {_FARTHEST}"
            )
    cubes = [(x, y, z) for x, y, z in value]
    for number, cube in enumerate(cubes):
        if cube in cubes[:number]:
            raise ValueError(f"{place}: cube {list(cube)} appears twice")
    sizes = [1 + max(axis) - min(axis) for axis in zip(*cubes, strict=True)]
    if sizes[0] > SIDE or sizes[1] > SIDE or sizes[2] > HEIGHT:
        raise ValueError(
            f"{place}: it is {sizes[0]} x {sizes[1]} cubes and {sizes[2]} high, which does not "
            f"fit into a tower of {SIDE} x {SIDE}, {HEIGHT} high"
        )
    loose = set(cubes) - connected(cubes)
    if loose:
        raise ValueError(
            f"{place}: its cubes are not connected face to face; {list(min(loose))} does not "
            f"hang together with {list(cubes[0])}"
        )
    return shifted(cubes)


def _check_keys(place: str, value: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{place} must have the keys {', '.join(keys)}; it is {quoted(value)}")
    missing = [key for key in keys if key not in value]
    unknown = next((key for key in value if key not in keys), None)
    if missing or unknown is not None:
        faults = [f"lacks {', '.join(missing)}"] * bool(missing)
        faults += [f"has the unknown {quoted(unknown)}"] * (unknown is not None)
        raise ValueError(f"{place} {' and '.join(faults)}; the keys are {', '.join(keys)}")


def _is_coordinate(value: Any) -> bool:
    return type(value) is int and abs(value) <= _FARTHEST


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
