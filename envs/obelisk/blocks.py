"""Reads and checks catalogues of blocks, the default one and the user's own.

A catalogue has the format of ``blocks.json``, which is the default one; the README of this
folder explains it.
"""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ludarium.base.files import MEGABYTE, convert, read_json_file
from ludarium.base.messages import quoted

from .geometry import HEIGHT, SIDE, Cube, Placements, connected, placements, shifted

#: Colours that a block may have, and how each is painted; they differ in lightness too.
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

_SIMILAR = 6  # names that are offered instead of an unknown one

#: Coordinates in a file; only the cubes' positions relative to each other matter.
Coordinate = Annotated[int, Meta(ge=-100, le=100)]


class Block(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One type of block: its looks, its value, how many there are, its cubes.

    The cubes are in rising order, and shifted so that the least x, y and z are 0.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,40}\Z")]  # stands in the text of moves
    colour: str
    value: Annotated[int, Meta(ge=-50, le=50)]
    count: Annotated[int, Meta(ge=1, le=50)]
    cubes: Annotated[
        tuple[tuple[Coordinate, Coordinate, Coordinate], ...],
        Meta(min_length=1, max_length=SIDE * SIDE * HEIGHT),
    ]

    def __post_init__(self) -> None:
        if self.colour not in COLOURS:
            raise ValueError(
                f"{self.id!r} has the colour {quoted(self.colour)}; accepted: {', '.join(COLOURS)}"
            )
        cubes: tuple[Cube, ...] = shifted(self.cubes)
        if len(set(cubes)) < len(cubes):
            raise ValueError(f"{self.id!r} has a cube twice")
        width, depth, height = (1 + max(axis) for axis in zip(*cubes, strict=True))
        if width > SIDE or depth > SIDE or height > HEIGHT:
            raise ValueError(
                f"{self.id!r} is {width} x {depth} cubes and {height} high, which does not fit "
                f"into a tower of {SIDE} x {SIDE}, {HEIGHT} high"
            )
        if len(connected(cubes)) < len(cubes):
            raise ValueError(f"the cubes of {self.id!r} are not connected face to face")
        msgspec.structs.force_setattr(self, "cubes", cubes)

    @property
    def height(self) -> int:
        """Cubes from bottom to top; flipping does not change it."""
        return 1 + max(z for _, _, z in self.cubes)


class Tower(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The size of the tower, which action numbers and observations are made for."""

    width: Literal[3]
    depth: Literal[3]
    height: Literal[9]


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """The types of the common pile, in the order of their numbers, and the black block."""

    tower: Tower
    black: Block
    types: Annotated[tuple[Block, ...], Meta(min_length=1, max_length=100)] = msgspec.field(
        name="blocks"
    )

    def __post_init__(self) -> None:
        if len(self.black.cubes) > 1:
            raise ValueError(
                f"the black block has {len(self.black.cubes)} cubes; it must be a single one, "
                "because a move names only its column"
            )
        ids = [block.id for block in self.everything]
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise ValueError(f"two blocks have the id {twice!r}")
        if self.pile_size < 2:
            raise ValueError(f"{ids[0]!r} is alone in the pile, and a turn needs two blocks")

    @property
    def everything(self) -> tuple[Block, ...]:
        """All types, the black block last."""
        return (*self.types, self.black)

    @property
    def pile_size(self) -> int:
        """Blocks in the common pile of a new game."""
        return sum(block.count for block in self.types)

    @cached_property
    def placements(self) -> list[Placements]:
        """The placements of each block."""
        return [placements(block.cubes) for block in self.everything]

    def type_named(self, name: str) -> int:
        """The number of a type of block.

        Raises:
            ValueError: there is none of that name; the message has the most similar ones.
        """
        ids = [block.id for block in self.types]
        if name not in ids:
            similar = get_close_matches(name[:40], ids, n=_SIMILAR, cutoff=0)
            raise ValueError(
                f"no block is called {quoted(name)}; similar are {', '.join(similar)} "
                f"({len(ids)} types in all)"
            )
        return ids.index(name)


def accept_blocks(value: Any) -> dict[str, Any] | None:
    """The option ``blocks`` in its normal form: ``None`` for the default catalogue, or a dict.

    Args:
        value: ``None``, the path of a JSON file, or what such a file contains.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be read, or the catalogue is malformed; the message names the
            file, the place or the block, and says what is wrong.
    """
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        blocks = read_json_file(value, MEGABYTE, "a catalogue of blocks", Catalogue)
    else:
        blocks = convert(value, "the catalogue", Catalogue)
    # Convert it to JSON values: equal catalogues become equal options, and records can hold them.
    return None if blocks == _default() else msgspec.json.decode(msgspec.json.encode(blocks))


def catalogue_of(option: dict[str, Any] | None) -> Catalogue:
    """The catalogue for a value of the option ``blocks`` in its normal form."""
    return _default() if option is None else msgspec.convert(option, Catalogue)


@cache
def _default() -> Catalogue:
    content = Path(__file__).with_name("blocks.json").read_bytes()
    return msgspec.json.decode(content, type=Catalogue)
