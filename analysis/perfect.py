"""An agent that plays perfectly, in games that are solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, AgentSpec, Needs, Searcher, Seed
from ludarium.training.agents.settings import read_flag, setting
from ludarium.training.search import Budget, Finding

from .solution import ILLEGAL, Solution, TableSolution
from .solutions import solution_of
from .solver import after


class SolvedSearcher(Searcher):
    """Draws one of a solution's best actions uniformly; the budget is ignored.

    Args:
        solution: the game's solution.
        hard: draw among those best actions after which the fewest replies keep the value: who wins,
            not how soon. It needs a `TableSolution`.

    Attributes:
        solution: the same solution.
    """

    def __init__(self, solution: Solution, hard: bool = False) -> None:
        super().__init__(solution.game)
        self.solution = solution
        self._table = solution if hard and isinstance(solution, TableSolution) else None

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """See `Searcher.find`."""
        best = self.solution.best_actions(states)
        if self._table is not None:
            best = _hardest(self._table, states, best)
        draws = rng.random(best.shape)
        count = best.sum(axis=1, keepdims=True)  # 0 in a finished game
        chosen = np.where(count[:, 0], np.where(best, draws, -1.0).argmax(axis=1), -1)
        return Finding.of(chosen, (best / count.clip(min=1)).astype(np.float32))


def _hardest(table: TableSolution, states: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Those of the best actions, bool[N, A], after which the fewest replies keep the value."""
    rows, actions = np.nonzero(best)
    if not len(rows):
        return best
    positions = {row: Position.of_state(table.game, states[row]) for row in np.unique(rows)}
    children = [after(positions[row], int(a)) for row, a in zip(rows, actions, strict=True)]
    values = table.action_values(np.concatenate([child.states for child in children]))
    outcomes = np.where(values == ILLEGAL, ILLEGAL, np.sign(values))
    keeping = outcomes == outcomes.max(axis=1, keepdims=True)
    replies = np.full(best.shape, best.shape[1] + 1)
    replies[rows, actions] = (keeping & (values != ILLEGAL)).sum(axis=1)  # 0: the game is over
    hardest: np.ndarray = best & (replies == replies.min(axis=1, keepdims=True))
    return hardest


@dataclass(frozen=True, kw_only=True)
class PerfectSpec(AgentSpec):
    """An agent with exact play: it wins won positions, and never loses drawn ones.

    With a table of all positions it wins as fast as possible, else draws, else loses as slowly as
    possible. Corso's solution searches, and documents its own preferences.
    """

    usage = "perfect"
    help = "exact play, in solved games: it wins won positions, and never loses drawn ones"
    needs = Needs.NOTHING

    hard: bool = setting(
        read_flag,
        "true: of moves that are equally good, one after which the fewest replies keep the value; "
        "needs a table of all positions, as Osiron has",
        False,
    )

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent; the solution is loaded, or computed if there is none yet.

        Raises:
            ValueError: the game is not solved, not with these options, not from the start on, or
                not by a table, which ``hard`` needs; or its file is damaged.
        """
        solution = solution_of(game)
        table = solution if isinstance(solution, TableSolution) else None
        if table is not None and not table.knows(game.start(0).states)[0]:
            raise ValueError(
                f"{game} is not solved from the start on; take endgame:AGENT, such as "
                "endgame:random: it plays perfectly where the values are known"
            )
        if self.hard and table is None:
            raise ValueError(f"{game} has no table of values, which hard=true needs: leave it out")
        return Agent(game, self.label, seed, SolvedSearcher(solution, self.hard))
