"""The board of tic-tac-toe: sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

import numpy as np

from ludarium.envs.board.grid import cell_name, draw_frame, read_cell, square_symmetries
from ludarium.envs.board.picture import last_mark, moved, square, svg_text
from ludarium.envs.board.scene import Role, Scene, slots_at
from ludarium.envs.engine.game import Game, Symmetries
from ludarium.envs.engine.rule import table_record

from . import rules, view
from .rules import CELLS, MARK, NUM_PLANES

_SIDE = 3
_LINES = [
    *([0, 1, 2], [3, 4, 5], [6, 7, 8]),
    *([0, 3, 6], [1, 4, 7], [2, 5, 8]),
    *([0, 4, 8], [2, 4, 6]),
]
_SYMBOLS = ".XO"
_PAPER, _CELL, _INK = "#d8d2c4", "#f4f0e6", "#2b2b2b"


class TicTacToe(Game):
    """Tic-tac-toe: three in a row on a board of three by three."""

    name = "tictactoe"
    title = "Tic-tac-toe"
    summary = "three in a row"
    credit = "traditional"
    rules = rules
    view = view

    def setup(self) -> None:
        self.state_dtype = rules.state_dtype()
        self.tables = table_record(lines=np.array(_LINES, np.uint8))
        self.num_actions = CELLS
        self.action_names = [cell_name(cell, _SIDE) for cell in range(CELLS)]
        self.observation_shape = (NUM_PLANES, _SIDE, _SIDE)
        self.observation_names = ["own marks", "other marks", "empty cells"]
        self.max_score = 1
        self.action_places = np.arange(CELLS)
        self.binary_observation = True
        self.max_plies = CELLS

    def text_to_action(self, state: np.record, text: str) -> int:
        return read_cell(text, _SIDE, _SIDE)

    def why_illegal(self, state: np.record, action: int) -> str:
        return f"{cell_name(action, _SIDE)} is taken"

    def board_text(self, state: np.record) -> str:
        marks = [_SYMBOLS[int(content)] for content in state.cells]
        ranks = [f"{rank + 1} " + " ".join(marks[_SIDE * rank :][:_SIDE]) for rank in (2, 1, 0)]
        return "\n".join([*ranks, "  a b c", self.standing(state)])

    def marks(self, state: np.record, player: int) -> str:
        return _SYMBOLS[MARK + player]

    def symmetries(self) -> Symmetries:
        cells = square_symmetries(_SIDE)
        planes = CELLS * np.arange(NUM_PLANES)[None, :, None]
        return Symmetries(
            actions=cells,
            observation=(planes + cells[:, None, :]).reshape(len(cells), -1),
        )

    def action_spots(self) -> np.ndarray:
        frame = draw_frame(_SIDE, _SIDE, _PAPER)
        return np.array([frame.place(cell) for cell in range(CELLS)])

    def scene(self) -> Scene:
        frame = draw_frame(_SIDE, _SIDE, _PAPER)
        places = [frame.place(cell) for cell in range(CELLS)]
        cell, size = square(frame.unit), 0.7 * frame.unit
        tile = f'{cell} fill="{_CELL}" stroke="{_INK}"/>'
        marks = ["", *(svg_text(0, 0, symbol, size, _INK) for symbol in "XO")]
        return Scene(
            bottom=frame.bottom,
            ground=[*frame.elements, *(moved(*place, tile) for place in places)],
            slots=[*slots_at(places, marks), *slots_at(places, ["", last_mark(cell)])],
            roles=[Role("", svg_text(0, 0, symbol, 50, _INK)) for symbol in "XO"],
        )
