"""Which games are solved, and their solutions on demand."""

from __future__ import annotations

from importlib import import_module

from ludarium.envs.engine.game import Game

from .solution import Solution

#: The package of each solved game. It has a function ``solution_of(game) -> Solution``.
SOLVED: dict[str, str] = {
    "corso": "ludarium.analysis.corso",
    "osiron": "ludarium.analysis.osiron",
}


def solution_of(game: Game) -> Solution:
    """The solution of a game: loaded, or solved now and kept, or found by search as it is asked.

    Raises:
        ValueError: the game is not solved, not with these options, or its file is damaged.
    """
    if game.name not in SOLVED:
        raise ValueError(f"{game.name} is not solved; games that are: {', '.join(SOLVED)}")
    solution: Solution = import_module(SOLVED[game.name]).solution_of(game)
    return solution
