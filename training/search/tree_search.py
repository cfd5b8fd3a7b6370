"""`TreeSearch`: a search of one position by all cores, which can be stopped and continued.

There is one tree; each thread in turn lets many of its leaves wait (see `leaves`), evaluates them
in one call of the network, and adds the answers to the tree. The network takes most of the time, so
the threads seldom wait for each other. The search selects by PUCT, which can be stopped any time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from ludarium.base.progress import SILENT, Part, Progress
from ludarium.base.threads import available_cores, parallel_for
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING, seed_rng
from ludarium.models.evaluation import Evaluation, Evaluator, checked, is_canonical

from . import leaves
from .cache import Cache, new_cache
from .result import Budget, Search, SearchResult
from .settings import settings_record
from .tree import EDGE, NO_NODE, NODE, OneSearch, root_dtype

#: Default settings of the search; ``simulations``, ``temperature``, ``temperature_plies`` and what
#: only Gumbel obeys are not used.
SETTINGS = SearchSettings(algorithm="puct")
MEGABYTE = 2**20

BATCH = 32  # leaves of a thread that wait at the same time
_GROWTH = 8  # root visits for each leaf that may wait: few leaves at first, as little is known
_FIRST_NODES = 1024
_NO_LIMIT = 2**31 - 1
_WAIT = 0.01  # most seconds until a thread without a leaf tries again


@dataclass
class LeafBatch:
    """The arrays of one thread for its waiting leaves.

    Attributes:
        observations: float32 [n, *observation_shape].
        cache: shared by the threads, except the requests, which are those of ``observations``.
        leaves: int32 [n]; the first ``waiting`` of them wait.
        blocked: int32 [n]; the first ``collisions`` of them are released with the leaves.
    """

    observations: np.ndarray
    cache: Cache
    leaves: np.ndarray
    blocked: np.ndarray
    waiting: int = 0
    collisions: int = 0


class TreeSearch(Search):
    """Searches one position, and then positions that are reached from it.

    Args:
        game: the rules.
        state: structured array [1], the position, not finished.
        evaluate: the network; several threads call it at the same time.
        settings: settings of PUCT and proofs; ``algorithm`` must be "puct".
        batches: the batches of the threads, one for each, from `new_batches`; default: one for
            each core. With one thread, equal arguments and equal budgets without seconds give the
            same result.
        memory: bytes that the tree may take; its first room, for about a thousand nodes with up to
            32 actions each, it has in any case. When it is full, the search ends.

    Attributes:
        batches, memory: as given; may be replaced between calls.
        evaluations: how many evaluations the network has made so far.
        is_full: whether the memory is full.

    Raises:
        ValueError: the game is over, the algorithm is not PUCT, there is no machine code
            (``LUDARIUM_CODE=plain``), or an answer of ``evaluate`` is not valid, see
            `BatchSearch.run`; `restart`, `think` and `play` raise it for that too.
    """

    def __init__(
        self,
        game: Game,
        state: np.ndarray,
        evaluate: Evaluator,
        settings: SearchSettings = SETTINGS,
        batches: list[LeafBatch] | None = None,
        memory: int = 1024 * MEGABYTE,
    ) -> None:
        self.game = game
        self.evaluations = 0
        self.is_full = False
        self.memory = memory
        self.batches = batches or new_batches(game)
        self._evaluate = evaluate
        self._settings = settings
        self._settings_array = settings_record(settings, game)
        if settings.algorithm != "puct":
            raise ValueError('a tree that is kept grows by PUCT: set algorithm to "puct"')
        self._kernels = specialise(leaves, game)
        self._considered_visits = np.zeros((1, 1), np.int32)
        self._rng = seed_rng(0)
        self._turn = threading.Condition()
        self._roots = np.zeros(1, root_dtype(game.num_actions))
        self._nodes, self._edges = np.empty(0, NODE), np.empty(0, EDGE)
        self._states = np.empty(0, game.state_dtype)
        self._allocate(_FIRST_NODES, _FIRST_NODES * min(game.num_actions, 32))
        self.restart(state)
        self._compile()

    def restart(self, state: np.ndarray) -> None:
        """Start over with a position, structured array [1].

        Raises:
            ValueError: the game is over.
        """
        if state["outcome"][0] != ONGOING:
            raise ValueError("there is nothing to search in a finished game")
        self._states[0] = state[0]
        self.is_full = False
        self._open(is_new=True)

    @property
    def state(self) -> np.ndarray:
        """A copy of the root's position, structured array [1]."""
        return self._states[:1].copy()

    @property
    def simulations(self) -> int:
        """Simulations of the tree, including those kept from earlier positions."""
        return int(self._roots[0]["simulation"])

    @property
    def size(self) -> int:
        """Number of the tree's nodes."""
        return int(self._roots[0]["size"])

    @property
    def is_exact(self) -> bool:
        """Whether the root's outcome is proven."""
        return bool(self._nodes[0]["lower"] == self._nodes[0]["upper"])

    @property
    def bytes(self) -> int:
        """Memory that the tree takes, in bytes."""
        return self._nodes.nbytes + self._edges.nbytes + self._states.nbytes

    def think(self, budget: Budget, progress: Progress = SILENT) -> None:
        """Continue until the budget is spent, the exact value is known, or memory is full.

        It ends early if ``progress`` is stopped. With a share of the score an exact outcome does
        not end it.

        Args:
            budget: its simulations count the tree's, including those kept from earlier positions.
            progress: advanced by 0 between batches, by the calling thread; it may call `result` and
                `lines`.

        Raises:
            BaseException: whatever the network or ``progress`` raised, such as
                `KeyboardInterrupt`. The tree then holds only the root.
        """
        part = progress.part(budget.seconds)
        simulations = budget.simulations
        limit = _NO_LIMIT if simulations is None else min(simulations, _NO_LIMIT)

        def share(begin: int, end: int) -> None:
            for number in range(begin, end):
                self._work(part, limit, self.batches[number], number == 0)

        try:
            parallel_for(share, len(self.batches), len(self.batches))
        except BaseException:
            for batch in self.batches:
                batch.waiting = batch.collisions = 0
            self.restart(self.state)
            raise

    def play(self, action: int) -> None:
        """Make the position after a legal action of the root the new root, and keep its subtree.

        Raises:
            ValueError: it is not legal, or the game is over after it.
        """
        edges = self._edges[self._nodes[0]["first"] : self._nodes[0]["end"]]
        children = edges["child"][edges["action"] == action]
        if not len(children):
            raise ValueError(f"action {action} is not legal")
        child = int(children[0])
        if child == NO_NODE:
            position = Position.of_state(self.game, self.state)
            position.play(action)
            self.restart(position.states)
            return
        if self._states[child]["outcome"] != ONGOING:
            raise ValueError("there is nothing to search in a finished game")
        numbers = np.empty(self._roots[0]["size"], np.int32)
        self._kernels.keep_subtree(
            self.game.tables, self._search(), self._settings_array, self._rng, child, numbers
        )
        self.is_full = False
        if not self._nodes[0]["evaluated"]:
            self._open(is_new=False)

    def result(self, lcb: float = 0.0) -> SearchResult:
        """The result so far; may be called while another thread is in `think`.

        Args:
            lcb: 0 plays the first of the `lines`, and so does a proven position. Above 0, the
                action is played whose value minus this many standard errors is greatest, among
                those with a good share of the most visits (lower confidence bound, as in KataGo): a
                late discovery is played before it has the most visits.
        """
        num_actions = self.game.num_actions
        with self._turn:
            result = SearchResult.of(
                np.zeros(1, np.int64),
                np.zeros((1, num_actions), np.float32),
                self.simulations,
                self.evaluations,
                proven=np.array([self.is_exact]),
                priors=np.zeros((1, num_actions), np.float32),
            )
            self._kernels.read_root(
                self._search(),
                self._settings_array,
                lcb,
                np.empty((2, self.size)),
                *(result.actions, result.values, result.draws),
                *(result.policies[0], result.visits[0], result.priors[0]),
                *(result.action_values[0], result.action_draws[0], result.proven_actions[0]),
            )
            return result

    def lines(self) -> list[tuple[int, ...]]:
        """Each legal action and the best play after it; see `Search.lines`.

        The most visited action comes first, and those that are proven worse come at the end. In a
        proven position the actions that are proven to keep its value come before all others.
        """
        ranked = np.empty(self.game.num_actions, np.int32)
        line = np.empty(1 + self.game.max_plies, np.int32)
        with self._turn:
            search, settings = self._search(), self._settings_array
            count = self._kernels.rank_edges(search, settings, ranked)
            return [
                tuple(line[: self._kernels.write_line(search, settings, edge, line)].tolist())
                for edge in ranked[:count].tolist()
            ]

    def _compile(self) -> None:
        """Compile what `think` calls before it looks at the clock; the tree does not change."""
        with self._turn:
            self._gather(self.batches[0], 0)
            self._release(self.batches[0])

    # Threads.

    def _work(self, part: Part, limit: int, batch: LeafBatch, is_first: bool) -> None:
        """Let leaves wait, evaluate them, and add the answers, until the thinking is over."""
        evaluation = Evaluation.empty(0, self.game.num_actions)
        try:
            while True:
                if is_first:
                    part.advance(0)
                with self._turn:
                    self._receive(batch, evaluation)
                    if (
                        part.stopped
                        or self.simulations >= limit
                        or self.is_full
                        or (self.is_exact and not self._settings.score)  # `tree.is_settled`
                    ):
                        return
                    others = sum(each.waiting for each in self.batches)
                    self._gather(batch, limit - others)
                    if not batch.waiting:
                        if others:  # they hold the leaves that this thread would have found
                            self._release(batch)
                            self._turn.wait(_WAIT)
                        continue
                evaluation = self._ask(batch.observations[: batch.waiting])
        except BaseException:
            part.stop()
            raise

    def _ask(self, observations: np.ndarray) -> Evaluation:
        """The network's answer."""
        answer, count = self._evaluate(observations), len(observations)
        needs_score = self._settings.score > 0
        return checked(answer, count, self.game.num_actions, self._evaluate, needs_score)

    def _receive(self, batch: LeafBatch, evaluation: Evaluation) -> None:
        """Add the network's answers to the tree."""
        self.evaluations += batch.waiting
        self._kernels.receive(
            self.game.tables,
            self._search(),
            batch.cache,
            self._settings_array,
            batch.leaves[: batch.waiting],
            batch.blocked[: batch.collisions],
            evaluation,
        )
        batch.waiting = batch.collisions = 0
        self._turn.notify_all()

    def _release(self, batch: LeafBatch) -> None:
        """Undo the pending visits of collisions if no leaf waits with them."""
        self._receive(batch, Evaluation.empty(0, self.game.num_actions))

    def _gather(self, batch: LeafBatch, limit: int) -> None:
        """Run simulations until enough leaves wait or ``limit`` simulations are done or waiting.

        See `leaves.gather`. If the memory is full, this sets ``is_full`` instead.
        """
        room = min(len(batch.leaves), 1 + int(self._nodes[0]["visits"]) // _GROWTH)
        if not self._make_room(leaves._ATTEMPTS * room):
            self.is_full = True
            return
        batch.waiting, batch.collisions = self._kernels.gather(
            self.game.tables,
            self._search(),
            batch.cache,
            self._settings_array,
            self._considered_visits,
            batch.observations.reshape(-1, *self.game.planes_shape),
            batch.leaves[:room],
            batch.blocked[:room],
            limit,
        )

    def _open(self, is_new: bool) -> None:
        """Evaluate the root."""
        batch = self.batches[0]
        planes = batch.observations.reshape(-1, *self.game.planes_shape)
        self._make_room(2)  # this may move the arrays
        search = self._search()
        canonical = is_canonical(self._evaluate)
        self._kernels.show_root(self.game.tables, search, batch.cache, planes, canonical, is_new)
        evaluation = self._ask(batch.observations[:1])
        self.evaluations += 1
        self._kernels.open_root(
            self.game.tables, search, self._settings_array, self._rng, evaluation
        )

    # Memory.

    def _search(self) -> OneSearch:
        return OneSearch(self._roots, self._nodes, self._edges, self._states)

    def _make_room(self, nodes: int) -> bool:
        """Make room for ``nodes`` more nodes; return False if the memory is full."""
        size, edges = int(self._roots[0]["size"]), int(self._roots[0]["edges"])
        enough, enough_edges = size + nodes + 1, edges + nodes * self.game.num_actions
        if enough <= len(self._nodes) and enough_edges <= len(self._edges):
            return True
        wanted = max(enough, 2 * size), max(enough_edges, 2 * edges)
        if self._bytes(*wanted) > self.memory:
            wanted = enough, enough_edges
            if self._bytes(*wanted) > self.memory:
                return False
        self._allocate(max(wanted[0], len(self._nodes)), max(wanted[1], len(self._edges)))
        return True

    def _bytes(self, nodes: int, edges: int) -> int:
        node = self._nodes.itemsize + self._states.itemsize
        return nodes * node + edges * EDGE.itemsize

    def _allocate(self, nodes: int, edges: int) -> None:
        """Copy the tree to arrays of other sizes. The last position belongs to no node."""
        size, used = int(self._roots[0]["size"]), int(self._roots[0]["edges"])
        self._nodes = _resized(self._nodes, nodes, size)
        self._edges = _resized(self._edges, edges, used)
        self._states = _resized(self._states, nodes + 1, size)


def _resized(array: np.ndarray, length: int, used: int) -> np.ndarray:
    """An array of another length with the same first ``used`` entries, copied byte by byte."""
    new = np.empty(length * array.itemsize, np.uint8)
    count = used * array.itemsize
    new[:count] = array.view(np.uint8)[:count]
    return new.view(array.dtype)


def new_batches(
    game: Game, threads: int | None = None, size: int = BATCH, cache: float = 16.0
) -> list[LeafBatch]:
    """The batches for the threads of a search.

    Args:
        game: the rules.
        threads: how many; default: one for each core.
        size: leaves of one thread that wait for the network at the same time.
        cache: megabytes for the network's answers by observation, for all threads together.
            Transpositions share these answers and nothing else: each has its own node.
    """
    batches: list[LeafBatch] = []
    for _ in range(threads or available_cores()):
        observations = np.zeros((size, *game.observation_shape), np.float32)
        if not batches:
            shared = new_cache(observations, game.num_actions, cache)
        words = observations.reshape(size, -1).view(np.uint32)
        mine = shared._replace(words=words, asked=np.zeros(size, np.uint64))
        batches.append(
            LeafBatch(observations, mine, np.zeros(size, np.int32), np.zeros(size, np.int32))
        )
    return batches
