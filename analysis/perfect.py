"""An agent that plays perfectly, in games that are solved."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents.agent import Agent, Seed

from .solution import ILLEGAL
from .solutions import solution_of


class PerfectAgent(Agent):
    """Wins as soon as it can, else draws, else loses as late as it can.

    Equally good actions are drawn from at random. The solution is loaded, or made at once when
    there is none yet.

    Raises:
        ValueError: the game is not solved, or the table that was kept is damaged.
    """

    def __init__(self, game: Game, seed: Seed = None) -> None:
        super().__init__(game, "perfect", seed)
        self.solution = solution_of(game)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """A random one of the best actions of each position; see `Agent.actions`."""
        states = self._check(states)
        values = self.solution.action_values(states)
        is_best = (values == values.max(axis=1, keepdims=True)) & (values != ILLEGAL)
        lots = self._random.random(values.shape)
        chosen = np.where(is_best, lots, -1.0).argmax(axis=1)
        chosen[states["outcome"] != ONGOING] = -1
        return chosen
