"""Which games are solved, and their solutions on demand."""

from __future__ import annotations

from importlib import import_module

from ludarium.envs.engine.game import Game

from .solution import Solution

#: The package of each solved game. It has a function ``solution_of(game) -> Solution``.
SOLVED: dict[str, str] = {
    "osiron": "ludarium.analysis.osiron",
}


def solution_of(game: Game) -> Solution:
    """The solution of a game: loaded from where it was kept, or solved now and kept.

    Raises:
        ValueError: the game is not solved, or the table that was kept is damaged.
    """
    if game.name not in SOLVED:
        raise ValueError(f"{game.name} is not solved; games that are: {', '.join(SOLVED)}")
    solution: Solution = import_module(SOLVED[game.name]).solution_of(game)
    return solution
