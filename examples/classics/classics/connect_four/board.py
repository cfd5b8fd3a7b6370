"""Connect Four's board: sizes and tables, text of positions, symmetry, picture."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ludarium.envs import Game, Option, Position, Spec, Symmetries
from ludarium.envs.engine.draw.grid import cell_name, draw_frame
from ludarium.envs.engine.draw.picture import file_letter, last_mark, round_piece
from ludarium.envs.engine.draw.scene import Role, Scene, ranks, slots_at
from ludarium.envs.engine.position_text import PositionFormat, from_the_top
from ludarium.envs.engine.rule import table_record
from ludarium.envs.engine.spec import Texts

from . import rules, view
from .rules import PLANES

_SYMBOLS = ".XO"
_NAMES = ("yellow", "red")
_COLOURS = (("#f5d040", "#8a6d00"), ("#b3202a", "#4d0a10"))
#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "a stone hangs in the air: stones lie on each other from below",
    "X has dropped as many stones as O, or one more if player 1 is to move",
    "the player to move has four in a row, so the game was over before",
)
_BOARD, _HOLE = "#7ba3e0", "#e9eef7"


class ConnectFour(Game):
    """Connect Four: drop stones into columns, four in a row win."""

    name = "connect_four"
    title = "Connect Four"
    summary = "drop stones into columns; four in a row win"
    credit = "sold as Connect Four by Howard Wexler and Ned Strongin, 1974"
    option_list = (
        Option("width", 7, range(4, 9), "columns of the board"),
        Option("height", 6, range(4, 8), "cells of a column"),
    )
    rules: ClassVar = rules

    def setup(self) -> Spec:
        width, height = self.options["width"], self.options["height"]
        self.width, self.height = width, height
        stride = height + 1
        return Spec(
            state_dtype=rules.state_dtype(width),
            tables=table_record(
                height=height,
                stride=stride,
                cells=np.array([c % width * stride + c // width for c in range(width * height)]),
                steps=np.array([1, stride - 1, stride, stride + 1], np.uint64),
            ),
            action_names=[file_letter(column) for column in range(width)],
            observation_names=PLANES,
            board=(height, width),
            max_plies=width * height,
            action_places=np.arange(width) + width * (height - 1),  # the top cell of each column
            reasons=Texts(("column {0} is full",)),
            give_turn=view.give_turn,
            position_format=PositionFormat(
                letters=_SYMBOLS,
                rows=from_the_top([width] * height),
                faults=_FAULTS,
                write=view.write_text,
                read=view.read_text,
            ),
        )

    def symmetries(self) -> Symmetries:
        columns = np.arange(self.width)
        cells = np.arange(2 * self.max_plies).reshape(2, self.height, self.width)
        mirrored = cells[..., ::-1]
        return Symmetries(
            np.stack([columns, columns[::-1]]), np.stack([cells.ravel(), mirrored.ravel()])
        )

    def contents(self, state: np.record) -> np.ndarray:
        """What each cell holds, int[cells]: 0 nothing, 1 a stone of player_0, 2 of player_1."""
        bits = self.tables[0].cells.astype(np.uint64)
        own = [(stones >> bits & np.uint64(1)).astype(int) for stones in state.stones]
        return own[0] + 2 * own[1]

    def board_text(self, position: Position) -> str:
        rows = self.contents(position.state).reshape(self.height, self.width)[::-1]
        lines = ["  " + " ".join(_SYMBOLS[content] for content in row) for row in rows]
        return "\n".join([*lines, "  " + " ".join(self.action_names), position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return _SYMBOLS[1 + player]

    def scene(self) -> Scene:
        frame = draw_frame(self.width, self.height, _BOARD)
        places = [frame.place(cell) for cell in range(self.max_plies)]
        radius = 0.42 * frame.unit
        stones = [round_piece(radius, fill, edge) for fill, edge in _COLOURS]
        mark = last_mark(f'<circle r="{0.3 * frame.unit:g}"')
        names = [cell_name(cell, self.width) for cell in range(self.max_plies)]
        return Scene(
            bottom=frame.bottom,
            ground=frame.elements,
            slots=[
                *slots_at(places, [round_piece(radius, _HOLE, _BOARD), *stones]),
                *slots_at(places, ["", mark]),
            ],
            roles=[
                Role(name, round_piece(24, fill, edge))
                for name, (fill, edge) in zip(_NAMES, _COLOURS, strict=True)
            ],
            rows=ranks(names, ("empty", *_NAMES)),
            show=view.show,
        )
