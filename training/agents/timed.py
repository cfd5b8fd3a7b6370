"""A network that thinks for a time about each move, and keeps each game's tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.threads import available_cores, results_of
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.models import Evaluator
from ludarium.models.evaluation import version_of
from ludarium.training.search import Budget, SearchResult, TreeSearch
from ludarium.training.search.cache import empty
from ludarium.training.search.settings import DEFAULTS
from ludarium.training.search.tree_search import LeafBatch, new_batches

from .agent import Seed
from .network import NetworkAgent
from .settings import LCB, check_duration

if TYPE_CHECKING:
    from ludarium.models.inference import Network

#: Memory in bytes for the trees of all games in play; a tree that has its share stops growing.
_MEMORY = 2**30


@dataclass
class _Thought:
    """The search of a game, kept between moves.

    Attributes:
        search: the search, with the tree of the last decision.
        plies: how many actions of the game come before the tree's root.
        version: version of the network that evaluated the tree, see `version_of`.
    """

    search: TreeSearch
    plies: int
    version: int | None

    def __reduce__(self) -> tuple:
        return type(None), ()  # a copy of the game starts with a new tree


class TimedNetworkAgent(NetworkAgent):
    """Searches each position by a `TreeSearch`, by PUCT, for some seconds.

    One position gets all cores; of several, one per core is searched at a time. Each game's tree
    is kept from one move to the next.

    Args:
        game, network, name, seed, backend, temperature, settings: see `NetworkAgent`.
        seconds: seconds for each move of each game, 0.001 to 3,600.
        lcb: the action with the greatest lower confidence bound is chosen, this many standard
            errors below its value, 3 by default; 0: the first of `TreeSearch.lines`. See
            `TreeSearch.result`.

    Raises:
        ValueError: ``seconds``, ``temperature``, ``seed`` or ``lcb`` is out of range; ``lcb`` is
            given with ``temperature``, or a share of the score in a game without one; or see
            `ludarium.models.InferenceEngine`.
    """

    def __init__(
        self,
        game: Game,
        network: Network | Evaluator,
        seconds: float,
        name: str = "network",
        seed: Seed = None,
        backend: str = "auto",
        temperature: float = 0.0,
        lcb: float | None = None,
        settings: SearchSettings = DEFAULTS,
    ) -> None:
        if lcb is not None and temperature:
            raise ValueError("lcb chooses the best move, temperature draws one: give one of them")
        check_duration(seconds)
        if lcb is not None and not 0 <= lcb < np.inf:
            raise ValueError(f"lcb is a number from 0 on, not {quoted(lcb)}")
        settings = msgspec.structs.replace(settings, algorithm="puct")
        super().__init__(game, network, 0, name, seed, backend, temperature, settings)
        self.budget = Budget(seconds=seconds)
        self._lcb = LCB if lcb is None else float(lcb)
        self._in_play = 0
        self._batches = _new_batches(game)
        self._version = version_of(self._evaluator)  # `shared_by_threads` shows none
        # Compile everything, so that the first search does not spend its time on it.
        search = self._fresh(game.start(0).states, self._batches[0], 1)
        search.think(Budget(simulations=1))
        search.play(int(search.result().actions[0]))

    def __getstate__(self) -> dict[str, Any]:
        """The state without batches, whose arrays are views of each other; a copy makes its own."""
        return {name: value for name, value in vars(self).items() if name != "_batches"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._batches = _new_batches(self.game)

    def search(self, states: np.ndarray) -> SearchResult:
        """Search unfinished positions, structured array [N], from scratch."""
        states = self._unfinished(states)

        def search_in(number: int, batches: list[LeafBatch]) -> TreeSearch:
            at_once = min(len(states), len(self._batches))  # trees that have answered are dropped
            return self._fresh(states[number : number + 1], batches, at_once)

        return self._think(len(states), search_in) if len(states) else self.policy(states)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Divide the memory among these games too."""
        self._in_play += len(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """Choose actions; each game's tree is kept for its next position."""
        states = self._check(states)

        def search_in(number: int, batches: list[LeafBatch]) -> TreeSearch:
            each = games[number]
            actions, thought = each.actions, each.memory
            if thought is None or thought.version != self._version:
                in_play = max(self._in_play, len(games))
                search = self._fresh(states[number : number + 1], batches, in_play)
                each.memory = _Thought(search, len(actions), self._version)
                return search
            thought.search.batches = batches
            for action in actions[thought.plies :]:
                thought.search.play(action)
            thought.plies = len(actions)
            return thought.search

        return self.select(self._think(len(games), search_in))

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Forget the trees of these games."""
        self._in_play -= len(games)
        for each in games:
            each.memory = None

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The network's logits; see `Agent.preferences`."""
        return self.evaluate(states).logits

    def _fresh(self, state: np.ndarray, batches: list[LeafBatch], games: int) -> TreeSearch:
        evaluator, memory = self._shared_evaluator, _MEMORY // max(1, games)
        return TreeSearch(self.game, state, evaluator, self._settings, batches, memory)

    def _think(
        self, count: int, search_in: Callable[[int, list[LeafBatch]], TreeSearch]
    ) -> SearchResult:
        """Search ``count`` positions; the seconds of the budget include setting up a search."""
        version = version_of(self._evaluator)
        if version != self._version:  # the weights have changed: forget the network's answers
            self._version = version
            for batches in self._batches:
                empty(batches[0].cache)  # all batches of a thread share it

        def task(thread: int, number: int) -> SearchResult:
            started = time.perf_counter()
            batches = self._batches[thread]
            search = search_in(number, batches if count == 1 else batches[:1])
            left = self.budget.seconds
            if left is not None:
                left = max(0.0, left - (time.perf_counter() - started))
            search.think(replace(self.budget, seconds=left))
            return search.result(self._lcb)

        return SearchResult.joined(results_of(task, count, len(self._batches)))


def _new_batches(game: Game) -> list[list[LeafBatch]]:
    """The batches of each thread; the first has one for each core, to search one position alone."""
    cores = available_cores()
    return [new_batches(game, 1 if thread else cores) for thread in range(cores)]
