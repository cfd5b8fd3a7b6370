"""Tic-tac-toe whose position is two bitboards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ludarium.envs import Game, Spec
from ludarium.envs.engine.rule import table_record
from tests.tictactoe import TicTacToe
from tests.tictactoe.board import _LINES

from . import rules


class BitTicTacToe(TicTacToe):
    """Tic-tac-toe, whose rules count with bits."""

    name = "bittactoe"
    rules = rules
    board_text = Game.board_text

    def setup(self) -> Spec:
        lines = np.array([sum(1 << cell for cell in line) for line in _LINES], np.uint64)
        tables = table_record(lines=lines, full=np.uint64(0b111_111_111))
        return replace(super().setup(), state_dtype=rules.state_dtype(), tables=tables)
