"""Agents that search with UCT and random playouts, without a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.engine.threads import available_cores, results_of, split
from ludarium.training.search.finding import Budget, Finding

from .agent import Agent, AgentFactory, Seed
from .kernels import uct as templates
from .searcher import Searcher, as_positions, random_streams
from .settings import (
    TIME_HELP,
    check_duration,
    duration_text,
    read_duration,
    read_number,
    read_real,
    setting,
    settings_text,
)
from .uct_search import MOST_NODES, MOST_PLAYOUTS, UCTSearch, ucb_factors

DEFAULT_PLAYOUTS = 1000

#: Exploration constant of UCB1 for results of +1, 0 and -1. Measured on Corso 5x5 with
#: 1,000 playouts, 1,500 games for each pair: 0.7 scored 54.6 % against the others, 1.0 51.7 %,
#: 0.5 49.5 %, 1.4 44.2 %.
EXPLORATION = 0.7

_PLAYOUTS_AT_ONCE = 200_000  # playouts between checks for Ctrl-C


class UCTSearcher(Searcher):
    """Searches by UCT with random playouts (see `kernels.uct` for the sources).

    A budget's simulations are playouts for each position; the finding then does not depend on
    the number of cores. With seconds, one position gets all cores; of several, one per core is
    searched at a time. A search ends early after 10 million playouts.

    Args:
        game: the rules.
        exploration: weight of the exploration term.

    Raises:
        ValueError: ``exploration`` is out of range.
    """

    def __init__(self, game: Game, exploration: float = EXPLORATION) -> None:
        if not 0 <= exploration < np.inf:
            raise ValueError(f"uct exploration is a number from 0 on, not {quoted(exploration)}")
        super().__init__(game)
        workers = available_cores()
        self._exploration = exploration
        self._kernels = specialise(templates, game.rules)
        self._work = game.new_states(workers)
        self._searches: list[UCTSearch | None] = [None] * workers
        self._playouts = 0  # the arrays below have room for this many
        self._spreads = self._inverse_roots = np.empty(0)
        self._trees = np.empty((workers, 0), templates.NODE)
        self._paths = np.empty((workers, 0), np.int32)

    def prepare(self, budget: Budget) -> None:
        """See `Searcher.prepare`."""
        if budget.seconds is not None:
            self._fresh_search(self.game.start(0).states, np.ones((1, 2), np.int64))
            return
        playouts = budget.simulations
        if playouts is None or not 1 <= playouts <= MOST_PLAYOUTS:
            raise ValueError(f"uct playouts are 1 to {MOST_PLAYOUTS:,}, not {quoted(playouts)}")
        if playouts != self._playouts:
            self._make_room(playouts)

    def _make_room(self, playouts: int) -> None:
        workers = len(self._work)
        nodes = min(1 + playouts * self.game.num_actions, MOST_NODES)
        self._playouts = playouts
        self._spreads, self._inverse_roots = ucb_factors(self._exploration, playouts)
        self._trees = np.empty((workers, nodes), templates.NODE)
        self._paths = np.empty((workers, 1 + min(playouts, self.game.max_plies)), np.int32)

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """Search each position from scratch; see `Searcher.find`. Finished ones get no action."""
        states = as_positions(self.game, states)
        if budget.seconds is not None:
            return self._search_for_time(states, budget, rng)
        self.prepare(budget)
        return self._search_with_playouts(states, rng)

    def _search_with_playouts(self, states: np.ndarray, rng: np.random.Generator) -> Finding:
        """Search with a number of playouts; ties in visits are broken at random."""
        count, playouts = len(states), self._playouts
        actions, values = np.empty(count, np.int64), np.empty(count, np.float32)
        visits = np.empty((count, self.game.num_actions), np.float32)
        streams = random_streams(rng, count)
        size = max(len(self._work), _PLAYOUTS_AT_ONCE // playouts)
        for first in range(0, count, size):
            portion = slice(first, min(first + size, count))
            arrays = (states, streams, actions, visits, values)
            self._search(*(array[portion] for array in arrays))
        return Finding.of(
            actions,
            visits / np.maximum(visits.sum(axis=1, keepdims=True), 1),
            values=values,
            visits=visits.astype(np.int32),
            simulations=playouts * int((actions >= 0).sum()),
        )

    def _search(
        self,
        states: np.ndarray,
        streams: np.ndarray,
        actions: np.ndarray,
        visits: np.ndarray,
        values: np.ndarray,
    ) -> None:
        """Search some positions, one per worker at a time."""
        workers = min(len(self._work), len(states))

        def share(begin: int, end: int) -> None:
            self._kernels.search(
                self.game.tables,
                states,
                streams,
                self._playouts,
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

    def _search_for_time(
        self, states: np.ndarray, budget: Budget, rng: np.random.Generator
    ) -> Finding:
        """Search one position in all threads, or several with one thread each."""
        places = np.flatnonzero(states["outcome"] == ONGOING)
        alone = len(places) == 1
        streams = random_streams(rng, len(self._searches) if alone else len(places))

        def task(thread: int, number: int) -> Finding:
            state = states[places[number] : places[number] + 1]
            if alone:
                search = self._fresh_search(state, streams)
            else:
                search = self._searches[thread] or self._fresh_search(state, streams[:1])
                self._searches[thread] = search
                search.restart(state, streams[number : number + 1])
            search.think(budget)
            return search.finding()

        found = results_of(task, len(places), len(self._searches))
        return Finding.scattered(len(states), self.game.num_actions, places, found)

    def _fresh_search(self, state: np.ndarray, streams: np.ndarray) -> UCTSearch:
        search = UCTSearch(self.game, streams, self._exploration)
        search.restart(state)
        return search

    def deep_search(self, state: np.ndarray, rng: np.random.Generator) -> UCTSearch:
        """See `Searcher.deep_search`."""
        return self._fresh_search(state, random_streams(rng, available_cores()))


@dataclass(frozen=True, kw_only=True)
class UCTFactory(AgentFactory):
    """Makes an agent that plays the action that a `UCTSearcher` visits most."""

    argument = "playouts"

    playouts: int | None = setting(read_number, f"random games, {DEFAULT_PLAYOUTS:,} by default")
    time: float | None = setting(read_duration, TIME_HELP)
    exploration: float = setting(
        read_real, f"weight of the exploration term, {EXPLORATION:g} by default", EXPLORATION
    )

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentFactory.make`."""
        searcher = UCTSearcher(game, self.exploration)
        told: dict[str, Any] = {
            "time": None if self.time is None else duration_text(self.time),
            "exploration": None
            if self.exploration == EXPLORATION
            else str(self.exploration).removesuffix(".0"),
        }
        if self.time is not None:
            check_duration(self.time)
            name, budget = "uct", Budget(seconds=self.time)
        else:
            playouts = DEFAULT_PLAYOUTS if self.playouts is None else self.playouts
            name, budget = f"uct:{playouts}", Budget(simulations=playouts)
        return Agent(game, name + settings_text(told), seed, searcher, budget)
