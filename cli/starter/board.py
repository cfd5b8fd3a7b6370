"""Tic-tac-toe: what it is made of, and how it is written."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ludarium.envs import Game, Position, Spec, Symmetries, Texts
from ludarium.envs.engine.draw.grid import cell_name, square_symmetries
from ludarium.envs.engine.rule import table_record

from . import rules
from .rules import CELLS, MARK, PLANES

# CHANGE: what the rules look up, here the cells of each line.
_SIDE = 3
_LINES = [
    *([0, 1, 2], [3, 4, 5], [6, 7, 8]),
    *([0, 3, 6], [1, 4, 7], [2, 5, 8]),
    *([0, 4, 8], [2, 4, 6]),
]
_SYMBOLS = ".XO"


class TicTacToe(Game):
    """Tic-tac-toe: three in a row on a board of three by three."""

    name = "tictactoe"
    title = "Tic-tac-toe"
    # CHANGE: add `summary` (a line) and `credit` (inventor, year); `version = 1` after a change of
    # the rules or of what agents see.
    rules: ClassVar = rules

    def setup(self) -> Spec:
        # CHANGE: a name for each action, the board as (height, width) or None, the longest game,
        # and each action's cell; the guide's page "Functions of a game" lists the rest.
        return Spec(
            state_dtype=rules.state_dtype(),
            tables=table_record(lines=np.array(_LINES, np.uint8)),
            action_names=[cell_name(cell, _SIDE) for cell in range(CELLS)],
            observation_names=PLANES,
            board=(_SIDE, _SIDE),
            max_plies=CELLS,
            max_score=1,
            action_places=np.arange(CELLS),
            reasons=Texts(("{0} is taken",)),
        )

    # CHANGE: the next three have defaults; leave out what does not fit.

    def symmetries(self) -> Symmetries:
        return Symmetries.of_board(square_symmetries(_SIDE), len(PLANES))

    def board_text(self, position: Position) -> str:
        marks = [_SYMBOLS[int(content)] for content in position.state.cells]
        ranks = [f"{rank + 1} " + " ".join(marks[_SIDE * rank :][:_SIDE]) for rank in (2, 1, 0)]
        return "\n".join([*ranks, "  a b c", position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return _SYMBOLS[MARK + player]
