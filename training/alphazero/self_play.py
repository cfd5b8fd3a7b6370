"""Self-play, with a thread for each worker.

If the network is a compiled one for boards, the games call it themselves (see `inline_network`).
Then a worker plays one game after another, each from its beginning to its end, and takes the next
number when it is free. A game follows from the seed and its number, and the first games by number
that have enough positions count. So the samples are the same for any number of workers.

Any other network needs batches or, like a perceptron, is faster in them. Then a worker plays many
games side by side; one step plays until each waits for the network, and evaluates what they wait
for. Games that have not ended when there are enough positions continue in the next chunk, and are
saved with a run. Each worker has its share of the games and of the positions, so the samples depend
on the number of workers, but not on how fast they are.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any, Self

import msgspec
import numpy as np
import torch

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores, parallel_for
from ludarium.configs.schema import SearchSettings, SelfPlayConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import checked, is_canonical
from ludarium.models.inference import torch_threads
from ludarium.models.kernels import NONE, NetworkInSearch, in_search
from ludarium.training.runs.state import flatten, unflatten
from ludarium.training.search.cache import empty, new_cache
from ludarium.training.search.gumbel import write_considered_visits
from ludarium.training.search.settings import settings_record
from ludarium.training.search.tree import new_tree

from .exact import UNSOLVED, ExactTargets
from .kernels import self_play as templates
from .kernels.self_play import COUNTS, Log, SelfPlayGames, new_log
from .samples import join_samples, new_samples, sample_dtype, write_results

_LEAST_BATCH_OF_A_GPU = 64  # smaller batches are not faster
_NO_GAME = -1
_PATIENCE = 0.2  # seconds between checks whether a worker's game is still wanted


def choose_threads(config: SelfPlayConfig, device: str) -> int:
    """Number of workers: by default one per core; fewer on a GPU if batches would be small."""
    if config.workers is not None:
        return config.workers
    if device == "cpu":
        return available_cores()
    return max(1, min(available_cores(), config.games // _LEAST_BATCH_OF_A_GPU))


def games_of_worker(config: SelfPlayConfig, workers: int) -> int:
    """How many games a worker plays side by side, if the network needs batches."""
    return max(1, config.games // workers)


def inline_network(evaluate: Evaluator) -> NetworkInSearch | None:
    """The compiled network that the kernel calls in each game; None if it needs batches of games.

    The choice depends on the kind of network and its backend, not on the number of games, so
    all games of a configuration are played in one way.
    """
    return in_search(evaluate, sys.maxsize)


def torch_threads_of_worker(workers: int) -> int:
    """Number of torch's threads in each worker's thread."""
    return max(1, torch.get_num_threads() // workers)


@dataclass(frozen=True)
class SelfPlayResult:
    """What was played, to learn from.

    Attributes:
        samples: positions of ended games, structured [N] of `samples.sample_dtype`, or of
            `VariantPacker.dtype` from `Actors`, without those that ``self_play.keep_trivial``
            drops.
        counts: numbers of positions, games and so on, see `COUNTS`; with exact targets also how
            many positions of ended games are ``solved`` and ``unsolved``.
        seconds: duration of play; None if that is the duration of the call.
    """

    samples: np.ndarray
    counts: Counter[str]
    seconds: float | None = None

    @classmethod
    def joined(cls, results: Sequence[Self]) -> Self:
        """The samples of several results, in their order, and the sums of what they count."""
        counts = sum((each.counts for each in results), Counter[str]())
        return cls(join_samples([each.samples for each in results]), counts)


#: What was played, and int64 [N], the number of each sample's game.
Numbered = tuple[SelfPlayResult, np.ndarray]


class WorkerGames:
    """Games that one worker plays side by side; together they are one batch for the network.

    Call `set_up` for a chunk, `begin`, `step` until it `is_full`, then `collect`.

    Args:
        game: the rules.
        config: games in parallel, positions to search, random plies at the start of games, and
            megabytes for the network's answers, all for this worker alone.
        settings: settings of the search, with the most simulations that will be asked for.
        dtype: dtype of the samples, from `sample_dtype`; by default without ``solved``.
        endings: games whose ends fill the log; by default as many as there are positions.
        number: number of its first game.
        stride: step from one game's number to that of the next.
        canonical: the frame that the network sees, see `is_canonical`.
    """

    def __init__(
        self,
        game: Game,
        config: SelfPlayConfig,
        settings: SearchSettings,
        dtype: np.dtype | None = None,
        endings: int | None = None,
        number: int = 0,
        stride: int = 1,
        canonical: bool = True,
    ) -> None:
        games = config.games
        self.game = game
        self.observations = np.zeros((games, *game.observation_shape), np.float32)
        self.games = SelfPlayGames(
            tree=new_tree(game, games, settings),
            cache=new_cache(self.observations, game.num_actions, config.cache),
            log=new_log(game, config.positions, endings or config.positions),
            numbers=np.full(games, _NO_GAME),
            next_number=np.array([number], np.int64),
            stride=stride,
            seed=0,
            rngs=np.zeros((games, 2), np.int64),
            opening_plies=config.opening_plies,
            planes=self.observations.reshape(games, *game.planes_shape),
            canonical=canonical,
        )
        self.pending = np.zeros(0, sample_dtype(game) if dtype is None else dtype)
        self.pending_games = np.zeros(0, np.int64)
        self.is_full = False
        self._evaluation = Evaluation.empty(games, game.num_actions)
        self._is_answered = False
        self.set_up(settings, 0)

    @cached_property
    def _kernels(self) -> Any:
        """The compiled functions of the game; to look them up takes time."""
        return specialise(templates, self.game)

    @property
    def log(self) -> Log:
        """The log since `begin`."""
        return self.games.log

    @property
    def positions(self) -> int:
        """How many positions were searched since `begin`."""
        return int(self.log.counts["positions"][0])

    @property
    def ended(self) -> int:
        """How many games have ended since `begin`."""
        return int(self.log.counts["games"][0])

    def set_up(self, settings: SearchSettings, seed: int) -> None:
        """Prepare for a chunk.

        Args:
            settings: settings of the search.
            seed: seed of the games that are started, below 2**63.
        """
        self._settings_array = settings_record(settings, self.game)
        self.games = self.games._replace(seed=seed)
        write_considered_visits(settings, self.games.tree.considered_visits)
        empty(self.games.cache)  # the network may have changed

    def begin(self, number: int | None = None) -> None:
        """Start games from this number on; None continues the games in progress, if any."""
        self.log.counts[:] = 0
        if number is None and self.games.numbers[0] != _NO_GAME:
            self._kernels.begin_searches(self.game.tables, self.games)
        else:
            if number is not None:
                self.games.next_number[0] = number
            self.pending, self.pending_games = self.pending[:0], self.pending_games[:0]
            self._kernels.begin_games(self.game.tables, self.games)
        self.is_full = self._is_answered = False

    def step(self, evaluate: Evaluator, limit: int | None = None) -> None:
        """Play until the log is full, or each game waits for the network, which is then called.

        Args:
            evaluate: the network.
            limit: with so many positions the log is full; by default with all that fit.
        """
        room, inline = len(self.log.states), inline_network(evaluate)
        self.is_full = self._kernels.advance_games(
            *(self.game.tables, self.games, self._settings_array, self._evaluation),
            *(NONE if inline is None else inline.net, self._is_answered),
            room if limit is None else min(limit, room),
        )
        self._is_answered = not self.is_full
        if self._is_answered:
            count, actions = len(self.observations), self.game.num_actions
            self._evaluation = checked(evaluate(self.observations), count, actions, evaluate)

    def collect(self) -> Numbered:
        """The samples of games that have ended; those of other games become pending."""
        log, positions, ended = self.log, self.positions, self.ended
        known = {"state": log.states[:positions], "policy": log.policies[:positions]}
        samples = join_samples([self.pending, new_samples(self.pending.dtype, known)])
        games = np.concatenate([self.pending_games, log.games[:positions]])

        # The games that have ended, by number, and the place of each sample's game among them.
        order = np.argsort(log.ended_games[:ended])
        ended_games = np.append(log.ended_games[order], _NO_GAME)
        place = np.searchsorted(ended_games[:-1], games)
        has_ended = ended_games[place] == games
        finished, numbers = samples[has_ended], games[has_ended]
        self.pending, self.pending_games = samples[~has_ended], games[~has_ended]
        write_results(finished, self.game, log.ended_states[order], place[has_ended])
        counts = Counter(dict(zip(COUNTS.names or (), log.counts[0].item(), strict=True)))
        return SelfPlayResult(finished, counts), numbers

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue the games that have not ended.

        It has no trees: `begin` starts the search of each game's current position again.
        """
        return {
            "states": self.games.tree.states[:, 0],
            "numbers": self.games.numbers,
            "next": self.games.next_number,
            "rngs": self.games.rngs,
            "pending": self.pending,
            "pending_games": self.pending_games,
        }

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether names, dtypes and shapes are those of `state`; any number may be pending."""
        own = self.state()
        return own.keys() == arrays.keys() and all(
            (array.dtype, array.ndim) == (arrays[name].dtype, arrays[name].ndim)
            and (array.shape == arrays[name].shape or name in ("pending", "pending_games"))
            for name, array in own.items()
        )

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load arrays that `state` returned and that `fits` accepts."""
        own = self.state()
        self.pending, self.pending_games = arrays["pending"], arrays["pending_games"]
        for name in ("states", "numbers", "next", "rngs"):
            own[name][...] = arrays[name]


class SelfPlay:
    """Self-play by several workers; see the module.

    Args:
        game: the rules.
        config: numbers of games and positions in all. Workers that play side by side have equal
            shares, rounded down, but at least one.
        settings: settings of the search, with the most simulations that will be asked for.
        workers: number of threads that play.
        evaluate: the network; `inline_network` and `is_canonical` must decide alike for all later
            ones.
        dtype: dtype of the samples, from `sample_dtype`; by default without ``solved``.

    Attributes:
        one_game_per_worker: whether a worker plays one game at a time.
        worker_games: the games of each worker.
    """

    def __init__(
        self,
        game: Game,
        config: SelfPlayConfig,
        settings: SearchSettings,
        workers: int,
        evaluate: Evaluator,
        dtype: np.dtype | None = None,
    ) -> None:
        self.workers = workers
        self._goal = config.positions
        self.one_game_per_worker = inline_network(evaluate) is not None
        if self.one_game_per_worker:
            games, positions, endings = 1, game.max_plies, 1
        else:
            games, endings = games_of_worker(config, workers), None
            positions = max(1, config.positions // workers)
        share = msgspec.structs.replace(
            config, games=games, positions=positions, cache=config.cache / workers
        )
        canonical = is_canonical(evaluate)
        self.worker_games = [
            WorkerGames(game, share, settings, dtype, endings, number, workers, canonical)
            for number in range(workers)
        ]
        has_exact = dtype is not None and "solved" in (dtype.names or ())
        self._exact = ExactTargets(game, config.solve, config.keep_trivial) if has_exact else None

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        seed: np.random.SeedSequence,
        progress: Progress = SILENT,
    ) -> SelfPlayResult:
        """Play a chunk, the positions of an iteration.

        Args:
            settings: settings of the search.
            evaluate: the network.
            seed: seed of the games that are started.
            progress: counts the positions, in the workers' threads.
        """
        number = int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1))
        for games in self.worker_games:
            games.set_up(settings, number)
        if self.one_game_per_worker:
            played = play_one_by_one(self.worker_games, evaluate, self._goal, progress)
        else:
            played = play_side_by_side(self.worker_games, evaluate, progress)
        result = SelfPlayResult.joined([each for each, _ in played])
        if self._exact is None:
            return result
        games_of_samples = np.concatenate([numbers for _, numbers in played])
        kept = self._exact.correct(result.samples, games_of_samples, number, self.workers)
        solved = int((result.samples["solved"] != UNSOLVED).sum())
        counts = result.counts + Counter(solved=solved, unsolved=len(kept) - solved)
        return replace(result, samples=result.samples[kept], counts=counts)

    def state(self) -> dict[str, np.ndarray]:
        """The games that have not ended, ``worker.name`` for each array.

        It is empty if workers play one game at a time.
        """
        if self.one_game_per_worker:
            return {}
        return flatten(dict(enumerate(games.state() for games in self.worker_games)))

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Continue the games that `state` returned.

        Returns:
            Whether they fit. They do not if they were played in another way, for example on another
            device; then new games begin.
        """
        if self.one_game_per_worker:
            return not arrays
        saved = [unflatten(arrays, worker) for worker in range(self.workers)]
        fit = all(map(WorkerGames.fits, self.worker_games, saved))
        if fit:
            for games, each in zip(self.worker_games, saved, strict=True):
                games.restore(each)
        return fit


def play_side_by_side(
    workers: Sequence[WorkerGames], evaluate: Evaluator, progress: Progress
) -> list[Numbered]:
    """Each worker plays its games until its log is full."""

    def play(games: WorkerGames, ending: Progress) -> None:
        games.begin()
        while not games.is_full and not ending.stopped:
            before = games.positions
            games.step(evaluate)
            progress.advance(games.positions - before)

    _in_threads(workers, play)
    return [games.collect() for games in workers]


def play_one_by_one(
    workers: Sequence[WorkerGames],
    evaluate: Evaluator,
    goal: int,
    progress: Progress,
) -> list[Numbered]:
    """Workers take games from a queue, until the first ones have ``goal`` positions.

    A long game is played in parts; after each, the worker checks whether it may still count.
    """
    queue = GameQueue(goal)

    def play(games: WorkerGames, ending: Progress) -> None:
        part = 1  # positions until the next check
        while not ending.stopped:
            number = queue.next_number()
            games.begin(number)
            while not games.ended and not ending.stopped:
                started, before = perf_counter(), games.positions
                games.step(evaluate, before + part)
                positions = games.positions - before
                part = 1 + int(_PATIENCE * positions / (perf_counter() - started))
                progress.advance(queue.shown(positions))
            if games.ended and queue.add(number, games.collect()):
                ending.stop()

    _in_threads(workers, play)
    return queue.counted


class GameQueue:
    """The games of a chunk by number; the first games with enough positions count.

    Args:
        goal: how many positions are enough.

    Attributes:
        counted: the games that count so far, in order.
    """

    def __init__(self, goal: int) -> None:
        self.counted: list[Numbered] = []
        self._goal = goal
        self._numbers = itertools.count()
        self._played: dict[int, Numbered] = {}
        self._positions = 0
        self._shown = 0
        self._lock = threading.Lock()

    def next_number(self) -> int:
        """The number of the next game to begin."""
        with self._lock:
            return next(self._numbers)

    def add(self, number: int, played: Numbered) -> bool:
        """Add a game that was played; return whether there are enough positions.

        If there are, no game that is still in play counts.
        """
        with self._lock:
            self._played[number] = played
            while self._positions < self._goal and len(self.counted) in self._played:
                self.counted.append(self._played[len(self.counted)])
                self._positions += self.counted[-1][0].counts["positions"]
            return self._positions >= self._goal

    def shown(self, positions: int) -> int:
        """How many of the new positions to report as progress, never more than the goal in all."""
        with self._lock:
            shown = min(positions, self._goal - self._shown)
            self._shown += shown
            return shown


def _in_threads(
    workers: Sequence[WorkerGames], play: Callable[[WorkerGames, Progress], None]
) -> None:
    """Call ``play`` in a thread for each worker, with its games and a progress that all share.

    The progress is stopped by ``play``, or if a call fails. Torch's threads are divided among the
    workers.
    """
    ending = Progress()
    threads = torch_threads_of_worker(len(workers))

    def share(worker: int, _: int) -> None:
        torch.set_num_threads(threads)  # again: other calls of `parallel_for` use this thread too
        try:
            play(workers[worker], ending)
        except BaseException:
            ending.stop()
            raise

    with torch_threads(threads):
        parallel_for(share, len(workers), len(workers))
