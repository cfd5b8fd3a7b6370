"""What all of these tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.tictactoe import TicTacToe


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Networks this small are not faster with more, and much slower on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def game() -> TicTacToe:
    return TicTacToe()
