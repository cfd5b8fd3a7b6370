"""Geometry, notation and drawing that games on rectangular boards share.

A cell's index is ``rank * width + file``, both from 0; file ``a`` is at the left, rank 1 at
the bottom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ludarium.base.messages import quoted

from .picture import HEAD, SMALL_TEXT, WIDTH, file_letter, svg_text


def cell_name(cell: int, width: int) -> str:
    """Name of a cell, such as ``c4``; the board is at most 26 wide."""
    return f"{file_letter(cell % width)}{cell // width + 1}"


def read_cell(text: str, width: int, height: int) -> int:
    """Index of the cell named ``text`` (lower case).

    Raises:
        ValueError: the text is not a cell's name, or the cell is off the board.
    """
    match = re.fullmatch(r"([a-z])([1-9][0-9]?)", text)
    if not match:
        raise ValueError(
            f"{quoted(text)} is malformed: a cell is a letter and a number, such as c4"
        )
    file, rank = ord(match[1]) - ord("a"), int(match[2]) - 1
    if file >= width or rank >= height:
        last = cell_name(width * height - 1, width)
        raise ValueError(f"{quoted(text)} is malformed: the board's cells go from a1 to {last}")
    return rank * width + file


def orthogonal_neighbours(width: int, height: int) -> np.ndarray:
    """Neighbours of each cell, uint16[cells, 4], filled up with the cell itself at the edges."""
    neighbours = np.repeat(np.arange(width * height, dtype=np.uint16)[:, None], 4, axis=1)
    for cell in range(width * height):
        rank, file = divmod(cell, width)
        steps = [(rank, file - 1), (rank, file + 1), (rank - 1, file), (rank + 1, file)]
        inside = [r * width + f for r, f in steps if 0 <= r < height and 0 <= f < width]
        neighbours[cell, : len(inside)] = inside
    return neighbours


def square_symmetries(size: int) -> np.ndarray:
    """The 8 symmetries of a square board, int32[8, cells]; ``new = old[table[s]]``."""
    board = np.arange(size * size, dtype=np.int32).reshape(size, size)
    turns = [np.rot90(board, quarter) for quarter in range(4)]
    return np.stack([image.ravel() for turn in turns for image in (turn, turn[:, ::-1])])


_INK = "#3b2c14"  # the colour of coordinates


@dataclass(frozen=True)
class Frame:
    """A rectangular board in a picture, which begins at `HEAD` and is as wide as the picture.

    Attributes:
        elements: SVG of the background and the coordinates.
        width, height: size in cells.
        unit: side of a cell in user units.
        bottom: y at which the board ends.
    """

    elements: list[str]
    width: int
    height: int
    unit: float
    bottom: float

    def place(self, cell: int) -> tuple[float, float]:
        """The centre of a cell in the picture."""
        rank, file = divmod(cell, self.width)
        return (file + 1) * self.unit, HEAD + (self.height - rank) * self.unit


def draw_frame(width: int, height: int, colour: str) -> Frame:
    """The background and the coordinates of a board of ``width`` by ``height`` cells."""
    unit = WIDTH / (width + 1)
    board_height = (height + 1) * unit
    bottom = HEAD + board_height
    elements = [f'<rect y="{HEAD:g}" width="{WIDTH:g}" height="{board_height:g}" fill="{colour}"/>']
    frame = Frame(elements, width, height, unit, bottom)
    size = min(max(0.28 * unit, SMALL_TEXT), 30)
    for file in range(width):
        x, _ = frame.place(file)
        elements.append(svg_text(x, bottom - unit / 4, file_letter(file), size, _INK))
    for rank in range(height):
        _, y = frame.place(rank * width)
        elements.append(svg_text(unit / 4, y, str(rank + 1), size, _INK))
    return frame
