"""Hex's board: sizes and tables, text of positions, symmetry, picture."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import ClassVar

import numpy as np

from ludarium.envs import Game, Option, Position, Spec, Symmetries
from ludarium.envs.engine.draw.grid import cell_name
from ludarium.envs.engine.draw.picture import (
    HEAD,
    WIDTH,
    file_letter,
    last_mark,
    round_piece,
    svg_points,
    svg_text,
)
from ludarium.envs.engine.draw.scene import Role, Scene, ranks, slots_at
from ludarium.envs.engine.position_text import PositionFormat, from_the_top
from ludarium.envs.engine.rule import table_record
from ludarium.envs.engine.spec import BoardTurn, Texts

from . import rules, view
from .rules import EMPTY, FIRST, LAST, MAY_SWAP, PLANES, STONES

_SYMBOLS = ".XO"
_NAMES = ("red", "blue")
_GOALS = ("bottom to top", "left to right")
_COLOURS = (("#c8352b", "#5c100b"), ("#2f6fd0", "#0e2c5c"))
_REASONS = (
    "{0} is taken",
    "this game is played without the swap rule (option 'swap_rule')",
    "sides can be swapped only by player_1, in place of its first move",
)
#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "X has as many stones as O, or one more if player 1 is to move; after a swap one less: here "
    "{0} and {1}, and player_{2} is to move",
    "the player to move has won, so the game was over before",
)
_PAPER, _CELL, _LINE, _INK = "#d9d3c3", "#f4efe3", "#7d7666", "#3b2c14"


class Hex(Game):
    """Hex (Piet Hein, 1942; John Nash, 1948): join two opposite sides with a chain."""

    name = "hex"
    title = "Hex"
    summary = "join your two sides of a board of hexagons with a chain of stones"
    credit = "Piet Hein, 1942, and John Nash, 1948"
    option_list = (
        Option("size", 11, range(2, 20), "cells on a side of the board"),
        Option("swap_rule", False, (False, True), "player_1 may swap sides after the first move"),
    )
    featured_options = ({"size": 7, "swap_rule": True},)
    rules: ClassVar = rules

    def setup(self) -> Spec:
        size: int = self.options["size"]
        swap_rule: bool = self.options["swap_rule"]
        cells = size**2
        self.size, self.cells = size, cells
        edges = np.zeros((2, size, size), np.uint8)
        edges[0, 0], edges[1, :, 0] = FIRST, FIRST
        edges[0, -1], edges[1, :, -1] = LAST, LAST
        turned = np.arange(cells).reshape(size, size).T.ravel()
        names = [cell_name(cell, size) for cell in range(cells)]
        return Spec(
            state_dtype=rules.state_dtype(size),
            tables=table_record(
                side=size,
                neighbours=_neighbours(size),
                edges=edges.reshape(2, cells),
                swap_ply=1 if swap_rule else -1,
            ),
            action_names=[*names, "swap"],
            observation_names=PLANES[: MAY_SWAP + swap_rule],
            board=(size, size),
            max_plies=cells + 1,
            action_places=np.append(np.arange(cells), -1),
            canonical_turn=BoardTurn(turned, np.append(turned, cells), rules.is_turned),
            tasks=Texts(("move", "move or swap"), view.task),
            reasons=Texts(_REASONS, view.reason),
            give_turn=view.give_turn,
            position_format=PositionFormat(
                letters=_SYMBOLS,
                rows=from_the_top([size] * size),
                faults=_FAULTS,
                write=view.write_text,
                read=view.read_text,
            ),
        )

    def symmetries(self) -> Symmetries:
        """The identity and half a turn."""
        cells = np.arange(self.cells)
        return Symmetries.of_board(
            np.stack([cells, cells[::-1]]), planes=self.observation_shape[0], others=1
        )

    def board_text(self, position: Position) -> str:
        lines = []
        for rank in reversed(range(self.size)):
            row = position.state.board[rank * self.size :][: self.size] & STONES
            lines.append(f"{' ' * rank}{rank + 1:>2} " + " ".join(_SYMBOLS[int(c)] for c in row))
        files = " ".join(file_letter(file) for file in range(self.size))
        return "\n".join([*lines, "  " + files, position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return _SYMBOLS[1 + player]

    # Picture.

    def action_spots(self) -> np.ndarray:
        places, _, _ = self._places()
        return np.vstack([places, [np.nan, np.nan]])

    def scene(self) -> Scene:
        places, unit, bottom = self._places()
        points = [
            (unit * sin(k * pi / 3) / sqrt(3), unit * cos(k * pi / 3) / sqrt(3)) for k in range(6)
        ]
        hexagon = f'<polygon points="{svg_points(points)}"'
        stones = ["", *(round_piece(0.36 * unit, fill, edge) for fill, edge in _COLOURS)]
        mark = last_mark(f'<circle r="{0.2 * unit:g}"')
        return Scene(
            bottom=bottom,
            ground=self._ground(places, unit, bottom, hexagon),
            slots=[*slots_at(places.tolist(), stones), *slots_at(places.tolist(), ["", mark])],
            roles=[
                Role(f"{name}, {goal}", round_piece(24, fill, edge))
                for name, goal, (fill, edge) in zip(_NAMES, _GOALS, _COLOURS, strict=True)
            ],
            rows=ranks(self.action_names[: self.cells], ("empty", *_NAMES)),
            show=view.show,
        )

    def _places(self) -> tuple[np.ndarray, float, float]:
        """The centre of each cell, float[cells, 2], a cell's width, and the board's bottom."""
        size = self.size
        unit = WIDTH / (1.5 * size + 1.5)
        height = unit * sqrt(3) / 2
        bottom = HEAD + (size + 1.5) * height
        rank, file = np.divmod(np.arange(self.cells), size)
        x = unit * (1.5 + file + rank / 2)
        return np.stack([x, bottom - height * (1.25 + rank)], axis=1), unit, bottom

    def _ground(self, places: np.ndarray, unit: float, bottom: float, hexagon: str) -> list[str]:
        """The background, the sides in their colours, the cells, and the coordinates."""
        size = self.size
        elements = [
            f'<rect y="{HEAD:g}" width="{WIDTH:g}" height="{bottom - HEAD:g}" fill="{_PAPER}"/>'
        ]
        edges = self.tables[0].edges
        for player, (fill, _) in enumerate(_COLOURS):
            for x, y in places[edges[player] != EMPTY]:
                wide = f'stroke="{fill}" stroke-width="{0.3 * unit:g}" stroke-linejoin="round"'
                elements.append(f'<g transform="translate({x:.1f} {y:.1f})">{hexagon} {wide}/></g>')
        for x, y in places:
            look = f'fill="{_CELL}" stroke="{_LINE}"'
            elements.append(f'<g transform="translate({x:.1f} {y:.1f})">{hexagon} {look}/></g>')
        letters = min(0.4 * unit, 26)
        for k in range(size):
            x, y = places[k]
            elements.append(
                svg_text(x - 0.3 * unit, y + 0.88 * unit, file_letter(k), letters, _INK)
            )
            x, y = places[k * size]
            elements.append(svg_text(x - 0.95 * unit, y, str(k + 1), letters, _INK))
        return elements


def _neighbours(size: int) -> np.ndarray:
    """Neighbours of each cell, uint16[cells, 6], filled up with the cell itself at the edges."""
    neighbours = np.repeat(np.arange(size**2, dtype=np.uint16)[:, None], 6, axis=1)
    for cell in range(size**2):
        rank, file = divmod(cell, size)
        for k, (up, right) in enumerate([(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)]):
            if 0 <= rank + up < size and 0 <= file + right < size:
                neighbours[cell, k] = cell + up * size + right
    return neighbours
