"""Self-play on all cores: groups of games, which threads advance in turns (see `training.turns`).

One step of a group evaluates the leaves that its games wait for, then runs the compiled games until
each waits for the network again. The games of a group depend on its seed only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.configs.schema import SelfPlay as SelfPlayConfig
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.engine.threads import available_cores
from ludarium.models import Evaluator
from ludarium.models.evaluation import checked
from ludarium.training.search.cache import empty, new_cache
from ludarium.training.search.gumbel import write_considered_visits
from ludarium.training.search.results import join_results
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
        self.settings = settings
        self.is_full = False
        self.kernels.begin_games(game.tables, self.games)

    @property
    def log(self) -> Log:
        """What the games have logged in this iteration."""
        return self.games.log

    def begin(self, settings: SearchSettings) -> None:
        """Begin a chunk; unfinished games continue.

        Args:
            settings: of the search.
        """
        self.settings = settings
        write_considered_visits(settings, self.games.tree.considered_visits)
        self.log.counts[np.arange(len(self.log.counts)) != NEXT_GAME] = 0
        empty(self.games.cache)  # the network may be another one
        self.is_full = False

    def step(self, evaluate: Evaluator) -> None:
        """Evaluate the waiting leaves, and play on until each game waits for the network again."""
        count, actions = len(self.observations), self.game.num_actions
        evaluation = checked(evaluate(self.observations), count, actions, evaluate)
        self.is_full = self.kernels.play_on(self.game.tables, self.games, self.settings, evaluation)

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
        ended_positions, solved = len(finished), 0
        if self._exact is not None:
            seed = int(log.counts[NEXT_GAME])
            kept = self._exact.correct(finished, games[known], seed, threads)
            solved = int((finished["solved"] != UNSOLVED).sum())
            finished = finished[kept]
        self.pending, self.pending_games = samples[~known], games[~known]
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
        )

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly here.

        It has no trees: the search of each present move begins anew, here as in a resumed run.
        """
        self.kernels.begin_searches(self.game.tables, self.games)
        return {
            "states": self.games.tree.states[:, 0],
            "counts": self.log.counts,
            "serials": self.games.serials,
            "rngs": self.games.rngs,
            "pending": self.pending,
            "pending_games": self.pending_games,
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load what `state` returned.

        Raises:
            ValueError: the state is of another game or other settings.
        """
        own = self.state()
        for name, array in own.items():
            fits = array.shape == arrays[name].shape or name in ("pending", "pending_games")
            if not fits or array.dtype != arrays[name].dtype or array.ndim != arrays[name].ndim:
                raise ValueError(f"the saved self-play does not fit this run: {name}")
        for name, array in own.items():
            if name not in ("pending", "pending_games"):
                array[...] = arrays[name]
        self.pending = arrays["pending"]
        self.pending_games = arrays["pending_games"]
        self.kernels.begin_searches(self.game.tables, self.games)


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
    ) -> SelfPlayResult:
        """Play a chunk in every group; their samples are in the groups' order.

        Args:
            settings: of the search.
            evaluate: the network.
            progress: called from time to time with the number of new positions.
        """
        for group in self.groups:
            group.begin(settings)
        self.take_turns(evaluate, progress)
        return join_results([group.collect(self.threads) for group in self.groups])
