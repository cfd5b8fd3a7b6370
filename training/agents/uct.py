"""An agent that searches with UCT and random playouts, without a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.threads import available_cores, split

from .agent import Agent, Seed
from .kernels import uct as templates

DEFAULT_PLAYOUTS = 1000
MOST_PLAYOUTS = 10_000_000

#: Exploration constant of UCB1 for results of +1, 0 and -1. Measured on Corso 5x5 with
#: 1,000 playouts, 1,500 games for each pair: 0.7 scored 54.6 % against the others, 1.0 51.7 %,
#: 0.5 49.5 %, 1.4 44.2 %.
EXPLORATION = 0.7

_MOST_NODES = 1 << 22  # of one tree: 84 MB
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
        if not 0 <= exploration < np.inf:
            raise ValueError(f"uct exploration is a number from 0 on, not {exploration!r}")
        if threads is not None and threads < 1:
            raise ValueError(f"uct threads are 1 or more, not {threads!r}")
        super().__init__(game, f"uct:{playouts}", seed)
        self.playouts = playouts
        self._kernels = specialise(templates, game.rules)
        visits = np.maximum(np.arange(playouts + 1), 1)
        self._spreads = exploration * np.sqrt(np.log(visits))
        self._inverse_roots = 1 / np.sqrt(visits)
        workers = threads or available_cores()
        nodes = min(1 + playouts * game.num_actions, _MOST_NODES)
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
