"""Exact answers about any position, from the best available source for its game.

    prober = prober_of(make_game("corso"))
    prober.actions(position)     # {action: ValueBounds}, the best first
    prober.source                # its source, in words

A table of all positions answers at once; a solver made for one game answers sooner than the search
to the end, which works for every game.
"""

from __future__ import annotations

from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.exact_values import ValueBounds

from .corso import SIZES, CorsoSolver, shipped_known
from .search import EndgameSolver
from .solution import TableSolution
from .solutions import SOLVED, installed_solver, table_of
from .solver import Solver


class Prober:
    """Answers about positions of one game, looked up or searched.

    Args:
        table: the table to look up positions in, if there is one.
        solver: the search for positions that no table has.

    Attributes:
        game: the rules.
        source: where the answers come from, in words.
        searches: whether answers come from a search, which may take long and leave actions
            undecided.
        default_limit: default node limit of one question; 0 for a table.

    If there are both, the attributes are the table's; `at` gives the prober for one position, whose
    attributes are those of the source that answers.
    """

    def __init__(self, table: TableSolution | None, solver: Solver | None) -> None:
        source = table or solver
        assert source is not None, "a table or a search is needed"
        self.game: Game = source.game
        self.source: str = source.source
        self.searches = table is None
        self.default_limit = solver.default_limit if solver and self.searches else 0
        self._table = table
        self._solver = solver

    def at(self, position: Position) -> Prober:
        """The prober for a position: the table if that has it, else the search."""
        if self._table is None or self._solver is None:
            return self
        has_it = position.is_over or self._table.knows(position.states)[0]
        return Prober(self._table, None) if has_it else Prober(None, self._solver)

    def actions(
        self,
        position: Position,
        limit: int | None = None,
        progress: Progress = SILENT,
        leads: bool = True,
    ) -> dict[int, ValueBounds]:
        """The legal actions with bounds of their values for the mover, the best first.

        Args:
            position: the position, not finished.
            limit: positions to search for all actions together, if answers come from a search; see
                `Solver.answer_all`.
            progress: see `Solver.answer_all`.
            leads: ask for the lead at the end too, if answers come from a search and the game has
                points.

        Raises:
            ValueError: the game is over, or it is another one; or see `Solver.answer_all`.
        """
        source = self.at(position)
        if source._table is not None:
            values = source._table.actions(position)
            return {action: ValueBounds.exact(value) for action, value in values.items()}
        assert source._solver is not None
        return source._solver.actions(position, limit, progress, leads)


def prober_of(game: Game, memory: int | None = None, threads: int = 1) -> Prober:
    """The best source of answers for a game; a missing table is computed first.

    Args:
        game: the rules.
        memory: bytes that the table of a search may take; default: the search's own.
        threads: threads of each search.

    Raises:
        ValueError: as for `table_of` and `solver_of`.
    """
    table = table_of(game)
    is_whole = table is not None and table.knows(game.start(0).states)[0]
    return Prober(table, None if is_whole else solver_of(game, memory, threads))


def solver_of(game: Game, memory: int | None = None, threads: int = 1) -> Solver:
    """The fastest search for exact values in a game; an installed package's comes first.

    Args:
        game: the rules.
        memory: bytes that the table of the search may take; default: the search's own.
        threads: threads of the search, for several positions at a time.

    Raises:
        ValueError: the memory is too little or more than there is, there is no thread, a shipped
            file is damaged, or see `installed_solver`.
    """
    searches = installed_solver(game)
    if searches is None:
        searches = CorsoSolver if source_of(game) is CorsoSolver else EndgameSolver
    given = {} if memory is None else {"memory": memory}
    solver = searches(game, threads=threads, **given)
    if isinstance(solver, CorsoSolver):
        solver.learn(shipped_known(game))
    return solver


def source_of(game: Game) -> type[TableSolution] | type[Solver]:
    """The class of the best source in this package: a table of all positions, or a search."""
    solved = SOLVED.get(game.name)
    if solved is not None and issubclass(solved, TableSolution):
        return solved
    made_for_it = game.name == "corso" and game.num_actions <= SIZES[-1] ** 2
    return CorsoSolver if made_for_it else EndgameSolver
