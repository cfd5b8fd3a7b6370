"""The solved games, and their solutions on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.plugins import find_plugins, load_plugin, refusal

from .corso import CorsoSolution
from .osiron import OsironSolution
from .solution import Solution, TableSolution
from .solver import NO_LIMIT, Solver

#: The class of each solved game's solution, by the name of the game.
SOLVED: Mapping[str, type[Solution]] = {"corso": CorsoSolution, "osiron": OsironSolution}

#: Entry points of searches for exact values in installed packages, by the name of the game.
SOLVER_ENTRY_POINTS = "ludarium.solvers"


def installed_solver(game: Game) -> Callable[..., Solver] | None:
    """The search that an installed package has for a game, a subclass of `Solver`, or None.

    Raises:
        PluginError: it is no subclass of `Solver`, or cannot be imported; it is a ``ValueError``.
    """
    plugin = find_plugins(SOLVER_ENTRY_POINTS).get(game.name)
    if plugin is None:
        return None
    made = load_plugin(plugin)
    if not (isinstance(made, type) and issubclass(made, Solver)):
        raise refusal(plugin, "is not a subclass of ludarium.analysis.Solver")
    return made


class SearchedSolution(Solution):
    """The actions that keep the result, by a search without a limit."""

    def __init__(self, solver: Solver) -> None:
        super().__init__(solver.game)
        self.solver = solver

    def best_actions(self, states: np.ndarray) -> np.ndarray:
        """See `Solution.best_actions`."""
        best = np.zeros((len(states), self.game.num_actions), bool)
        for number in np.flatnonzero(states["outcome"] == ONGOING):
            position = Position.of_state(self.game, states[number])
            answers = self.solver.actions(position, NO_LIMIT, leads=False)
            most = max(answer.low for answer in answers.values())
            best[number, [action for action, each in answers.items() if each.low == most]] = True
        return best


def solution_of(game: Game) -> Solution:
    """The solution of a game: loaded, or computed now and stored, or found by search on demand.

    Raises:
        ValueError: the game is not solved, not with these options, or its file is damaged; or see
            `installed_solver`.
    """
    if game.name not in SOLVED:
        searches = installed_solver(game)
        if searches is not None:
            return SearchedSolution(searches(game))
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
