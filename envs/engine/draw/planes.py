"""The default picture and text of a game without its own: they show what player_0 observes.

Each cell has a field for every plane, with the plane's letter; it is drawn where the plane is not
0. Features of a flat observation are drawn as the cells of one plane without a letter.
"""

from __future__ import annotations

from math import ceil, sqrt
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from .grid import Frame, cell_name, draw_frame
from .layers import SYMBOLS
from .picture import (
    DARK,
    INK,
    LIGHT,
    SMALL_TEXT,
    WIDTH,
    fitted_text,
    is_light,
    last_mark,
    moved,
    rgb_of,
    square,
    svg_text,
)
from .scene import Role, Scene, slots_at

if TYPE_CHECKING:
    from ..game import Game
    from ..position import Position

_ROW = 16  # features in a row
_PAPER = "#d8d2c4"
# Colours of the fields, in turn; their lightness differs.
_FILLS = ("#1f4e79", "#f0932b", "#6cc98a", "#a78be0", "#c9302c", "#f8e04e", "#9aa0a8", "#ffffff")
_LEGEND = 30.0  # height of a line of the legend


def planes_scene(game: Game) -> Scene:
    """A scene whose slots are the planes, cell by cell, and a mark of each cell."""
    frame, names = _frame(game), _planes(game)
    cells = [frame.place(cell) for cell in range(game.planes_shape[1])]
    side = ceil(sqrt(len(names)))  # fields in a row of a cell
    unit = 0.9 * frame.unit / side
    slots = []
    for plane in range(len(names)):
        row, column = divmod(plane, side)
        aside, down = ((step - (side - 1) / 2) * unit for step in (column, row))
        shapes = ["", _field(plane, _letter(plane) if names[plane] else "", 0.9 * unit)]
        slots += slots_at([(x + aside, y + down) for x, y in cells], shapes)
    tile = f'{square(frame.unit)} fill="none" stroke="{INK}" stroke-opacity="0.3"/>'
    legend, bottom = _legend(names, frame.bottom)
    return Scene(
        bottom=bottom,
        ground=[*frame.elements, *(moved(x, y, tile) for x, y in cells), *legend],
        slots=[*slots, *slots_at(cells, ["", last_mark(square(0.94 * frame.unit))])],
        roles=[Role("", f'<g transform="scale(2)">{piece}</g>') for piece in SYMBOLS["owners"]],
        show=None,
    )


def planes_text(position: Position) -> list[str]:
    """Lines: the board, with the letter of each cell's first plane that is not 0, and a legend.

    A flat observation gives one line with the features that are not 0.
    """
    game = position.game
    planes = position.observation(0).reshape(game.planes_shape)
    names = _planes(game)
    if len(game.observation_shape) == 1:
        marked = [
            name for name, entry in zip(game.observation_names, planes[0], strict=True) if entry
        ]
        return [f"player_0 sees: {', '.join(marked)}"]
    _, height, width = game.observation_shape
    letters = [
        "." if not column.any() else _letter(int(np.argmax(column != 0))) for column in planes.T
    ]
    ranks = [
        f"{rank + 1:2} {' '.join(letters[rank * width :][:width])}"
        for rank in reversed(range(height))
    ]
    files = " ".join(cell_name(file, width)[0] for file in range(width))
    meanings = ", ".join(f"{_letter(plane)} {name}" for plane, name in enumerate(names))
    return [*ranks, f"   {files}", f"player_0 sees: {meanings}"]


def spots_of_places(game: Game) -> np.ndarray | None:
    """The place of each action's cell in the picture, as for `Game.action_spots`."""
    if game.action_places is None:
        return None
    frame = _frame(game)
    cells = game.tables[0].action_cells.tolist()
    return np.array([(np.nan, np.nan) if cell < 0 else frame.place(cell) for cell in cells])


def _frame(game: Game) -> Frame:
    if len(game.observation_shape) == 3:
        _, height, width = game.observation_shape
    else:
        width = min(game.observation_shape[0], _ROW)
        height = ceil(game.observation_shape[0] / width)
    return draw_frame(width, height, _PAPER)


def _planes(game: Game) -> list[str]:
    """The names of the planes; a single unnamed one for a flat observation."""
    return list(game.observation_names) if len(game.observation_shape) == 3 else [""]


def _letter(plane: int) -> str:
    return ascii_letters[plane % len(ascii_letters)]


def _field(plane: int, letter: str, size: float) -> str:
    fill = _FILLS[plane % len(_FILLS)]
    ink = DARK if is_light(*rgb_of(fill)) else LIGHT
    return (
        f'{square(size, size / 8)} fill="{fill}" stroke="{DARK}"/>'
        f"{svg_text(0, 0, letter, 0.7 * size, ink)}"
    )


def _legend(names: list[str], top: float) -> tuple[list[str], float]:
    """The legend of the letters, two in a line from ``top`` on, and the y at which it ends."""
    lines = []
    for plane, name in enumerate(names if any(names) else []):
        x, y = 16 + plane % 2 * WIDTH / 2, top + (plane // 2 + 0.5) * _LEGEND
        text = f"{_letter(plane)}: {name}"
        lines.append(fitted_text(x, y, text, SMALL_TEXT, INK, WIDTH / 2 - 32, "start"))
    return lines, top + ceil(len(lines) / 2) * _LEGEND
