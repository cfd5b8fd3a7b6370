"""`UCTSearch`: UCT searches of one or several positions, which can be stopped and continued."""

from __future__ import annotations

import math
import time

import numpy as np

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores, run_tasks
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING, reward
from ludarium.training.search.result import Budget, Search, SearchResult

from .kernels import uct as templates

MOST_PLAYOUTS = 10_000_000  # playouts of one search

MOST_NODES = 1 << 22  # nodes of one tree: 134 MB
_ILLEGAL = -(1 << 62)  # rank of an illegal action
_SPREADS = 1 << 12  # kept in a table, as most nodes have fewer visits
_TASK_PLAYOUTS = 4096  # playouts for which it is worth waking a thread
_CALL_SECONDS = 0.002  # target for the duration of a kernel's call
_MOST_PLAYOUTS_AT_ONCE = 1 << 14  # in a kernel's call


class UCTSearch(Search):
    """Searches positions, each in one tree or in several whose visits are added up.

    Several trees are root parallelisation (Chaslot, Winands and van den Herik, "Parallel
    Monte-Carlo Tree Search", 2008). As many trees as there are cores grow at the same time. If
    there are no more trees than cores, the search can be continued; else it starts over.

    Args:
        game: the rules.
        exploration: weight of the exploration term.

    Attributes:
        game: the rules.
        threads: how many trees grow at the same time.

    Call `make_room` and `restart` before the first use.
    """

    def __init__(self, game: Game, exploration: float) -> None:
        self.game = game
        self.threads = threads = available_cores()
        self._kernels = specialise(templates, game)
        self._trees = 1  # of each position
        self._limits = [16] * threads  # playouts of the next call of the kernel
        self._searches = templates.Searches(
            roots=game.new_states(0),
            rngs=np.empty((0, 2), np.int64),
            counts=np.empty((0, 4, game.num_actions), np.int32),
            spreads=exploration * np.sqrt(np.log(np.maximum(np.arange(_SPREADS), 1))),
            nodes=np.empty((threads, 0), templates.NODE),
            sizes=np.zeros(threads, np.int32),
            searched=np.full(threads, -1, np.int32),
            paths=np.empty((threads, 1 + game.max_plies), np.int32),
            states=game.new_states(threads),
        )

    def make_room(self, playouts: int) -> None:
        """Allocate trees for this many playouts, or smaller ones that stop growing.

        This may drop the trees that there are, so `restart` must follow.
        """
        threads, nodes = self._searches.nodes.shape
        wanted = min(1 + playouts * self.game.num_actions, MOST_NODES)
        if nodes < wanted:
            trees = np.empty((threads, wanted), templates.NODE)
            self._searches = self._searches._replace(nodes=trees)

    def restart(self, states: np.ndarray, streams: np.ndarray | None = None) -> None:
        """Start over with positions, structured array [N].

        Args:
            states: the positions.
            streams: int64 [N * K, 2], states of random generators, one for each of K trees of each
                position; they are changed. By default those of the last searches go on.
        """
        rngs = self._searches.rngs if streams is None else streams
        count = len(rngs)
        self._trees = max(1, count // max(1, len(states)))
        self._searches.searched[:] = -1
        self._searches = self._searches._replace(
            roots=np.repeat(states, self._trees),
            rngs=rngs,
            counts=np.zeros((count, *self._searches.counts.shape[1:]), np.int32),
        )
        # No playouts yet: it lists the legal actions, and compiles before `think` reads the clock.
        self._kernels.search(self.game.tables, self._searches, 0, 0, count, 0, 0)

    @property
    def simulations(self) -> int:
        """Playouts in all trees together."""
        return int(self._searches.counts[:, templates.VISITS].sum())

    def think(self, budget: Budget, progress: Progress = SILENT) -> None:
        """Search until the budget is spent, or each position has `MOST_PLAYOUTS`.

        Args:
            budget: its simulations are the playouts for each position, in all its trees together.
                Its seconds are for each position, which are then searched one per thread.
            progress: advanced by 0 now and then, by the calling thread; it may call `result` and
                `lines`. Once it is stopped, the search ends soon.
        """
        part = progress.part()
        started = time.perf_counter()
        seconds = math.inf if budget.seconds is None else budget.seconds
        playouts = MOST_PLAYOUTS
        if budget.simulations is not None:
            playouts = min(playouts, budget.simulations)
        count, threads, trees = len(self._searches.roots), self.threads, self._trees
        size = 1  # searches of a task
        if trees == 1 and budget.seconds is None:
            size = max(1, _TASK_PLAYOUTS // max(1, playouts))
            if size < count:
                size = min(size, -(-count // threads))

        tasks = -(-count // size)
        is_callers = min(tasks, threads) == 1

        def task(thread: int, number: int) -> None:
            first, end = number * size, min(number * size + size, count)
            tree = first % trees  # the playouts are divided among the trees of a position
            share = playouts * (tree + 1) // trees - playouts * tree // trees
            tree = first if count <= threads else thread
            now = time.perf_counter()
            deadline = (now if trees == 1 else started) + seconds
            while first < end and not part.stopped:
                before, limit = now, self._limits[tree]
                first = self._kernels.search(
                    self.game.tables, self._searches, tree, first, end, share, limit
                )
                now = time.perf_counter()
                if now >= deadline:
                    break  # after one call at least, however late this thread was woken
                if first < end:
                    if is_callers:
                        part.advance(0)
                    speed = limit / max(now - before, 1e-9)
                    self._limits[tree] = min(1 + int(_CALL_SECONDS * speed), _MOST_PLAYOUTS_AT_ONCE)

        if is_callers:  # it need not wake a thread
            for number in range(tasks):
                task(0, number)
        else:
            run_tasks(task, tasks, threads, part, lambda _: part.advance(0))

    def result(self) -> SearchResult:
        """The result so far; may be called while another thread is in `think`."""
        visits, totals, draws, ranks = self._sums()
        played, roots = visits.sum(axis=1), self._searches.roots[:: self._trees]
        with np.errstate(invalid="ignore"):
            values, action_values = totals.sum(axis=1) / played, totals / visits
            chances, action_draws = draws.sum(axis=1) / played, draws / visits
        actions = ranks.argmax(axis=1)
        for place in np.flatnonzero(roots["outcome"] != ONGOING):
            actions[place] = -1
            values[place] = reward(roots["outcome"][place], roots["mover"][place])
        return SearchResult.of(
            actions,
            visits / np.maximum(played, 1)[:, None],
            values=values,
            draws=chances,
            visits=visits.astype(np.int32),
            action_values=action_values,
            action_draws=action_draws,
            simulations=self.simulations,
        )

    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is known of each position's actions, from all its trees, [N, A] each.

        Returns:
            float32 visits, sums of results for the mover, and draws, which are all exact; int64
            ranks, the highest for the best action. Ties in visits are broken by the results, and
            then by the order in which the first tree tried the actions, which is random.
        """
        roots, counts = self._searches.roots[:: self._trees], self._searches.counts
        counts = counts.reshape(len(roots), self._trees, *counts.shape[1:])
        visits, totals, draws, _ = sums = counts.sum(axis=1, dtype=np.int64).swapaxes(0, 1)
        totals *= (1 - 2 * roots["mover"].astype(np.int64))[:, None]
        order = counts[:, 0, templates.ORDER]
        ranks = ((visits << 25) + totals << 14) - order  # below 2**24 visits, hardly 2**14 actions
        visits, totals, draws, _ = sums.astype(np.float32)
        return visits, totals, draws, np.where(order > 0, ranks, _ILLEGAL)

    def lines(self) -> list[tuple[int, ...]]:
        """The legal actions of the first position, best first, each with the best play after it.

        That is the most visited line in the tree that visited the action most.
        """
        ranks = self._sums()[3][0]
        ranked = np.argsort(-ranks, kind="stable")[: (ranks > _ILLEGAL).sum()]
        return [self._line(action) for action in ranked.tolist()]

    def _line(self, action: int) -> tuple[int, ...]:
        number = int(self._searches.counts[:, templates.VISITS, action].argmax())
        tree, line = self._searches.nodes[number], [action]
        if self._searches.searched[number] != number:
            return (action,)  # nothing has been searched, or the tree is another search's by now
        children = _children(tree, 0)
        node = int(children[np.flatnonzero(tree["action"][children] == action)[0]])
        while len(children := _children(tree, node)) and tree["visits"][children].any():
            node = int(children[tree["visits"][children].argmax()])
            line.append(int(tree[node].action))
        return tuple(line)

    def play(self, action: int) -> None:
        """Start over with the position after a legal action in the only position."""
        position = Position.of_state(self.game, self._searches.roots[:1])
        position.play(action)
        self.restart(position.states)


def _children(tree: np.ndarray, node: int) -> np.ndarray:
    first = int(tree[node].children)
    return np.arange(first, first + int(tree[node].width)) if first else np.arange(0)
