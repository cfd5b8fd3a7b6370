"""Othello's board: sizes and tables, text of positions, symmetries, picture."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ludarium.envs import Game, Option, Position, Spec, Symmetries
from ludarium.envs.engine.draw.grid import cell_name, draw_frame, square_symmetries
from ludarium.envs.engine.draw.picture import (
    LIGHT,
    file_letter,
    last_mark,
    open_mark,
    outlined,
    round_piece,
    square,
)
from ludarium.envs.engine.draw.scene import Role, Scene, ranks, slots_at
from ludarium.envs.engine.position_text import PositionFormat, from_the_top
from ludarium.envs.engine.rule import table_record
from ludarium.envs.engine.spec import Texts

from . import rules, view
from .rules import PLANES

_SYMBOLS = ".XO"
_NAMES = ("black", "white")
_COLOURS = (("#17191c", "#000000"), ("#f7f4ec", "#8a8475"))
_REASONS = (
    "{0} is taken",
    "a disc on {0} encloses nothing",
    "only a player who cannot move may pass",
)
#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "the four cells in the middle are never empty",
    "player 0 is to move at the start: write 0",
)
_BOARD, _CELL = "#8fb89b", "#2f8455"


class Othello(Game):
    """Othello (Goro Hasegawa, 1971): enclose discs to turn them, the most discs win."""

    name = "othello"
    title = "Othello"
    summary = "enclose discs to turn them; the most discs win"
    credit = "Goro Hasegawa, 1971, after Reversi of 1883"
    option_list = (Option("size", 8, (6, 8), "cells on a side of the board"),)
    featured_options = ({"size": 6},)
    rules: ClassVar = rules

    def setup(self) -> Spec:
        size: int = self.options["size"]
        cells = size**2
        self.size, self.cells = size, cells
        low = size // 2 - 1  # the lower file and rank of the middle
        white = (low * size + low, (low + 1) * size + low + 1)
        black = (low * size + low + 1, (low + 1) * size + low)
        ways = [(up, right) for up in (-1, 0, 1) for right in (-1, 0, 1) if up or right]
        names = [cell_name(cell, size) for cell in range(cells)]
        return Spec(
            state_dtype=rules.state_dtype(),
            tables=table_record(
                cells=cells,
                longest=size - 3,  # discs of a row that can be enclosed, after the first one
                steps=np.array([up * size + right for up, right in ways]),
                inside=np.array([_bits(_led_to(size, *way)) for way in ways], np.uint64),
                board=np.uint64(_bits(range(cells))),
                start=np.array([_bits(black), _bits(white)], np.uint64),
            ),
            action_names=[*names, "pass"],
            observation_names=PLANES,
            board=(size, size),
            max_plies=2 * (cells - 4),  # each pass is followed by a move
            max_score=cells,
            action_places=np.append(np.arange(cells), -1),
            tasks=Texts(("move", "pass"), view.task),
            reasons=Texts(_REASONS, view.reason),
            owner=view.owner,
            takes=view.takes,
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
        return Symmetries.of_board(square_symmetries(self.size), len(PLANES), others=1)

    def contents(self, state: np.record) -> list[int]:
        """What each cell holds: 0 nothing, 1 a disc of player_0, 2 of player_1."""
        return [view.disc_on(state, cell) for cell in range(self.cells)]

    def board_text(self, position: Position) -> str:
        contents, lines = self.contents(position.state), []
        for rank in reversed(range(self.size)):
            row = contents[rank * self.size :][: self.size]
            lines.append(f"{rank + 1} " + " ".join(_SYMBOLS[content] for content in row))
        files = " ".join(file_letter(file) for file in range(self.size))
        return "\n".join([*lines, "  " + files, position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return _SYMBOLS[1 + player]

    def scene(self) -> Scene:
        frame = draw_frame(self.size, self.size, _BOARD)
        places = [frame.place(cell) for cell in range(self.cells)]
        cell, radius = f'{square(0.96 * frame.unit)} fill="{_CELL}"/>', 0.4 * frame.unit
        discs = [cell, *(cell + round_piece(radius, fill, edge) for fill, edge in _COLOURS)]
        last = last_mark(f'<circle r="{0.16 * frame.unit:g}"')
        turned = outlined(f'<circle r="{0.07 * frame.unit:g}"', LIGHT, frame.unit / 60)
        return Scene(
            bottom=frame.bottom,
            ground=frame.elements,
            slots=[
                *slots_at(places, discs),
                *slots_at(places, ["", last, turned, open_mark(0.06 * frame.unit)]),
            ],
            roles=[
                Role(name, round_piece(24, fill, edge))
                for name, (fill, edge) in zip(_NAMES, _COLOURS, strict=True)
            ],
            rows=ranks(self.action_names[: self.cells], ("empty", *_NAMES)),
            show=view.show,
        )


def _bits(cells: Any) -> int:
    return sum(1 << int(cell) for cell in cells)


def _led_to(size: int, up: int, right: int) -> list[int]:
    """The cells to which a step in a direction leads from another cell of the board."""
    return [
        rank * size + file
        for rank in range(size)
        for file in range(size)
        if 0 <= rank - up < size and 0 <= file - right < size
    ]
