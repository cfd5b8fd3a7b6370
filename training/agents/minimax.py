"""A network learnt by Descent that plays: best-first minimax by its values."""

from __future__ import annotations

import time

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.engine.threads import available_cores, take_turns
from ludarium.models import InferenceEngine
from ludarium.models.backends import BATCH_INVARIANT
from ludarium.models.inference import torch_threads
from ludarium.models.network import PolicyValueNetwork, ScoreAsPolicy
from ludarium.training.descent.search import ROWS_AT_ONCE, MinimaxResult, MinimaxSearch
from ludarium.training.descent.settings import MinimaxSettings
from ludarium.training.descent.tree import NODE

from .agent import Agent, Seed
from .checkpoints import DEFAULT_SIMULATIONS
from .settings import MOST_SIMULATIONS, check_duration, check_simulations

_BATCH = 64
_CACHE_MEGABYTES = 16.0
_NODES_AT_ONCE = 1 << 22  # tree nodes of all positions searched together
_MOST_BYTES = 1 << 28  # of one tree that grows for a given time
_SCORE_WEIGHT = 0.5


class MinimaxAgent(Agent):
    """Plays the safest action of a completed best-first minimax search with a network.

    That is the action that is proven best, else the one most often on the best line, else the one
    with the best value (Cohen-Solal, arXiv 2008.01188). The agent always plays the same.

    Args:
        game: the rules.
        network: with its weights.
        simulations: positions that are expanded for each move, each with all its children; 0 is 1:
            the action with the best value by the network alone.
        name: how tables name it.
        seed: of nothing; agents have one.
        backend: see `ludarium.models.InferenceEngine`.
        seconds: for each move of each game, in place of ``simulations``; of more games, as many as
            there are cores are thought about at a time.

    Attributes:
        network, simulations, seconds: as given.

    Raises:
        ValueError: ``simulations`` or ``seconds`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        network: PolicyValueNetwork,
        simulations: int = DEFAULT_SIMULATIONS,
        name: str = "minimax",
        seed: Seed = None,
        backend: str = "auto",
        seconds: float | None = None,
    ) -> None:
        check_simulations(simulations)
        if seconds is not None:
            check_duration(seconds)
        super().__init__(game, name, seed)
        self.network = network
        self.simulations = simulations
        self.seconds = seconds
        if seconds is None:
            expansions, searches = max(1, simulations), 1
            batch = int(np.clip(_NODES_AT_ONCE // (expansions * game.num_actions), 1, _BATCH))
        else:
            expansions, searches, batch = most_expansions(game), available_cores(), 1
        rows = max(ROWS_AT_ONCE if batch > 1 else 0, game.num_actions)
        with torch_threads(max(1, available_cores() // searches)):
            self._engine = InferenceEngine(
                ScoreAsPolicy(network),
                game.observation_shape,
                rows,
                backend,
                sizes=(max(1, game.num_actions // 2), rows),
            )
        # Cached outputs must equal fresh ones bit for bit, or the cache would change moves.
        cache = _CACHE_MEGABYTES if self._engine.backend in BATCH_INVARIANT else 0.0
        settings = MinimaxSettings(
            expansions=expansions, score_weight=_SCORE_WEIGHT if game.max_score else 0.0
        )
        self._searches = [
            MinimaxSearch(game, settings, batch, rows, cache) for _ in range(searches)
        ]
        if seconds is not None:  # compiles, so that the first move need not wait
            self._searches[0].run(game.start(0).states, self._engine, lambda: False)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The safest action found for each position; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)
        if not len(unfinished):
            return chosen
        if self.seconds is None:
            chosen[unfinished] = self.search(states[unfinished]).actions
            return chosen
        seconds = self.seconds

        def think(thread: int, number: int) -> None:
            place = unfinished[number]
            end = time.perf_counter() + seconds
            result = self._searches[thread].run(
                states[place : place + 1], self._engine, lambda: time.perf_counter() < end
            )
            chosen[place] = result.actions[0]

        take_turns(think, len(unfinished), len(self._searches))
        return chosen

    def search(self, states: np.ndarray) -> MinimaxResult:
        """Search unfinished positions with so many ``simulations``; see `MinimaxSearch.run`.

        Raises:
            ValueError: a position is finished.
        """
        return self._searches[0].run(np.ascontiguousarray(self._check(states)), self._engine)


def most_expansions(game: Game) -> int:
    """The expansions that a tree of one position has room for."""
    each = game.num_actions * NODE.itemsize + game.state_dtype.itemsize
    return min(MOST_SIMULATIONS, _MOST_BYTES // each)
