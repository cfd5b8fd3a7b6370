"""An agent that plays perfectly, in games that are solved."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents.agent import Agent, Seed

from .solution import TableSolution
from .solutions import solution_of


class PerfectAgent(Agent):
    """Plays solved games perfectly: wins what is won, and never loses what is drawn.

    With a table of all positions it wins as fast as possible, else draws, else loses as slowly as
    possible. Corso's solution searches, and documents its own preferences. The agent draws
    uniformly from equally good actions. The solution is loaded, or computed if there is none yet.

    Raises:
        ValueError: the game is not solved, not with these options, or not from the start on, or its
            file is damaged.
    """

    def __init__(self, game: Game, seed: Seed = None) -> None:
        super().__init__(game, "perfect", seed)
        self.solution = solution_of(game)
        table = self.solution if isinstance(self.solution, TableSolution) else None
        if table is not None and not table.knows(game.start(0).states)[0]:
            raise ValueError(
                f"{game} is not solved from the start on; endgame:AGENT, such as endgame:random, "
                "is AGENT, and perfect where the values are known"
            )

    def actions(self, states: np.ndarray) -> np.ndarray:
        """A random one of the best actions of each position; see `Agent.actions`."""
        states = self._check(states)
        best = self.solution.best_actions(states)
        lots = self._random.random(best.shape)
        chosen = np.where(best, lots, -1.0).argmax(axis=1)
        chosen[states["outcome"] != ONGOING] = -1
        return chosen
