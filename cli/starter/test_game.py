"""Tests of the game: ``python -m pytest`` in this folder runs them."""

from __future__ import annotations

import numpy as np

from ludarium.cli.starter import TicTacToe
from ludarium.envs import check_game

# CHANGE: what the reference below needs.
CELLS = ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]
LINES = ["a1 b1 c1", "a2 b2 c2", "a3 b3 c3", "a1 a2 a3", "b1 b2 b3", "c1 c2 c3"]
LINES += ["a1 b2 c3", "a3 b2 c1"]


class Reference:
    """The rules once more, slow and obvious. CHANGE: write yours without a look at ``rules.py``."""

    def __init__(self) -> None:
        self.moves: list[str] = []

    def winner(self) -> int | None:
        """The player who has a line."""
        for player in (0, 1):
            if any(set(line.split()) <= set(self.moves[player::2]) for line in LINES):
                return player
        return None

    def legal_moves(self) -> list[str]:
        """Names of the legal actions; none if the game is over."""
        return [] if self.winner() is not None else [c for c in CELLS if c not in self.moves]

    def rewards(self) -> tuple[int, int]:
        """1 for the winner and -1 for the loser at the end, or 0 for both."""
        return {None: (0, 0), 0: (1, -1), 1: (-1, 1)}[self.winner()]


def test_the_check_finds_nothing() -> None:
    assert check_game(TicTacToe()) == []


def test_a_line_wins() -> None:
    position = TicTacToe().start()
    position.play_moves("a1 a2 b1 b2 c1")  # CHANGE: a game of which you know the end
    assert position.is_over
    assert position.rewards == (1, -1)


def test_random_games_go_as_in_the_reference() -> None:
    game, random = TicTacToe(), np.random.default_rng(1)
    for _ in range(100):
        position, reference = game.start(), Reference()
        while not position.is_over:
            legal = [game.action_names[action] for action in position.legal_actions]
            assert sorted(legal) == sorted(reference.legal_moves())
            move = str(random.choice(legal))
            position.play_moves(move)
            reference.moves.append(move)
        assert reference.legal_moves() == []
        assert position.rewards == reference.rewards()
