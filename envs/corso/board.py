"""Corso's board: sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from ludarium.base.messages import quoted

from ..engine.draw.grid import (
    cell_name,
    draw_frame,
    orthogonal_neighbours,
    read_cell,
    square_symmetries,
)
from ..engine.draw.picture import (
    LIGHT,
    last_mark,
    outlined,
    round_piece,
    square,
    svg_gradients,
    taken_mark,
)
from ..engine.draw.scene import Role, Scene, ranks, slots_at
from ..engine.game import Game, Symmetries
from ..engine.options import Option
from ..engine.position import Position
from ..engine.position_text import PositionFormat, from_the_top
from ..engine.rule import table_record
from ..engine.spec import Spec, Texts
from . import rules, view
from .rules import DYE, MARBLE, NUM_PLANES, OPEN

_PLANE_NAMES = ("own marbles", "other marbles", "own dye", "other dye", "open cells")
_EVENTS = (
    *("opponent's marble taken", "opponent's dye taken"),
    *("expansion", "chain reaction", "marble set off by another"),
)
#: Reasons, numbered as in the view.
_REASONS = (
    "{0} is dyed, and dyed cells cannot be used",
    "the marble on {0} is the opponent's",
)
#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "without dye, player_0 has placed as many marbles as player_1 when it is to move, and one more "
    "otherwise: here {0} and {1}, and player_{2} to move",
    "no expansion left the dye in row {0}, cell {1}: neither this cell, nor one beside it, is dyed "
    "with all cells beside it",
    "as players take turns, {0} or more marbles were expanded, and each leaves a cell that is dyed "
    "with all cells beside it; such cells: {1}",
)
_TEXT_SYMBOLS = ".OXox"  # by what a cell holds
_NAMES = ("light", "dark")
_WORDS = ("open", *(f"{name} {what}" for what in ("marble", "dye") for name in _NAMES))
_MARBLE_COLOURS = (("#ffffff", "#d9d4c6", "#6f695c"), ("#6b7280", "#1d2129", "#0c0e12"))
_GRADIENTS = svg_gradients("marble", ((light, dark) for light, dark, _ in _MARBLE_COLOURS))
_DYE_COLOURS = ("#fdf8ea", "#4a525f")
_BOARD = "#a9834c"
_CELL = "#c7a56f"


class Corso(Game):
    """Corso (Ball-Man, 2023): place marbles, expand them, control the most cells."""

    name = "corso"
    title = "Corso"
    summary = "place marbles, set off chain reactions, control the most cells"
    credit = "Ball-Man, 2023"
    option_list = (Option("size", 5, range(2, 10), "cells on a side of the square board"),)
    notation = "with a ! after it where the action expands a marble: c3!"
    rules: ClassVar = rules

    def setup(self) -> Spec:
        size: int = self.options["size"]
        cells = size**2
        self.size = size
        names = [cell_name(cell, size) for cell in range(cells)]
        return Spec(
            state_dtype=rules.state_dtype(cells),
            tables=table_record(
                neighbours=orthogonal_neighbours(size, size),
                owner=np.array([0, 1, -1, 1, -1], np.int8),
            ),
            action_names=names,
            observation_names=_PLANE_NAMES,
            board=(size, size),
            max_plies=cells,  # README.md has the proof
            max_score=cells,
            action_places=np.arange(cells),
            words=Texts([*names, *(f"{name}!" for name in names)], view.word),
            reasons=Texts(_REASONS, view.reason),
            event_names=_EVENTS,
            owner=view.owner,
            takes=view.takes,
            give_turn=view.give_turn,
            position_format=PositionFormat(
                letters=_TEXT_SYMBOLS,
                rows=from_the_top([size] * size),
                faults=_FAULTS,
                write=view.write_text,
                read=view.read_text,
            ),
        )

    def text_to_action(self, position: Position, text: str) -> int:
        state = position.state
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

    def board_text(self, position: Position) -> str:
        lines, cells = [], position.state.cells
        for rank in reversed(range(self.size)):
            row = cells[rank * self.size : (rank + 1) * self.size]
            lines.append(f"{rank + 1} " + " ".join(_TEXT_SYMBOLS[int(c)] for c in row))
        lines.append("  " + " ".join(cell_name(file, self.size)[0] for file in range(self.size)))
        return "\n".join([*lines, position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return ", ".join(_TEXT_SYMBOLS[content + player] for content in (MARBLE, DYE))

    def symmetries(self) -> Symmetries:
        return Symmetries.of_board(square_symmetries(self.size), NUM_PLANES)

    def scene(self) -> Scene:
        frame = draw_frame(self.size, self.size, _BOARD)
        places = [frame.place(cell) for cell in range(self.num_actions)]
        return Scene(
            bottom=frame.bottom,
            ground=[_GRADIENTS, *frame.elements],
            slots=[
                *slots_at(places, _contents(frame.unit)),
                *slots_at(places, _marks(frame.unit)),
            ],
            roles=[Role(name, _marble(24, player)) for player, name in enumerate(_NAMES)],
            show=view.show,
            rows=ranks(self.action_names, _WORDS),
        )


def _marble(radius: float, player: int) -> str:
    return round_piece(radius, f"url(#marble{player})", _MARBLE_COLOURS[player][2])


def _square(share: float, unit: float) -> str:
    """The beginning of a square element; its side is ``share`` of a cell's side."""
    return square(share * unit, share * unit / 10)


def _contents(unit: float) -> list[str]:
    """Shapes of a cell by what it holds, numbered as in the rules."""
    cell = _square(0.92, unit)
    open_cell = f'{cell} fill="{_CELL}"/>'
    marbles = [open_cell + _marble(0.34 * unit, player) for player in (0, 1)]
    return [open_cell, *marbles, *(f'{cell} fill="{colour}"/>' for colour in _DYE_COLOURS)]


def _marks(unit: float) -> list[str]:
    """The marks of a cell, numbered as in the view; cells taken by an expansion are crossed."""
    dyed = outlined(_square(0.56, unit), LIGHT, unit / 60)
    return ["", last_mark(_square(0.84, unit)), dyed, dyed + taken_mark(0.12 * unit)]
