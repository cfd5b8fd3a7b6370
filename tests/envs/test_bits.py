"""Boards as bits: the functions of `ludarium.envs.engine.bits`, and games that use them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludarium.envs import check_game
from ludarium.envs.engine import bits
from ludarium.envs.engine.rule import table_record
from tests.bitboard import BitTicTacToe
from tests.kernels import compiled
from tests.tictactoe import TicTacToe

ROOT = Path(__file__).resolve().parents[2]
ALL = (1 << 64) - 1
BOARDS = [0, 1, ALL, 1 << 63, 0x8000000000000001, *map(int, np.random.default_rng(1).integers(
    1 << 64, size=20, dtype=np.uint64))]  # fmt: skip


def both(function, *arguments):
    """The answer of compiled code, which is that of plain Python without an overflow."""
    with np.errstate(all="raise"):
        answer = function(*arguments)
    assert getattr(compiled, function.__name__)(*arguments) == answer
    return answer


@pytest.mark.parametrize("board", BOARDS)
def test_bits_are_counted_moved_and_found(board):
    value = np.uint64(board)
    assert both(bits.bit_count, value) == board.bit_count()
    if board:
        assert both(bits.lowest_cell, value) == (board & -board).bit_length() - 1
    for steps in (0, 1, 9, 63):
        assert int(both(bits.shifted, value, steps)) == board << steps & ALL
        assert int(both(bits.shifted, value, -steps)) == board >> steps


def test_each_cell_has_its_bit():
    assert [int(both(bits.bit, cell)) for cell in range(64)] == [1 << cell for cell in range(64)]


def test_an_unsigned_number_in_a_table_stays_unsigned():
    tables = table_record(mask=np.uint64(1 << 63), large=ALL, small=7, flag=True)
    kinds = {name: tables.dtype[name] for name in tables.dtype.names}
    assert kinds == {"mask": np.uint64, "large": np.uint64, "small": np.int64, "flag": np.int64}
    assert int(tables[0].mask) == 1 << 63
    assert int(tables[0].large) == ALL


@pytest.mark.parametrize("value", [0.5, np.float32(1), "text", None, [None], ["a"]])
def test_a_table_of_something_else_is_refused(value):
    with pytest.raises(ValueError, match=r"the table weight is .*; give an integer below 2\*\*64"):
        table_record(weight=value)


@pytest.mark.slow
def test_a_game_on_bits_is_the_same_game():
    game, known = BitTicTacToe(), TicTacToe()
    assert check_game(game, games=8) == []
    assert game.start().perft(5) == known.start().perft(5)
    random = np.random.default_rng(1)
    for _ in range(20):
        position, other = game.start(), known.start()
        while not position.is_over:
            assert (position.mask == other.mask).all()
            assert (position.observation() == other.observation()).all()
            action = int(random.choice(position.legal_actions))
            position.play(action)
            other.play(action)
        assert position.outcome == other.outcome
