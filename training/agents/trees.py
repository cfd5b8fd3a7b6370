"""`Trees`: tree searches of several positions at a time, and of games from move to move."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ludarium.base.threads import available_cores, results_of
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.models import Evaluator
from ludarium.models.evaluation import version_of
from ludarium.training.search import Budget, Finding, TreeSearch
from ludarium.training.search.cache import empty
from ludarium.training.search.tree_search import LeafBatch, new_batches

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


class Trees:
    """Searches each position by a `TreeSearch` with a budget of its own.

    One position gets all cores; of several, one per core is searched at a time.

    Args:
        game: the rules.
        evaluate: the network, which may be called from several threads at a time.
        settings: settings of the searches.
        lcb: see `TreeSearch.best_action`.
    """

    def __init__(
        self,
        game: Game,
        evaluate: Evaluator,
        settings: SearchSettings,
        lcb: float = 0.0,
    ) -> None:
        self.game = game
        self._evaluate = evaluate
        self._settings = settings
        self._lcb = lcb
        self._in_play = 0
        self._batches = _new_batches(game)
        self._version = version_of(evaluate)
        self._compile()

    def __getstate__(self) -> dict[str, Any]:
        """The state without batches, whose arrays are views of each other; a copy makes its own."""
        return {name: value for name, value in vars(self).items() if name != "_batches"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._batches = _new_batches(self.game)

    def find(self, states: np.ndarray, budget: Budget) -> Finding:
        """Search unfinished positions, structured array [N], from scratch."""
        self._look_at_network()

        def search_in(number: int, batches: list[LeafBatch]) -> TreeSearch:
            at_once = min(len(states), len(self._batches))  # a tree goes with its finding
            return self._fresh(states[number : number + 1], batches, at_once)

        return self._think(len(states), search_in, budget)

    def find_in(self, games: Sequence[GameInPlay], states: np.ndarray, budget: Budget) -> Finding:
        """Search the positions of games; each game's tree is kept for its next position."""
        self._look_at_network()

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

        return self._think(len(games), search_in, budget)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Divide the memory among these games too."""
        self._in_play += len(games)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Forget the trees of these games."""
        self._in_play -= len(games)
        for each in games:
            each.memory = None

    def _look_at_network(self) -> None:
        """Forget the network's answers if its weights have changed."""
        version = version_of(self._evaluate)
        if version != self._version:
            self._version = version
            for batches in self._batches:
                empty(batches[0].cache)  # all batches of a thread share it

    def _compile(self) -> None:
        """Compile everything, so that the first search does not spend its time on it."""
        search = self._fresh(self.game.start(0).states, self._batches[0], 1)
        search.think(Budget(simulations=1))
        search.play(search.best_action())

    def _fresh(self, state: np.ndarray, batches: list[LeafBatch], games: int) -> TreeSearch:
        memory = _MEMORY // max(1, games)
        return TreeSearch(self.game, state, self._evaluate, self._settings, batches, memory)

    def _think(
        self, count: int, search_in: Callable[[int, list[LeafBatch]], TreeSearch], budget: Budget
    ) -> Finding:
        """Search ``count`` positions; the seconds of the budget include setting up a search."""

        def task(thread: int, number: int) -> Finding:
            started = time.perf_counter()
            batches = self._batches[thread]
            search = search_in(number, batches if count == 1 else batches[:1])
            left = budget.seconds
            if left is not None:
                left = max(0.0, left - (time.perf_counter() - started))
            search.think(replace(budget, seconds=left))
            return search.finding(self._lcb)

        found = results_of(task, count, len(self._batches))
        return Finding.scattered(count, self.game.num_actions, range(count), found)


def _new_batches(game: Game) -> list[list[LeafBatch]]:
    """The batches of each thread; the first has one for each core, to search one position alone."""
    cores = available_cores()
    return [new_batches(game, 1 if thread else cores) for thread in range(cores)]
