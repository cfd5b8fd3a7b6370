"""An agent that plays perfectly, in games that are solved."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentSpec, Needs, Searcher, Seed
from ludarium.training.search import Budget, Finding

from .solution import Solution, TableSolution
from .solutions import solution_of


class SolvedSearcher(Searcher):
    """Draws one of a solution's best actions uniformly; the budget is ignored.

    Args:
        solution: the game's solution.

    Attributes:
        solution: the same solution.
    """

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution.game)
        self.solution = solution

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """See `Searcher.find`."""
        best = self.solution.best_actions(states)
        draws = rng.random(best.shape)
        count = best.sum(axis=1, keepdims=True)  # 0 in a finished game
        chosen = np.where(count[:, 0], np.where(best, draws, -1.0).argmax(axis=1), -1)
        return Finding.of(chosen, (best / count.clip(min=1)).astype(np.float32))


class PerfectSpec(AgentSpec):
    """An agent with exact play: it wins won positions, and never loses drawn ones.

    With a table of all positions it wins as fast as possible, else draws, else loses as slowly as
    possible. Corso's solution searches, and documents its own preferences.
    """

    usage = "perfect"
    help = "exact play, in solved games: it wins won positions, and never loses drawn ones"
    needs = Needs.NOTHING

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent; the solution is loaded, or computed if there is none yet.

        Raises:
            ValueError: the game is not solved, not with these options, or not from the start on, or
                its file is damaged.
        """
        solution = solution_of(game)
        table = solution if isinstance(solution, TableSolution) else None
        if table is not None and not table.knows(game.start(0).states)[0]:
            raise ValueError(
                f"{game} is not solved from the start on; take endgame:AGENT, such as "
                "endgame:random: it plays perfectly where the values are known"
            )
        return Agent(game, self.label, seed, SolvedSearcher(solution))
