"""Tic-tac-toe on bits of a ``uint64``, for tests of games of that kind: the game and its rules.

Tables: ``lines`` uint64[8] has the cells of each line, ``full`` uint64 those of the board.
"""

import sys
from dataclasses import replace

import numpy as np

from ludarium.cli.starter.board import _LINES
from ludarium.envs import Game, Spec
from ludarium.envs.engine import bits
from ludarium.envs.engine import rule as engine
from ludarium.envs.engine.rule import rule, table_record
from tests.tictactoe import TicTacToe

CELLS = 9


def state_dtype() -> np.dtype:
    """The position: the marks of both players."""
    return engine.state_dtype(("marks", np.uint64, (2,)))


@rule
def init(tables, state, rng):
    """Write the empty board."""
    state.ply = 0
    state.mover = 0
    state.outcome = engine.ONGOING
    state.marks[0] = bits.ZERO
    state.marks[1] = bits.ZERO


@rule
def is_legal(tables, state, action):
    """Mark an empty cell."""
    return ((state.marks[0] | state.marks[1]) & bits.bit(action)) == bits.ZERO


@rule
def step(tables, state, action):
    """Mark the cell; a line of three wins, a full board without one is a draw."""
    mover = int(state.mover)
    state.marks[mover] |= bits.bit(action)
    state.ply += 1
    state.mover = 1 - mover
    for line in range(tables.lines.shape[0]):
        if bits.bit_count(state.marks[mover] & tables.lines[line]) == 3:
            state.outcome = engine.PLAYER_1_WINS if mover else engine.PLAYER_0_WINS
    if state.outcome == engine.ONGOING and (state.marks[0] | state.marks[1]) == tables.full:
        state.outcome = engine.DRAW


@rule
def observe(tables, state, player, planes):
    """Own marks, the other's, empty cells."""
    for cell in range(CELLS):
        own = (state.marks[player] & bits.bit(cell)) != bits.ZERO
        other = (state.marks[1 - player] & bits.bit(cell)) != bits.ZERO
        planes[0, cell] = own
        planes[1, cell] = other
        planes[2, cell] = not (own | other)


@rule
def score(tables, state):
    """One for a win of player 0, minus one for a win of player 1."""
    return engine.reward(state.outcome, 0)


class BitTicTacToe(TicTacToe):
    """Tic-tac-toe, whose rules count with bits."""

    name = "bittactoe"
    rules = sys.modules[__name__]
    board_text = Game.board_text

    def setup(self) -> Spec:
        lines = np.array([sum(1 << cell for cell in line) for line in _LINES], np.uint64)
        tables = table_record(lines=lines, full=np.uint64(0b111_111_111))
        return replace(super().setup(), state_dtype=state_dtype(), tables=tables)
