"""Self-play, with a thread for each worker.

If the network is a compiled one for boards, the games call it themselves (see `in_games`).
Then a worker plays one game after another, each from its beginning to its end, and takes the next
number when it is free. A game follows from the seed and its number, and the first games by number
that have enough positions count. So the samples are the same for any number of workers.

Any other network needs batches or, like a perceptron, is faster in them. Then a worker plays many
games side by side; one step evaluates the leaves that they wait for, and plays on until each waits
again. Games that have not ended when there are enough positions continue in the next chunk, and are
saved with a run. Each worker has its share of the games and of the positions, so the samples depend
on the number of workers, but not on how fast they are.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
import torch

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores, parallel_for
from ludarium.configs.schema import SearchSettings, SelfPlayConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import NetworkInSearch, checked, in_search, is_canonical
from ludarium.models.inference import torch_threads
from ludarium.models.kernels import NONE
from ludarium.training.runs.state import flatten, unflatten
from ludarium.training.search.cache import empty, new_cache
from ludarium.training.search.gumbel import write_considered_visits
from ludarium.training.search.results import join_results
from ludarium.training.search.settings import settings_record
from ludarium.training.search.tree import new_tree

from .exact import UNSOLVED, ExactTargets
from .kernels import self_play as templates
from .kernels.self_play import (
    COUNTS,
    ENDED,
    EVALUATIONS,
    HITS,
    LIMIT,
    NEXT_GAME,
    PLIES,
    POSITIONS,
    SIMULATIONS,
    Log,
    SelfPlayGames,
)
from .samples import join_samples, sample_dtype

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


def in_games(evaluate: Evaluator) -> NetworkInSearch | None:
    """The network for games that call it themselves; None if many games are played side by side.

    The choice depends on the kind of network and its backend, not on the number of games, so
    all games of a configuration are played in one way.
    """
    return in_search(evaluate, sys.maxsize)


def torch_threads_of_worker(workers: int) -> int:
    """Number of torch's threads in each worker's thread."""
    return max(1, torch.get_num_threads() // workers)


@dataclass(frozen=True)
class SelfPlayResult:
    """The result of one iteration of self-play.

    Attributes:
        samples: positions of ended games, structured array (``samples.sample_dtype``), without
            those that ``self_play.keep_decided`` drops.
        games: number of games that ended.
        plies: number of plies in these games, openings included.
        positions: number of positions searched, and so recorded.
        simulations: number of simulations.
        evaluations: positions that the network evaluated.
        hits: answers from the cache, not counted in ``evaluations``.
        ended_positions: positions of the games that ended, dropped ones included.
        solved: how many of these have exact targets, see `exact`.
        seconds: duration of play; None if that is the duration of the call.
    """

    samples: np.ndarray
    games: int = 0
    plies: int = 0
    positions: int = 0
    simulations: int = 0
    evaluations: int = 0
    hits: int = 0
    ended_positions: int = 0
    solved: int = 0
    seconds: float | None = None


#: Self-play results, and the number of each sample's game.
Played = tuple[SelfPlayResult, np.ndarray]


class Group:
    """Games that one worker plays side by side; together they are one batch for the network.

    Call `set_up` for a chunk, `begin`, `step` until it `is_full`, then `collect`.

    Args:
        game: the rules.
        config: games in parallel, positions to search, random plies at the start of games, and
            megabytes for the network's answers, all for this group alone.
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
            log=_new_log(game, config.positions, endings or config.positions),
            numbers=np.full(games, _NO_GAME),
            stride=stride,
            seed=0,
            rngs=np.zeros((games, 2), np.int64),
            opening_plies=config.opening_plies,
            planes=self.observations.reshape(games, *game.planes_shape),
            canonical=canonical,
        )
        self.log.counts[NEXT_GAME] = number
        self.pending = np.zeros(0, sample_dtype(game) if dtype is None else dtype)
        self.pending_games = np.zeros(0, np.int64)
        self._settings_array = settings_record(settings, game)
        self.is_full = False
        self._evaluation = Evaluation.empty(games, game.num_actions)
        self._is_answered = False

    @property
    def log(self) -> Log:
        """The log since `begin`."""
        return self.games.log

    @property
    def positions(self) -> int:
        """How many positions were searched since `begin`."""
        return int(self.log.counts[POSITIONS])

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
        counts = self.log.counts
        first = counts[NEXT_GAME] if number is None else number
        counts[:] = 0
        counts[LIMIT], counts[NEXT_GAME] = len(self.log.states), first
        kernels = specialise(templates, self.game)
        if number is None and self.games.numbers[0] != _NO_GAME:
            kernels.begin_searches(self.game.tables, self.games)
        else:
            self.pending, self.pending_games = self.pending[:0], self.pending_games[:0]
            kernels.begin_games(self.game.tables, self.games)
        self.is_full = self._is_answered = False

    def step(self, evaluate: Evaluator) -> None:
        """Play until the log is full, or each game waits for the network; then call the network."""
        count, actions = len(self.observations), self.game.num_actions
        inside = in_games(evaluate)
        net = NONE if inside is None else inside.net
        kernels = specialise(templates, self.game)
        self.is_full = kernels.play_on(
            *(self.game.tables, self.games, self._settings_array),
            *(self._evaluation, net, self._is_answered),
        )
        self._is_answered = not self.is_full
        if self._is_answered:
            self._evaluation = checked(evaluate(self.observations), count, actions, evaluate)

    def collect(self) -> Played:
        """Positions of finished games, and the number of each one's game; others become pending."""
        log, positions = self.log, self.positions
        fresh: Any = np.zeros(positions, self.pending.dtype)
        fresh["state"] = log.states[:positions]
        fresh["policy"] = log.policies[:positions]
        samples = join_samples([self.pending, fresh])
        games = np.concatenate([self.pending_games, log.games[:positions]])
        ended = int(log.counts[ENDED])
        order = np.argsort(log.ended_games[:ended])
        numbers = log.ended_games[:ended][order]
        place = np.searchsorted(numbers, games)
        known = place < ended
        known[known] = numbers[place[known]] == games[known]
        rows = order[place[known]]
        finished = samples[known]
        finished["outcome"] = log.ended_outcomes[rows]
        finished["score"] = log.ended_scores[rows]
        self.pending, self.pending_games = samples[~known], games[~known]
        result = SelfPlayResult(
            samples=finished,
            games=ended,
            plies=int(log.counts[PLIES]),
            positions=positions,
            simulations=int(log.counts[SIMULATIONS]),
            evaluations=int(log.counts[EVALUATIONS]),
            hits=int(log.counts[HITS]),
            ended_positions=len(finished),
        )
        return result, games[known]

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue the games that have not ended.

        It has no trees: `begin` starts the search of each game's current position again.
        """
        return {
            "states": self.games.tree.states[:, 0],
            "numbers": self.games.numbers,
            "next": self.log.counts[NEXT_GAME : NEXT_GAME + 1],
            "rngs": self.games.rngs,
            "pending": self.pending,
            "pending_games": self.pending_games,
        }

    def fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Whether names, dtypes and shapes are those of `state`'s arrays."""
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


def _new_log(game: Game, positions: int, endings: int) -> Log:
    """Allocate a log for these numbers of positions and of ended games."""
    return Log(
        states=np.zeros(positions, game.state_dtype),
        policies=np.zeros((positions, game.num_actions), np.float32),
        games=np.zeros(positions, np.int64),
        ended_games=np.zeros(endings, np.int64),
        ended_outcomes=np.zeros(endings, np.int8),
        ended_scores=np.zeros(endings, np.int32),
        counts=np.zeros(COUNTS, np.int64),
    )


class _Tally:
    """The games of a chunk by number; the first games with enough positions count.

    Args:
        goal: how many positions are enough.

    Attributes:
        is_over: whether there are enough, or a worker failed.
        counted: the games that count so far, in order.
    """

    def __init__(self, goal: int) -> None:
        self.is_over = False
        self.counted: list[Played] = []
        self._goal = goal
        self._numbers = itertools.count()
        self._played: dict[int, Played] = {}
        self._positions = 0
        self._shown = 0
        self._lock = threading.Lock()

    def next_number(self) -> int:
        """The number of the next game to begin."""
        with self._lock:
            return next(self._numbers)

    def add(self, number: int, played: Played) -> None:
        """Add a game that was played."""
        with self._lock:
            self._played[number] = played
            while self._positions < self._goal and len(self.counted) in self._played:
                self.counted.append(self._played[len(self.counted)])
                self._positions += self.counted[-1][0].positions
            if self._positions >= self._goal:
                self.is_over = True  # never set to False: a worker that failed sets it too

    def shown(self, positions: int) -> int:
        """How many of the new positions to report as progress, never more than the goal in all."""
        with self._lock:
            shown = min(positions, self._goal - self._shown)
            self._shown += shown
            return shown


class SelfPlay:
    """Self-play by several workers; see the module.

    Args:
        game: the rules.
        config: numbers of games and positions in all, which the workers share;
            a worker's number of games is rounded down.
        settings: settings of the search, with the most simulations that will be asked for.
        workers: number of threads that play.
        evaluate: the network; `in_games` and `is_canonical` must decide alike for all later ones.
        dtype: dtype of the samples, from `sample_dtype`; by default without ``solved``.

    Attributes:
        plays_alone: whether a worker plays one game at a time.
        groups: the games of each worker.
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
        batch = games_of_worker(config, workers)
        self.plays_alone = in_games(evaluate) is not None
        share = msgspec.structs.replace(
            config,
            games=1 if self.plays_alone else batch,
            positions=game.max_plies if self.plays_alone else max(1, config.positions // workers),
            cache=config.cache / workers,
        )
        endings = 1 if self.plays_alone else None
        self.workers = workers
        self.groups = [
            Group(game, share, settings, dtype, endings, number, workers, is_canonical(evaluate))
            for number in range(workers)
        ]
        self._positions = config.positions
        self._some = [1] * workers
        has_exact = dtype is not None and "solved" in (dtype.names or ())
        self._exact = ExactTargets(game, config.solve, config.keep_decided) if has_exact else None

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        seed: np.random.SeedSequence,
        progress: Progress = SILENT,
    ) -> SelfPlayResult:
        """Play a chunk.

        Args:
            settings: settings of the search.
            evaluate: the network.
            seed: seed of the games that are started.
            progress: counts the positions, in the workers' threads.
        """
        number = int(seed.generate_state(1, np.uint64)[0] >> np.uint64(1))
        for group in self.groups:
            group.set_up(settings, number)
        if self.plays_alone:
            tally = _Tally(self._positions)
            self._in_threads(lambda worker: self._play_games(worker, evaluate, tally, progress))
            played = tally.counted
        else:
            self._has_failed = False
            self._in_threads(lambda worker: self._play_share(worker, evaluate, progress))
            played = [group.collect() for group in self.groups]
        result = join_results([each for each, _ in played])
        if self._exact is None:
            return result
        games = np.concatenate([numbers for _, numbers in played])
        kept = self._exact.correct(result.samples, games, number, self.workers)
        solved = int((result.samples["solved"] != UNSOLVED).sum())
        return replace(result, samples=result.samples[kept], solved=solved)

    def state(self) -> dict[str, np.ndarray]:
        """The games that have not ended, ``worker.name`` for each array; empty if `plays_alone`."""
        if self.plays_alone:
            return {}
        return flatten(dict(enumerate(group.state() for group in self.groups)))

    def restore(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Continue the games that `state` returned.

        Returns:
            Whether they fit. They do not if they were played in another way, for example on another
            device; then new games begin.
        """
        if self.plays_alone:
            return not arrays
        saved = [unflatten(arrays, worker) for worker in range(self.workers)]
        if not all(group.fits(each) for group, each in zip(self.groups, saved, strict=True)):
            return False
        for group, each in zip(self.groups, saved, strict=True):
            group.restore(each)
        return True

    def _in_threads(self, work: Callable[[int], None]) -> None:
        """Call ``work(worker)`` in a thread per worker; torch's threads are divided among them."""
        each = torch_threads_of_worker(self.workers)

        def share(worker: int, _: int) -> None:
            torch.set_num_threads(each)  # other calls of `parallel_for` use this thread too
            work(worker)

        with torch_threads(each):
            parallel_for(share, self.workers, self.workers)

    def _play_games(
        self, worker: int, evaluate: Evaluator, tally: _Tally, progress: Progress
    ) -> None:
        """Play one game after another until enough count."""
        try:
            while not tally.is_over:
                number = tally.next_number()
                if self._play_game(worker, evaluate, tally, number, progress):
                    tally.add(number, self.groups[worker].collect())
        except BaseException:
            tally.is_over = True  # the other workers can stop
            raise

    def _play_game(
        self,
        worker: int,
        evaluate: Evaluator,
        tally: _Tally,
        number: int,
        progress: Progress,
    ) -> bool:
        """Play a game as long as it may count; return whether it was played to its end.

        A long game is played in parts; after each, the worker checks whether it may still count.
        """
        group = self.groups[worker]
        counts = group.log.counts
        group.begin(number)
        while not counts[ENDED] and not tally.is_over:
            started, before = perf_counter(), group.positions
            counts[LIMIT] = min(before + self._some[worker], len(group.log.states))
            group.step(evaluate)
            positions = group.positions - before
            self._some[worker] = 1 + int(_PATIENCE * positions / (perf_counter() - started))
            progress.advance(tally.shown(positions))
        return bool(counts[ENDED])

    def _play_share(self, worker: int, evaluate: Evaluator, progress: Progress) -> None:
        """Play a worker's share of the positions."""
        group = self.groups[worker]
        try:
            group.begin()
            while not group.is_full and not self._has_failed:
                before = group.positions
                group.step(evaluate)
                progress.advance(group.positions - before)
        except BaseException:
            self._has_failed = True  # the other workers can stop
            raise
