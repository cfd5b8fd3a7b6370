"""Corso's board: sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from ..board.grid import cell_name, draw_frame, orthogonal_neighbours, read_cell, square_symmetries
from ..board.picture import svg_document, svg_gradients
from ..engine.game import Game, Symmetries
from ..engine.messages import quoted
from ..engine.options import Option
from ..engine.rule import table_record
from . import rules
from .rules import DYE, MARBLE, NUM_PLANES, OPEN

_PLANE_NAMES = ("own marbles", "other marbles", "own dye", "other dye", "open cells")
_EVENTS = (
    *("opponent's marble taken", "opponent's dye taken"),
    *("expansion", "chain reaction", "marble set off by another"),
)
_TEXT_SYMBOLS = {OPEN: ".", MARBLE: "O", MARBLE + 1: "X", DYE: "o", DYE + 1: "x"}
_MARBLE_COLOURS = (("#ffffff", "#c9c4b8", "#8a8475"), ("#6b7280", "#262b34", "#14171c"))
_GRADIENTS = svg_gradients("marble", ((light, dark) for light, dark, _ in _MARBLE_COLOURS))
_DYE_COLOURS = ("#fbf6e9", "#59616e")
_BOARD = "#b08d57"
_CELL = "#c7a56f"
_MARK = "#d9482b"
_UNIT = 80.0  # side of a cell in the picture


class Corso(Game):
    """Corso (Ball-Man, 2023): place marbles, expand them, control the most cells."""

    name = "corso"
    title = "Corso"
    summary = "place marbles, set off chain reactions, control the most cells"
    credit = "Ball-Man, 2023"
    option_list = (Option("size", 5, range(2, 10), "cells on a side of the square board"),)
    notation = "with ! behind it where the action expands a marble: c3!"
    rules: ClassVar = rules

    def setup(self) -> None:
        size: int = self.options["size"]
        cells = size**2
        self.size = size
        self.state_dtype = rules.state_dtype(cells)
        self.tables = table_record(
            neighbours=orthogonal_neighbours(size, size),
            owner=np.array([0, 1, -1, 1, -1], np.int8),
        )
        self.num_actions = cells
        self.action_names = [cell_name(cell, size) for cell in range(cells)]
        self.observation_shape = (NUM_PLANES, size, size)
        self.observation_names = _PLANE_NAMES
        self.max_score = cells
        self.action_places = np.arange(cells)
        self.binary_observation = True
        self.max_plies = 2 * cells
        self.has_owners = True
        self.event_names = _EVENTS

    def action_to_text(self, state: np.record, action: int) -> str:
        mark = "" if state.cells[action] == OPEN else "!"
        return cell_name(action, self.size) + mark

    def text_to_action(self, state: np.record, text: str) -> int:
        match = re.fullmatch(r"([a-z][0-9]+)(!?)", text)
        if not match:
            raise ValueError(
                f"{quoted(text)} is malformed: write a cell to place there (c3), "
                "or a cell and an exclamation mark to expand the marble on it (c3!)"
            )
        action = read_cell(match[1], self.size, self.size)
        if match[2] and state.cells[action] == OPEN:
            raise ValueError(
                f"{quoted(text)} is not legal now: {match[1]} is open, so there is nothing to "
                f"expand; write {match[1]!r} to place a marble"
            )
        if not match[2] and state.cells[action] == MARBLE + state.mover and not state.outcome:
            raise ValueError(
                f"{quoted(text)} is not legal now: your own marble stands on {match[1]}; "
                f"write '{match[1]}!' to expand it"
            )
        return action

    def why_illegal(self, state: np.record, action: int) -> str:
        content = int(state.cells[action])
        if content >= DYE:
            return f"{cell_name(action, self.size)} is dyed, and dyed cells cannot be used"
        return f"the marble on {cell_name(action, self.size)} is the opponent's"

    def owners(self, states: np.ndarray) -> np.ndarray:
        return self.tables[0].owner[states["cells"]]

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        cells, movers = before["cells"], before["mover"].astype(int)[:, None]
        rows = np.arange(len(cells))
        expands = cells[rows, actions] != OPEN
        is_dyed = (after["cells"] == DYE + movers) & (cells != after["cells"])
        others_marbles = (is_dyed & (cells == MARBLE + 1 - movers)).sum(1)
        set_off = others_marbles + (is_dyed & (cells == MARBLE + movers)).sum(1) - expands
        others_dye = (is_dyed & (cells == DYE + 1 - movers)).sum(1)
        counts = [others_marbles, others_dye, expands, set_off > 0, set_off]
        return np.stack(counts, axis=1, dtype=np.int32)

    def board_text(self, state: np.record) -> str:
        lines = []
        for rank in reversed(range(self.size)):
            row = state.cells[rank * self.size : (rank + 1) * self.size]
            lines.append(f"{rank + 1} " + " ".join(_TEXT_SYMBOLS[int(c)] for c in row))
        lines.append("  " + " ".join(cell_name(file, self.size)[0] for file in range(self.size)))
        return "\n".join([*lines, self.standing(state)])

    def marks(self, state: np.record, player: int) -> str:
        return ", ".join(_TEXT_SYMBOLS[content + player] for content in (MARBLE, DYE))

    def tally(self, state: np.record) -> tuple[int, int]:
        owners = self.tables[0].owner[state.cells]
        return int((owners == 1).sum()), int((owners == -1).sum())

    def symmetries(self) -> Symmetries:
        cells = square_symmetries(self.size)
        planes = np.arange(NUM_PLANES)[None, :, None] * self.num_actions
        return Symmetries(
            actions=cells,
            observation=(planes + cells[:, None, :]).reshape(len(cells), -1),
        )

    def action_spots(self) -> np.ndarray:
        _, place, _, _ = draw_frame(self.size, self.size, _UNIT, _BOARD)
        return np.array([place(cell) for cell in range(self.num_actions)])

    def svg(self, state: np.record, last_action: int | None = None) -> str:
        frame, place, width, height = draw_frame(self.size, self.size, _UNIT, _BOARD)
        elements = [_GRADIENTS, *frame]
        for cell in range(self.num_actions):
            x, y = place(cell)
            content = int(state.cells[cell])
            fill = _DYE_COLOURS[content - DYE] if content >= DYE else _CELL
            inset = 0.04 * _UNIT
            mark = f' stroke="{_MARK}" stroke-width="4"' if cell == last_action else ""
            elements.append(
                f'<rect x="{x - _UNIT / 2 + inset:g}" y="{y - _UNIT / 2 + inset:g}" '
                f'width="{_UNIT - 2 * inset:g}" height="{_UNIT - 2 * inset:g}" rx="8" '
                f'fill="{fill}"{mark}/>'
            )
            if content in (MARBLE, MARBLE + 1):
                player = content - MARBLE
                elements.append(
                    f'<circle cx="{x:g}" cy="{y:g}" r="{0.34 * _UNIT:g}" '
                    f'fill="url(#marble{player})" stroke="{_MARBLE_COLOURS[player][2]}"/>'
                )
        return svg_document(width, height, "Corso", elements)
