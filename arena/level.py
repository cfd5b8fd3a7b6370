"""`LevelAgent`: a trained network below its full strength, with mistakes like people's.

It searches like the trained agent and then draws among the moves that the search tried, by
how much of the position's value each loses: a small loss is likely, a large one unlikely, and one
beyond a bound does not happen. `LevelParams` determine how likely and how large.
"""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import seed_rng
from ludarium.training.agents import Agent, Seed
from ludarium.training.networks import (
    cache_size,
    calibration_inputs_of,
    inference_engine,
    shared_by_threads,
)
from ludarium.training.search import BatchSearch, SearchResult, SearchSettings, TreeSearch, level

from .level_params import LevelParams

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_BATCH = 128
_NODES_AT_ONCE = 1 << 22  # tree nodes times actions of all positions searched together
_SEEDS = 1 << 53  # JavaScript has all whole numbers up to this


class LevelAgent(Agent):
    """Plays with a network at the strength of its params.

    The move is drawn in the search and not by the agent's choice: one generator for each position
    draws the search's noise and the move. So a position gets the same move alone and in a batch,
    in Python and outside it. Networks of this package run in eight bits, whose answers are the same
    on every machine.

    Args:
        game: the rules.
        network: a network that fits the game, with its weights.
        params: the strength.
        most_simulations: most simulations for `adjust`; those of ``params`` if they are more.
        name, seed: see `Agent`.

    Attributes:
        params: the strength.

    Raises:
        ValueError: ``seed`` is not a seed, or the network gives numbers that are not finite.
    """

    def __init__(
        self,
        game: Game,
        network: Network,
        params: LevelParams,
        most_simulations: int | None = None,
        name: str = "level",
        seed: Seed = None,
    ) -> None:
        super().__init__(game, name, seed)
        most = max(most_simulations or 0, params.simulations)
        room = _NODES_AT_ONCE // ((most + 1) * game.num_actions)
        batch = int(np.clip(room, 1, _BATCH))
        self._evaluator = inference_engine(
            game, network, batch, calibration_inputs=calibration_inputs_of(game)
        )
        self._shared_evaluator = shared_by_threads(self._evaluator)
        cache = cache_size(self._evaluator)
        self._kernels = specialise(level, game)
        self._search = BatchSearch(
            game, SearchSettings(simulations=most), batch, seed=0, cache=cache
        )
        self.adjust(params)

    def adjust(self, params: LevelParams) -> None:
        """Change the strength; ``ValueError`` for more simulations than ``most_simulations``."""
        self.params = params
        self._record = np.array([astuple(params)], level.LEVEL_PARAMS)
        self._set_search(sees_wins=True)

    def start_search(self, position: Position) -> TreeSearch:
        """A search with the network's full strength, for analyses; see `Agent.start_search`."""
        return TreeSearch(self.game, position.states, self._shared_evaluator)

    def search(self, states: np.ndarray) -> SearchResult:
        """The search's result, with the level's mistakes in its actions; see `Agent.search`."""
        states = self._check(states)
        count, num_actions = len(states), self.game.num_actions
        seeds = self.rng.integers(_SEEDS, size=count).tolist()
        rngs = np.array([seed_rng(seed)[0] for seed in seeds], np.int64).reshape(count, 2)
        sees_wins = np.empty(count, bool)
        noise = np.empty((count, num_actions), np.float32)
        self._kernels.draw_searches(self._record, rngs, sees_wins, noise)
        places, results = [], []
        for sees in (True, False):
            group = np.flatnonzero(sees_wins == sees)
            if len(group) or (sees and count == 0):
                self._set_search(sees)
                result = self._search.run(states[group], self._evaluator, noise[group])
                actions = result.actions.copy()
                self._kernels.draw_actions(
                    self._record, rngs[group], actions, result.policies, result.action_values
                )
                places.append(group)
                results.append(replace(result, actions=actions))
        return SearchResult.joined(results).in_order(np.concatenate(places))

    def _set_search(self, sees_wins: bool) -> None:
        settings = msgspec.structs.replace(
            level.SETTINGS, simulations=self.params.simulations, solver=sees_wins
        )
        self._search.use(settings)
