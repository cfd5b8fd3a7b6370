"""Runs a batch of searches from Python, with any function that evaluates leaves.

Compiled searches call a compiled network themselves; each core has a part of the batch, and returns
to Python several times a second, so that Ctrl-C need not wait for the end. Any other function, and
a network that is faster so, gets the leaves of all searches at once, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import msgspec
import numpy as np

from ludarium.base.numbers import require_seed
from ludarium.base.progress import Progress
from ludarium.base.threads import available_cores, run_tasks
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING, seed_rng
from ludarium.models.evaluation import (
    Evaluation,
    Evaluator,
    checked,
    is_canonical,
    version_of,
)
from ludarium.models.kernels import NONE, Called, in_search

from . import simulate
from .cache import Cache, empty, new_cache
from .gumbel import write_considered_visits
from .result import SearchResult
from .settings import settings_record
from .tree import new_tree

_PATIENCE = 0.2  # seconds between checks whether searches inside compiled code must end


class BatchSearch:
    """Searches up to ``batch`` positions in parallel.

    Args:
        game: the rules.
        settings: see `SearchSettings`.
        batch: most positions searched in parallel; more are split into batches.
        seed: seed of the root noise, and of the actions that PUCT draws.
        cache: megabytes on each core for the network's answers, which are kept from one `run` to
            the next with the same network. 0 keeps none.

    Raises:
        ValueError: the batch is empty, ``seed`` is not a seed, or the trees would take more memory
            than is free.
    """

    def __init__(
        self,
        game: Game,
        settings: SearchSettings,
        batch: int = 64,
        seed: int | None = None,
        cache: float = 0.0,
    ) -> None:
        if batch < 1:
            raise ValueError(f"a search needs a batch of at least 1, not {batch}")
        self.game = game
        self.settings = settings
        self._settings_array = settings_record(settings, game)
        self.batch = batch
        self.tree = new_tree(game, batch, settings)
        write_considered_visits(settings, self.tree.considered_visits)
        self.observations = np.zeros((batch, *game.observation_shape), np.float32)
        self._caches = [
            new_cache(self.observations, game.num_actions, cache)
            for _ in range(min(available_cores(), batch))
        ]
        self._asked: tuple[Evaluator | None, int | None] = None, None
        self._limits = [1] * len(self._caches)
        self._planes = self.observations.reshape(batch, *game.planes_shape)
        self._rngs = seed_rng(require_seed(seed), batch)
        self._megabytes = cache
        self._kernels = specialise(simulate, game)

    def __reduce__(self) -> tuple:
        # Its arrays are views of each other, and separate copies would not be.
        considered, simulations = self.tree.considered_visits.shape
        room = msgspec.structs.replace(
            self.settings, simulations=simulations, max_considered=considered - 1
        )
        return _copied, (self.game, room, self.settings, self.batch, self._megabytes, self._rngs)

    def use(self, settings: SearchSettings) -> None:
        """Search with other settings from now on.

        Raises:
            ValueError: there is no room for the simulations or considered actions.
        """
        considered, simulations = self.tree.considered_visits.shape
        if settings.simulations > simulations or settings.max_considered >= considered:
            raise ValueError(
                f"this search has room for {simulations} simulations and {considered - 1} "
                f"considered actions, not {settings.simulations} and {settings.max_considered}"
            )
        self._settings_array = settings_record(settings, self.game)
        schedule = settings.simulations, settings.max_considered
        if schedule != (self.settings.simulations, self.settings.max_considered):
            write_considered_visits(settings, self.tree.considered_visits)
        self.settings = settings

    def forget(self) -> None:
        """Empty the cache."""
        for cache in self._caches:
            empty(cache)

    def run(
        self, states: np.ndarray, evaluate: Evaluator, noise: np.ndarray | None = None
    ) -> SearchResult:
        """Search positions, structured array [n], none of them finished.

        Args:
            states: the positions.
            evaluate: the network.
            noise: float32[n, A], Gumbel: root noise to use if ``settings.noise`` is 0 (default:
                none).

        Raises:
            ValueError: a position is finished; there is no machine code (``LUDARIUM_CODE=plain``);
                or an answer of ``evaluate`` is not valid, see `Evaluation`, or has no score and the
                settings ask for one.
        """
        if (states["outcome"] != ONGOING).any():
            raise ValueError("there is nothing to search in a finished game")
        if not len(states):
            return SearchResult.of(
                np.zeros(0, np.int64), np.zeros((0, self.game.num_actions), np.float32)
            )
        version = version_of(evaluate)
        if self._asked[0] is not evaluate or self._asked[1] != version:
            self.forget()
            self._asked = evaluate, version
        portions = [
            self._run(states[portion], evaluate, None if noise is None else noise[portion])
            for portion in (
                slice(start, start + self.batch) for start in range(0, len(states), self.batch)
            )
        ]
        return portions[0] if len(portions) == 1 else SearchResult.joined(portions)

    def _run(
        self, states: np.ndarray, evaluate: Evaluator, noise: np.ndarray | None
    ) -> SearchResult:
        count, tree, num_actions = len(states), self.tree, self.game.num_actions
        is_inside = in_search(evaluate, count) is not None
        tree.roots["noise"][:count] = 0 if noise is None else noise
        tree.states[:count, 0] = states
        evaluation = Evaluation.empty(count, num_actions)
        parts = self._parts(count, min(len(self._caches), count) if is_inside else 1)
        for cache, first, last in parts:
            self._kernels.begin(
                *(self.game.tables, tree, cache, self._planes, is_canonical(evaluate)),
                *(first, last),
            )
        waiting = self._run_inside(count, evaluate, evaluation, parts) if is_inside else count
        while waiting:
            open_searches = np.flatnonzero(tree.roots["waiting"][:count] >= 0)
            answer = evaluate(self.observations[open_searches])
            needs_score = self.settings.score > 0
            answer = checked(answer, waiting, num_actions, evaluate, needs_score)
            for array, found in zip(evaluation, answer, strict=True):
                array[open_searches] = found
            waiting = sum(self._advance(NONE, evaluation, True, part, 0) for part in parts)
        actions = np.zeros(count, np.int64)
        values = np.zeros(count, np.float32)
        visits = np.zeros((count, num_actions), np.int32)
        action_values = np.full(visits.shape, np.nan, np.float32)
        self._kernels.results(
            *(tree, self._settings_array, self._rngs),
            *(actions, values, visits, action_values, 0, count),
        )
        roots = tree.nodes[:count, 0]
        edges = tree.edges[:count, :num_actions]
        priors = np.zeros((count, num_actions), np.float32)
        searches, legal = np.nonzero(np.arange(num_actions) < roots["end"][:, None])
        priors[searches, edges["action"][searches, legal]] = edges["prior"][searches, legal]
        return SearchResult.of(
            actions,
            tree.roots["policy"][:count].copy(),
            values=values,
            proven=roots["lower"] == roots["upper"],
            priors=priors,
            visits=visits,
            action_values=action_values,
            simulations=int(tree.roots["simulation"][:count].sum()),
            evaluations=int(tree.roots["evaluations"][:count].sum()),
        )

    def _parts(self, count: int, threads: int) -> list[tuple[Cache, int, int]]:
        """The searches in even parts, each as (cache, first, end)."""
        bounds = [count * part // threads for part in range(threads + 1)]
        return list(zip(self._caches, bounds, bounds[1:], strict=False))

    def _run_inside(
        self,
        count: int,
        evaluate: Evaluator,
        evaluation: Evaluation,
        parts: Sequence[tuple[Cache, int, int]],
    ) -> int:
        """Let a compiled network answer the searches that have begun, each part on a core.

        Returns:
            How many searches still wait: the network's answers to them are not finite numbers.
        """
        ending = Progress()

        def run_part(_: int, number: int) -> int:
            network = in_search(evaluate, count)
            assert network is not None
            first, last = parts[number][1:]
            evaluations = self.tree.roots["evaluations"][first:last]
            waiting, asked = last - first, 0
            while waiting and not ending.stopped:
                started, limit = perf_counter(), self._limits[number]
                waiting = self._advance(network.net, evaluation, False, parts[number], limit)
                before, asked = asked, int(evaluations.sum())
                if asked - before < limit:
                    break
                speed = limit / (perf_counter() - started)
                self._limits[number] = 1 + int(_PATIENCE * speed)
            return waiting

        if len(parts) == 1:
            return run_part(0, 0)
        return sum(run_tasks(run_part, len(parts), len(parts), ending).values())

    def _advance(
        self,
        net: Called,
        evaluation: Evaluation,
        is_answered: bool,
        part: tuple[Cache, int, int],
        limit: int,
    ) -> int:
        """See `simulate.advance`."""
        cache, first, last = part
        waiting: int = self._kernels.advance(
            *(self.game.tables, self.tree, cache, self._settings_array, self._rngs),
            *(evaluation, net, self._planes, first, last, is_answered, limit),
        )
        return waiting


def _copied(
    game: Game,
    room: SearchSettings,
    settings: SearchSettings,
    batch: int,
    cache: float,
    rngs: np.ndarray,
) -> BatchSearch:
    search = BatchSearch(game, room, batch, cache=cache)
    search.use(settings)
    search._rngs[:] = rngs
    return search
