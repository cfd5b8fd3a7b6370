"""An agent that searches with UCT and random playouts, without a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.engine.threads import available_cores, split, take_turns

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


@dataclass(frozen=True)
class UCTResult:
    """Results of the searches of N positions.

    Attributes:
        actions: int64[N], the most visited action, ties broken at random; -1 where the game
            is over.
        visits: float32[N, A], playouts that went through each action.
        values: float32[N], mean result of the playouts in the view of the player to move, in
            [-1, 1]; where the game is over, the reward of the position's ``mover``.
    """

    actions: np.ndarray
    visits: np.ndarray
    values: np.ndarray


class UCTAgent(Agent):
    """Plays the most visited action of a UCT search (see `kernels.uct` for the sources).

    Args:
        game: the rules.
        playouts: random games for each decision.
        seed: of the playouts and of the order in which actions are tried.
        exploration: weight of the exploration term.
        threads: number of positions searched in parallel; default: one per core. The chosen
            actions do not depend on it.

    Raises:
        ValueError: ``playouts``, ``exploration`` or ``threads`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        playouts: int = DEFAULT_PLAYOUTS,
        seed: Seed = None,
        exploration: float = EXPLORATION,
        threads: int | None = None,
    ) -> None:
        if not 1 <= playouts <= MOST_PLAYOUTS:
            raise ValueError(f"uct playouts are 1 to {MOST_PLAYOUTS:,}, not {playouts!r}")
        _check_exploration(exploration)
        if threads is not None and threads < 1:
            raise ValueError(f"uct threads are 1 or more, not {threads!r}")
        super().__init__(game, f"uct:{playouts}", seed)
        self.playouts = playouts
        self.exploration = exploration
        self._kernels = specialise(templates, game.rules)
        self._spreads, self._inverse_roots = ucb_factors(exploration, playouts)
        workers = threads or available_cores()
        nodes = min(1 + playouts * game.num_actions, MOST_NODES)
        self._trees = np.empty((workers, nodes), templates.NODE)
        self._paths = np.empty((workers, 1 + min(playouts, game.max_plies)), np.int32)
        self._work = game.new_states(workers)

    def search(self, states: np.ndarray) -> UCTResult:
        """Search each position from scratch.

        Raises:
            ValueError: ``states`` is not a structured array [N] of the game's positions.
        """
        states = self._check(states)
        count = len(states)
        result = UCTResult(
            actions=np.empty(count, np.int64),
            visits=np.empty((count, self.game.num_actions), np.float32),
            values=np.empty(count, np.float32),
        )
        streams = self._random_streams(count)
        portion = max(len(self._work), _PLAYOUTS_AT_ONCE // self.playouts)
        for first in range(0, count, portion):
            self._search(states, streams, result, slice(first, min(first + portion, count)))
        return result

    def _search(
        self, states: np.ndarray, streams: np.ndarray, result: UCTResult, portion: slice
    ) -> None:
        """Search some of the positions, as many at the same time as there are workers."""
        workers = min(len(self._work), portion.stop - portion.start)

        def share(begin: int, end: int) -> None:
            self._kernels.search(
                self.game.tables,
                states[portion],
                streams[portion],
                self.playouts,
                self._spreads,
                self._inverse_roots,
                self._work[:workers],
                self._trees,
                self._paths,
                result.actions[portion],
                result.visits[portion],
                result.values[portion],
                begin,
                end,
            )

        split(share, workers, workers)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The most visited action of each position; see `Agent.actions`."""
        return self.search(states).actions


class TimedUCTAgent(Agent):
    """Plays the best action that a `UCTSearch` finds in a given time.

    One position gets all cores; of more, as many as there are cores are thought about at a time.

    Args:
        game: the rules.
        seconds: for each move of each game, 0.001 to 3,600. A search that has 10 million playouts
            before ends then.
        seed: of the playouts and of the order in which actions are tried.
        exploration: weight of the exploration term.

    Raises:
        ValueError: ``seconds`` or ``exploration`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        seconds: float,
        seed: Seed = None,
        exploration: float = EXPLORATION,
    ) -> None:
        check_duration(seconds)
        _check_exploration(exploration)
        super().__init__(game, f"uct?time={duration_text(seconds)}", seed)
        self.seconds = seconds
        self.exploration = exploration
        self._searches: list[UCTSearch] = []
        search = UCTSearch(game, np.ones((1, 2), np.int64), exploration)
        search.restart(game.start(0).states)  # compiles, so that the first move need not wait

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The most visited action of each position; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)
        cores = available_cores()
        if len(unfinished) == 1:
            (place,) = unfinished
            search = UCTSearch(self.game, self._random_streams(cores), self.exploration)
            search.restart(states[place : place + 1])
            search.think(seconds=self.seconds)
            chosen[place] = search.best_action()
            return chosen
        streams = self._random_streams(len(unfinished))
        while len(self._searches) < cores:
            self._searches.append(UCTSearch(self.game, streams[:1], self.exploration))

        def task(thread: int, number: int) -> None:
            place = unfinished[number]
            search = self._searches[thread]
            search.restart(states[place : place + 1], streams[number : number + 1])
            search.think(seconds=self.seconds)
            chosen[place] = search.best_action()

        if len(unfinished):
            take_turns(task, len(unfinished), cores)
        return chosen


def _check_exploration(exploration: float) -> None:
    if not 0 <= exploration < np.inf:
        raise ValueError(f"uct exploration is a number from 0 on, not {exploration!r}")
