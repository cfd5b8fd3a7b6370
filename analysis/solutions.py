"""The solved games, and their solutions on demand."""

from __future__ import annotations

from collections.abc import Mapping

from ludarium.envs.engine.game import Game

from .corso import CorsoSolution
from .osiron import OsironSolution
from .solution import Solution, TableSolution

#: The class of each solved game's solution.
SOLVED: Mapping[str, type[Solution]] = {"corso": CorsoSolution, "osiron": OsironSolution}


def solution_of(game: Game) -> Solution:
    """The solution of a game: loaded, or computed now and stored, or found by search on demand.

    Raises:
        ValueError: the game is not solved, not with these options, or its file is damaged.
    """
    if game.name not in SOLVED:
        raise ValueError(f"{game.name} is not solved; games that are: {', '.join(SOLVED)}")
    return SOLVED[game.name].of(game)


def table_of(game: Game) -> TableSolution | None:
    """The values of all positions of a game, or None if the game is not solved in that way.

    Raises:
        ValueError: the stored file is damaged.
    """
    solved = SOLVED.get(game.name)
    if solved is not None and issubclass(solved, TableSolution):
        return solved.of(game)
    return None
