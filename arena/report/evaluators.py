"""The value of a position: exact if that is known, else by a network or by playouts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np

from ludarium.analysis import solution_of
from ludarium.analysis.corso import SIZES, CorsoSolution
from ludarium.analysis.solution import TableSolution
from ludarium.analysis.solutions import SOLVED
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Searcher, UCTSearcher
from ludarium.training.evaluation.games import Games
from ludarium.training.search import Budget

from .enumeration import Enumeration, position_keys, rewards_of

_AT_ONCE = 4096  # positions valued at a time
_SEARCHED_FOR_START = 1 << 22  # positions searched to solve a small board of Corso


class Evaluator(ABC):
    """Values positions of one game.

    Attributes:
        game: the rules.
        name: a name for people.
        is_exact: whether the values are those of perfect play.
        plays_out: see `SearchedValues`.
    """

    is_exact = False
    plays_out = False

    def __init__(self, game: Game, name: str) -> None:
        self.game = game
        self.name = name

    @abstractmethod
    def _unfinished(self, states: np.ndarray) -> np.ndarray:
        """Player 0's values of unfinished positions [N], float[N]."""

    def values(self, states: np.ndarray) -> np.ndarray:
        """Player 0's values in [-1, 1] of positions, structured [N]; float64[N].

        A value is the expected reward: twice the expected points of a game, minus one.
        """
        values = rewards_of(states["outcome"])
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)
        for first in range(0, len(unfinished), _AT_ONCE):
            portion = unfinished[first : first + _AT_ONCE]
            values[portion] = self._unfinished(np.ascontiguousarray(states[portion]))
        return np.clip(values, -1, 1)

    def along(self, sample: Games, games: int) -> np.ndarray:
        """Player 0's values along the first games, float64[games, T + 1]; NaN beyond the end.

        Entry ``t`` is the value after ``t`` plies; the last entry is the result.
        """
        plies = sample.plies[:games]
        found = np.full((games, int(plies.max(initial=0)) + 1), np.nan)
        kept: list[np.ndarray] = []
        rows: list[int] = []
        numbers: list[int] = []
        for ply in sample.replay(np.arange(games)):
            kept.append(ply.before)
            rows += ply.games.tolist()
            numbers += [ply.number] * len(ply.games)
        if kept:
            found[rows, numbers] = self.values(np.concatenate(kept))
        found[np.arange(games), plies] = sample.rewards(0)[:games]
        return found


class EnumeratedValues(Evaluator):
    """The values of a game so small that all its positions were counted."""

    is_exact = True

    def __init__(self, game: Game, positions: Enumeration) -> None:
        if positions.values is None:
            raise ValueError(f"the positions of {game} were not all counted")
        super().__init__(game, f"all {sum(positions.counts):,} positions, solved")
        self._found = positions.values

    def _unfinished(self, states: np.ndarray) -> np.ndarray:
        keys = position_keys(self.game, states)
        return np.array([self._found[key.tobytes()] for key in keys])


class TableValues(Evaluator):
    """The values of a game with a table of all positions."""

    is_exact = True

    def __init__(self, solution: TableSolution) -> None:
        super().__init__(solution.game, solution.source)
        self._solution = solution

    def _unfinished(self, states: np.ndarray) -> np.ndarray:
        codes, places = np.unique(self._solution.values(states), return_inverse=True)
        outcomes = np.array([self._solution.decode(int(code)).outcome for code in codes], float)
        return outcomes[places] * (1.0 - 2.0 * states["mover"])


class SearchedValues(Evaluator):
    """Values found by a searcher.

    Args:
        searcher: a searcher for this game.
        budget: budget for each position.
        name: a name for people.
        seed: seed of its random numbers.

    Attributes:
        plays_out: whether the values are mean results of random playouts, which vary and take
            long.
    """

    def __init__(
        self, searcher: Searcher, budget: Budget, name: str, seed: int | None = None
    ) -> None:
        super().__init__(searcher.game, name)
        self.plays_out = isinstance(searcher, UCTSearcher)
        self._searcher = searcher
        self._budget = budget
        self._rng = np.random.default_rng(seed)

    @classmethod
    def of_playouts(cls, game: Game, playouts: int, seed: int) -> Self:
        """Values found by UCT."""
        return cls(UCTSearcher(game), Budget(simulations=playouts), f"uct:{playouts}", seed)

    def _unfinished(self, states: np.ndarray) -> np.ndarray:
        found = self._searcher.find(states, self._budget, self._rng)
        return found.values * (1.0 - 2.0 * states["mover"])


def exact_evaluator(game: Game, positions: Enumeration) -> Evaluator | None:
    """Exact values of all positions of a game, if they are known or few."""
    if positions.values is not None:
        return EnumeratedValues(game, positions)
    solved = SOLVED.get(game.name)
    if solved is not None and issubclass(solved, TableSolution):
        table = solved.of(game)
        return TableValues(table) if table.knows(game.start(0).states)[0] else None
    return None


def exact_values(game: Game, exact: Evaluator | None, states: np.ndarray) -> np.ndarray | None:
    """Player 0's values of unfinished early positions [N] with perfect play, float[N].

    Corso's come from its opening book, or from a search on smaller boards. The result is None if
    one of the values is not known.
    """
    if exact is not None:
        return exact.values(states)
    if SOLVED.get(game.name) is not CorsoSolution or game.options["size"] not in SIZES:
        return None
    solution = solution_of(game)
    assert isinstance(solution, CorsoSolution)
    found = []
    for number in range(len(states)):
        position = Position.of_state(game, states[number])
        outcome = solution.outcome(position, _SEARCHED_FOR_START)
        if outcome is None:
            return None
        found.append(outcome * (1.0 - 2.0 * position.mover))
    return np.array(found)
