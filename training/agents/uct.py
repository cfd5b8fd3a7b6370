"""An agent that searches with UCT and random playouts, without a network."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.engine.threads import available_cores, split, take_turns
from ludarium.training.search.finding import Budget, Finding

from .agent import Agent, Seed
from .kernels import uct as templates
from .settings import check_duration, duration_text
from .uct_search import MOST_NODES, MOST_PLAYOUTS, UCTSearch, ucb_factors

DEFAULT_PLAYOUTS = 1000

#: Exploration constant of UCB1 for results of +1, 0 and -1. Measured on Corso 5x5 with
#: 1,000 playouts, 1,500 games for each pair: 0.7 scored 54.6 % against the others, 1.0 51.7 %,
#: 0.5 49.5 %, 1.4 44.2 %.
EXPLORATION = 0.7

_PLAYOUTS_AT_ONCE = 200_000  # between chances to stop with Ctrl-C


class UCTAgent(Agent):
    """Plays the most visited action of a UCT search (see `kernels.uct` for the sources).

    Args:
        game: the rules.
        playouts: random games for each decision.
        seed: of the playouts and of the order in which actions are tried.
        exploration: weight of the exploration term.
        threads: number of positions searched in parallel; default: one per core. Without a time the
            chosen actions do not depend on it.
        seconds: for each move of each game, 0.001 to 3,600, in place of playouts. One position gets
            all cores; of more, as many as there are cores are searched at a time. A search that has
            10 million playouts before ends then.

    Attributes:
        budget: of a decision.
        exploration: as given.

    Raises:
        ValueError: ``playouts``, ``exploration``, ``threads`` or ``seconds`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        playouts: int = DEFAULT_PLAYOUTS,
        seed: Seed = None,
        exploration: float = EXPLORATION,
        threads: int | None = None,
        seconds: float | None = None,
    ) -> None:
        if not 1 <= playouts <= MOST_PLAYOUTS:
            raise ValueError(f"uct playouts are 1 to {MOST_PLAYOUTS:,}, not {playouts!r}")
        if not 0 <= exploration < np.inf:
            raise ValueError(f"uct exploration is a number from 0 on, not {exploration!r}")
        if threads is not None and threads < 1:
            raise ValueError(f"uct threads are 1 or more, not {threads!r}")
        self.exploration = exploration
        workers = threads or available_cores()
        if seconds is not None:
            check_duration(seconds)
            super().__init__(game, f"uct?time={duration_text(seconds)}", seed)
            self.budget = Budget(seconds=seconds)
            self._searches: list[UCTSearch | None] = [None] * workers
            self._fresh_search(game.start(0).states, np.ones((1, 2), np.int64))  # compiles
            return
        super().__init__(game, f"uct:{playouts}", seed)
        self.budget = Budget(simulations=playouts)
        self._kernels = specialise(templates, game.rules)
        self._spreads, self._inverse_roots = ucb_factors(exploration, playouts)
        nodes = min(1 + playouts * game.num_actions, MOST_NODES)
        self._trees = np.empty((workers, nodes), templates.NODE)
        self._paths = np.empty((workers, 1 + min(playouts, game.max_plies)), np.int32)
        self._work = game.new_states(workers)

    def search(self, states: np.ndarray) -> Finding:
        """Search each position from scratch.

        Raises:
            ValueError: ``states`` is not a structured array [N] of the game's positions.
        """
        states = self._check(states)
        if self.budget.simulations is None:
            return self._search_for_time(states)
        return self._search_with_playouts(states, self.budget.simulations)

    def _search_with_playouts(self, states: np.ndarray, playouts: int) -> Finding:
        """Of equally visited actions one is drawn."""
        count = len(states)
        actions, values = np.empty(count, np.int64), np.empty(count, np.float32)
        visits = np.empty((count, self.game.num_actions), np.float32)
        streams = self._random_streams(count)
        size = max(len(self._work), _PLAYOUTS_AT_ONCE // playouts)
        for first in range(0, count, size):
            portion = slice(first, min(first + size, count))
            arrays = (states, streams, actions, visits, values)
            self._search(playouts, *(array[portion] for array in arrays))
        return Finding.of(
            actions,
            visits / np.maximum(visits.sum(axis=1, keepdims=True), 1),
            values=values,
            visits=visits.astype(np.int32),
            simulations=playouts * int((actions >= 0).sum()),
        )

    def _search(
        self,
        playouts: int,
        states: np.ndarray,
        streams: np.ndarray,
        actions: np.ndarray,
        visits: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Search some positions, as many at the same time as there are workers."""
        workers = min(len(self._work), len(states))

        def share(begin: int, end: int) -> None:
            self._kernels.search(
                self.game.tables,
                states,
                streams,
                playouts,
                self._spreads,
                self._inverse_roots,
                self._work[:workers],
                self._trees,
                self._paths,
                actions,
                visits,
                values,
                begin,
                end,
            )

        split(share, workers, workers)

    def _search_for_time(self, states: np.ndarray) -> Finding:
        """One position in all threads, or one thread for each of several."""
        places = np.flatnonzero(states["outcome"] == ONGOING)
        alone = len(places) == 1
        streams = self._random_streams(len(self._searches) if alone else len(places))
        found: list[Finding] = [None] * len(places)  # type: ignore[list-item]

        def task(thread: int, number: int) -> None:
            state = states[places[number] : places[number] + 1]
            if alone:
                search = self._fresh_search(state, streams)
            else:
                search = self._searches[thread] or self._fresh_search(state, streams[:1])
                self._searches[thread] = search
                search.restart(state, streams[number : number + 1])
            search.think(self.budget)
            found[number] = search.finding()

        if alone:
            task(0, 0)  # here, so that the search has the other threads
        elif len(places):
            take_turns(task, len(places), len(self._searches))
        return Finding.scattered(len(states), self.game.num_actions, places, found)

    def _fresh_search(self, state: np.ndarray, streams: np.ndarray) -> UCTSearch:
        search = UCTSearch(self.game, streams, self.exploration)
        search.restart(state)
        return search

    def deep_search(self, position: Position) -> UCTSearch:
        """A search of one position by all cores."""
        return self._fresh_search(position.states, self._random_streams(available_cores()))

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The most visited action of each position; see `Agent.actions`."""
        return self.search(states).actions
