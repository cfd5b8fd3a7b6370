"""Self-play on all cores: groups of games, which threads advance in turns (see `training.turns`).

One step of a group evaluates the leaves that its games wait for, then runs the compiled games until
each waits for the network again. The games of a group depend on its seed only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ludarium.configs.schema import SelfPlay as SelfPlayConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.engine.threads import available_cores
from ludarium.training.search.cache import empty, new_cache, set_request
from ludarium.training.search.gumbel import write_considered_visits
from ludarium.training.search.results import join_results
from ludarium.training.search.search import Evaluator
from ludarium.training.search.settings import SearchSettings
from ludarium.training.search.tree import new_tree
from ludarium.training.turns import GroupedPlay, share_of_group

from .exact import UNSOLVED, ExactTargets
from .kernels import self_play as kernels
from .kernels.self_play import (
    ENDED,
    EVALUATIONS,
    HITS,
    NEXT_GAME,
    PLIES,
    POSITIONS,
    SIMULATIONS,
    Games,
    Log,
)
from .samples import join_samples, sample_dtype

_LEAST_BATCH_OF_A_GPU = 64  # smaller batches are not faster


def choose_threads(config: SelfPlayConfig, device: str) -> int:
    """Number of threads: one per core by default; fewer on a GPU where batches would be small."""
    if config.workers is not None:
        return config.workers
    if device == "cpu":
        return available_cores()
    return max(1, min(available_cores(), config.games // _LEAST_BATCH_OF_A_GPU - 1))


@dataclass(frozen=True)
class SelfPlayResult:
    """The result of one iteration of self-play.

    Attributes:
        samples: structured array (``samples.sample_dtype``) of positions of ended games.
        games: games ended.
        plies: plies of these games, openings included.
        positions: positions searched, and so recorded.
        simulations: simulations done.
        evaluations: positions that the network evaluated.
        hits: evaluations that came from the cache.
        ended_positions: positions of the games that ended.
        solved: of these, how many have exact targets, see `exact`.
        versions: int64 [N], the version of the weights that searched each sample, where
            self-play was told; else none.
        seconds: in which they were played, where that is not the time of the call.
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
    versions: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    seconds: float | None = None

    @classmethod
    def of_playouts(cls, samples: np.ndarray, playouts: int) -> SelfPlayResult:
        """Samples of the bootstrap, each searched with so many playouts."""
        return cls(samples, positions=len(samples), simulations=len(samples) * playouts)


class Group:
    """Games played in parallel; together they are one batch for the network.

    `begin` a chunk, `step` until it `is_full`, `collect`.

    Args:
        game: the rules.
        config: games in parallel, positions to search per iteration, random plies that
            games start with, and megabytes for the network's answers, all of this group alone.
        settings: of the search, with the most simulations that will be asked for.
        seed: of the games.
        dtype: of the samples, from `sample_dtype`; by default the plain one.
    """

    def __init__(
        self,
        game: Game,
        config: SelfPlayConfig,
        settings: SearchSettings,
        seed: np.random.SeedSequence,
        dtype: np.dtype | None = None,
    ) -> None:
        games, positions = config.games, config.positions
        self.game = game
        self.dtype = sample_dtype(game) if dtype is None else dtype
        has_exact = "solved" in (self.dtype.names or ())
        self._exact = ExactTargets(game, config.solve, config.keep_decided) if has_exact else None
        self.kernels = specialise(kernels, game.rules)
        self.observations = np.zeros((games, *game.observation_shape), np.float32)
        self.games = Games(
            tree=new_tree(game, games, settings),
            cache=new_cache(self.observations, game.num_actions, config.cache),
            log=_new_log(game, positions),
            serials=np.zeros(games, np.int64),
            rngs=seed_rng(seed, games),
            opening_plies=config.opening_plies,
            planes=self.observations.reshape(games, *game.planes_shape),
        )
        self.pending = np.zeros(0, self.dtype)
        self.pending_games = np.zeros(0, np.int64)
        self.pending_versions = np.zeros(0, np.int64)
        self.settings = settings
        self.is_full = False
        self._whole_log = self.games.log
        self._version: int | None = None
        self.kernels.begin_games(game.tables, self.games)

    @property
    def log(self) -> Log:
        """What the games have logged in this iteration."""
        return self.games.log

    def begin(
        self,
        settings: SearchSettings,
        positions: int | None = None,
        version: int | None = None,
    ) -> None:
        """Begin a chunk; unfinished games continue.

        Args:
            settings: of the search.
            positions: to search, at most as many as the log holds; default: so many.
            version: of the network. The cache starts empty unless this is the version of the
                chunk before; without a version the network may always be another one.
        """
        self.settings = settings
        if positions is not None:
            self.games = self.games._replace(log=_first_rows(self._whole_log, positions))
        write_considered_visits(settings, self.games.tree.considered_visits)
        self.log.counts[np.arange(len(self.log.counts)) != NEXT_GAME] = 0
        if version is None or version != self._version:
            empty(self.games.cache)
        self._version = version
        self.is_full = False

    def step(self, evaluate: Evaluator) -> None:
        """Evaluate the waiting leaves, and play on until each game waits for the network again."""
        logits, values = evaluate(self.observations)
        self.is_full = self.kernels.play_on(
            self.game.tables, self.games, self.settings, logits, values
        )

    @property
    def positions(self) -> int:
        """Positions searched so far in this iteration."""
        return int(self.log.counts[POSITIONS])

    def collect(self, threads: int = 1) -> SelfPlayResult:
        """End the iteration: return the positions of finished games, and keep the others.

        Args:
            threads: that search for exact values, where the samples have them.
        """
        log, positions = self.log, self.positions
        fresh: Any = np.zeros(positions, self.pending.dtype)
        fresh["state"] = log.states[:positions]
        fresh["policy"] = log.policies[:positions]
        fresh["search_value"] = log.values[:positions]
        samples = join_samples([self.pending, fresh])
        games = np.concatenate([self.pending_games, log.games[:positions]])
        version = 0 if self._version is None else self._version
        versions = np.concatenate([self.pending_versions, np.full(positions, version)])
        ended = int(log.counts[ENDED])
        order = np.argsort(log.ended_games[:ended])
        serials = log.ended_games[:ended][order]
        place = np.searchsorted(serials, games)
        known = place < ended
        known[known] = serials[place[known]] == games[known]
        rows = order[place[known]]
        finished = samples[known]
        finished["outcome"] = log.ended_outcomes[rows]
        finished["score"] = log.ended_scores[rows]
        versions_of_finished = versions[known]
        ended_positions, solved = len(finished), 0
        if self._exact is not None:
            seed = int(log.counts[NEXT_GAME])
            kept = self._exact.correct(finished, games[known], seed, threads)
            solved = int((finished["solved"] != UNSOLVED).sum())
            finished, versions_of_finished = finished[kept], versions_of_finished[kept]
        self.pending, self.pending_games = samples[~known], games[~known]
        self.pending_versions = versions[~known]
        return SelfPlayResult(
            samples=finished,
            games=ended,
            plies=int(log.counts[PLIES]),
            positions=positions,
            simulations=int(log.counts[SIMULATIONS]),
            evaluations=int(log.counts[EVALUATIONS]),
            hits=int(log.counts[HITS]),
            ended_positions=ended_positions,
            solved=solved,
            versions=versions_of_finished[: None if self._version is not None else 0],
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly here."""
        arrays = {f"tree.{name}": array for name, array in self.games.tree._asdict().items()}
        arrays |= {
            "counts": self.log.counts,
            "serials": self.games.serials,
            "rngs": self.games.rngs,
            "observations": self.observations,
            "pending": self.pending,
            "pending_games": self.pending_games,
        }
        return arrays

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load what `state` returned.

        Raises:
            ValueError: the state is of another game or other settings.
        """
        for name, array in self.state().items():
            fits = array.shape == arrays[name].shape or name in ("pending", "pending_games")
            if not fits or array.dtype != arrays[name].dtype or array.ndim != arrays[name].ndim:
                raise ValueError(f"the saved self-play does not fit this run: {name}")
        for name, array in self.state().items():
            if name not in ("pending", "pending_games"):
                array[...] = arrays[name]
        self.pending = arrays["pending"]
        self.pending_games = arrays["pending_games"]
        self.pending_versions = np.zeros(len(self.pending), np.int64)
        for search in range(len(self.games.serials)):
            set_request(self.games.cache, search)


def _new_log(game: Game, positions: int) -> Log:
    """Allocate the log of an iteration of this many positions."""
    return Log(
        states=np.zeros(positions, game.state_dtype),
        policies=np.zeros((positions, game.num_actions), np.float32),
        values=np.zeros(positions, np.float32),
        games=np.zeros(positions, np.int64),
        ended_games=np.zeros(positions, np.int64),
        ended_outcomes=np.zeros(positions, np.int8),
        ended_scores=np.zeros(positions, np.int32),
        counts=np.zeros(7, np.int64),
    )


def _first_rows(log: Log, positions: int) -> Log:
    """A log that is full after so many positions; it shares the arrays' memory."""
    rows = {name: array[:positions] for name, array in log._asdict().items() if name != "counts"}
    return log._replace(**rows)


class SelfPlay(GroupedPlay[Group]):
    """Groups of games, advanced in turns; see `GroupedPlay`.

    Args:
        game: the rules.
        config: games and positions in all, which the groups share evenly.
        settings: of the search, with the most simulations that will be asked for.
        threads: number of groups that are advanced at the same time.
        seed: of the games.
        dtype: of the samples, from `sample_dtype`; by default the plain one.
    """

    def __init__(
        self,
        game: Game,
        config: SelfPlayConfig,
        settings: SearchSettings,
        threads: int,
        seed: np.random.SeedSequence,
        dtype: np.dtype | None = None,
    ) -> None:
        share = share_of_group(config, threads)
        super().__init__(lambda own: Group(game, share, settings, own, dtype), threads, seed)

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
        positions: int | None = None,
        seconds: float = math.inf,
        version: int | None = None,
    ) -> SelfPlayResult:
        """Play a chunk in every group; their samples are in the groups' order.

        Args:
            settings: of the search.
            evaluate: the network.
            progress: called from time to time with the number of new positions.
            version: see `Group.begin`.
            positions: to search in all; default: those of the configuration.
            seconds: after which the chunk ends, however far it has come.
        """
        share = None if positions is None else max(1, positions // len(self.groups))
        for group in self.groups:
            group.begin(settings, share, version)
        self.take_turns(evaluate, progress, seconds)
        return join_results([group.collect(self.threads) for group in self.groups])
