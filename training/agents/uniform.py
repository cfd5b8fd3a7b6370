"""An agent that plays uniformly random legal actions."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING

from .agent import Agent, AgentSpec, Needs, Seed


class RandomAgent(Agent):
    """Draws each action uniformly from the legal ones.

    It does not `search`, because making a `SearchResult` takes longer than drawing an action.
    """

    def __init__(self, game: Game, seed: Seed = None) -> None:
        super().__init__(game, "random", seed)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """A random legal action for each position; see `Agent.actions`."""
        states = self._check(states)
        return self.draw(states, self._streams(len(states)))

    def draw(self, states: np.ndarray, streams: np.ndarray) -> np.ndarray:
        """The same by a random stream for each position, int64 [N, 2], which the draws advance."""
        count = len(states)
        chosen = np.empty(count, np.int64)
        self.game.batch_kernels.batch_random_actions(
            self.game.tables, states, streams, chosen, self.game.num_actions, 0, count
        )
        chosen[states["outcome"] != ONGOING] = -1
        return chosen


class RandomSpec(AgentSpec):
    """A `RandomAgent`."""

    usage = "random"
    help = "uniformly random legal actions"
    needs = Needs.NOTHING

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        return RandomAgent(game, seed)
