"""`UCTSearch`: a UCT search of one position, without a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.threads import split
from ludarium.training.search.finding import Budget, Finding
from ludarium.training.search.watch import Watch

from .kernels import uct as templates

MOST_PLAYOUTS = 10_000_000  # playouts of one search

MOST_NODES = 1 << 22  # nodes of one tree: 101 MB
_FIRST_PLAYOUTS = 16  # playouts in the first call of the kernel
_MOST_PLAYOUTS_AT_ONCE = 1 << 14
_CALL_SECONDS = 0.002  # target for the duration of a kernel's call


class UCTSearch:
    """Searches one position; each thread grows a tree of its own, and their visits are added up.

    That is root parallelisation (Chaslot, Winands and van den Herik, "Parallel Monte-Carlo Tree
    Search", 2008).

    Args:
        game: the rules.
        streams: int64 [threads, 2], states of random generators, one for each thread.
        exploration: weight of the exploration term.

    Call `restart` before the first use.
    """

    def __init__(self, game: Game, streams: np.ndarray, exploration: float) -> None:
        threads = len(streams)
        self.game = game
        self._exploration = exploration
        self._kernels = specialise(templates, game.rules)
        self._root = game.new_states(1)
        self._work = game.new_states(threads)
        self._streams = streams
        self._trees = np.empty((threads, MOST_NODES), templates.NODE)
        self._paths = np.empty((threads, 1 + game.max_plies), np.int32)
        self._free = [1] * threads
        self._factors = ucb_factors(exploration, 0)

    def restart(self, state: np.ndarray, streams: np.ndarray | None = None) -> None:
        """Start over with an unfinished position, structured array [1].

        ``streams`` replaces the random streams, if given.
        """
        self._root[0] = state[0]
        if streams is not None:
            self._streams = streams
        for thread, tree in enumerate(self._trees):
            self._free[thread] = int(
                self._kernels.plant(self.game.tables, self._root, tree, self.game.num_actions)
            )
        self._grow(0, 0)  # compiles, before `think` looks at the clock

    @property
    def simulations(self) -> int:
        """Playouts in all trees together."""
        return int(self._trees["visits"][:, 0].sum())

    def think(
        self,
        budget: Budget,
        report: Callable[[], None] | None = None,
        every: float = 0.5,
    ) -> None:
        """Continue until the budget is spent, or there are `MOST_PLAYOUTS`.

        Args:
            budget: its simulations are the playouts of all trees together.
            report, every: see `Watch`.
        """
        watch = Watch(budget, report, every)
        threads, playouts = len(self._trees), budget.simulations
        limit = MOST_PLAYOUTS if playouts is None else min(MOST_PLAYOUTS, playouts)
        shares = [
            limit * (thread + 1) // threads - limit * thread // threads for thread in range(threads)
        ]

        def share(begin: int, end: int) -> None:
            for thread in range(begin, end):
                self._work_on(watch, thread, shares[thread])

        split(share, threads, threads)

    def _work_on(self, watch: Watch, thread: int, limit: int) -> None:
        tree, portion = self._trees[thread], _FIRST_PLAYOUTS
        try:
            while not watch.is_over and (left := limit - int(tree[0].visits)) > 0:
                started = time.perf_counter()
                self._grow(thread, min(portion, left))
                if time.perf_counter() - started < _CALL_SECONDS:
                    portion = min(2 * portion, _MOST_PLAYOUTS_AT_ONCE)
                elif portion > 1:
                    portion //= 2
                watch.look()
        except BaseException:
            watch.is_over = True
            raise

    def _grow(self, thread: int, playouts: int) -> None:
        tree = self._trees[thread]
        spreads, inverse_roots = self._factors_up_to(int(tree[0].visits) + playouts)
        self._free[thread] = int(
            self._kernels.grow(
                self.game.tables,
                self._root,
                self._work[thread : thread + 1],
                self._streams[thread : thread + 1],
                tree,
                self._paths[thread],
                self._free[thread],
                self.game.num_actions,
                playouts,
                spreads,
                inverse_roots,
            )
        )

    def _factors_up_to(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """`ucb_factors`, kept from one call to the next."""
        factors = self._factors
        if len(factors[0]) <= most:
            factors = self._factors = ucb_factors(self._exploration, 2 * most)
        return factors

    def action_statistics(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Visits, sums of player 0's results, and draws of the root's actions, int64 [A] each."""
        counts = np.zeros((3, self.game.num_actions), np.int64)
        for tree in self._trees:
            first, width = int(tree[0].children), int(tree[0].width)
            children = tree[first : first + width]
            for row, name in zip(counts, ("visits", "total", "draws"), strict=True):
                row[children["action"]] += children[name]
        visits, totals, draws = counts
        return visits, totals, draws

    def finding(self) -> Finding:
        """The finding so far; may be called while another thread is in `think`."""
        visits, totals, draws = self.action_statistics()
        sign = 1 - 2 * int(self._root[0]["mover"])
        with np.errstate(invalid="ignore"):
            values, action_draws = sign * totals / visits, draws / visits
            value, draw = sign * totals.sum() / visits.sum(), draws.sum() / visits.sum()
        return Finding.of(
            np.array(self.ranked()[:1]),
            (visits / max(1, visits.sum()))[None].astype(np.float32),
            values=np.array([value], np.float32),
            draws=np.array([draw], np.float32),
            visits=visits[None].astype(np.int32),
            action_values=values[None].astype(np.float32),
            action_draws=action_draws[None].astype(np.float32),
            simulations=int(visits.sum()),
        )

    def ranked(self) -> list[int]:
        """The legal actions, best first: by visits, and ties by mean result."""
        visits, totals, _ = self.action_statistics()
        sign = 1 - 2 * int(self._root[0]["mover"])
        legal = Position.of_state(self.game, self._root).legal_actions
        return legal[np.lexsort((-sign * totals[legal], -visits[legal]))].tolist()

    def priors(self) -> None:
        """None, because there is no network."""

    def play(self, action: int) -> None:
        """Start over with the position after a legal action."""
        position = Position.of_state(self.game, self._root)
        position.play(action)
        self.restart(position.states)

    def line(self, action: int) -> tuple[int, ...]:
        """An action, followed by the most visited line in the tree that visited it most."""
        best: tuple[int, ...] = (action,)
        most = 0
        for tree in self._trees:
            children = _children(tree, 0)
            node = int(children[np.flatnonzero(tree["action"][children] == action)[0]])
            if tree[node].visits > most:
                most = int(tree[node].visits)
                best = (action, *_most_visited_line(tree, node))
        return best


def ucb_factors(exploration: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """``c * sqrt(ln(n))`` and ``1 / sqrt(n)`` for n from 0 to ``most``, float64; 0 counts as 1."""
    visits = np.maximum(np.arange(most + 1), 1)
    return exploration * np.sqrt(np.log(visits)), 1 / np.sqrt(visits)


def _children(tree: np.ndarray, node: int) -> np.ndarray:
    first = int(tree[node].children)
    return np.arange(first, first + int(tree[node].width)) if first else np.arange(0)


def _most_visited_line(tree: np.ndarray, node: int) -> list[int]:
    line: list[int] = []
    while tree[node].visits > 1 and len(children := _children(tree, node)):
        node = int(children[tree["visits"][children].argmax()])
        if not tree[node].visits:
            break
        line.append(int(tree[node].action))
    return line
