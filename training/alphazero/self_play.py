"""Self-play on all cores: one worker per core, each with its own games and its own log.

A worker alternates between the compiled games and the network on one core; the others do the
same on theirs, so while one is in its trees the next is in its network, and no core waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS, seed_rng
from ludarium.models.inference import torch_threads
from ludarium.training.search.cache import ask, empty, new_cache
from ludarium.training.search.gumbel import write_considered_visits
from ludarium.training.search.search import Evaluator
from ludarium.training.search.settings import SearchSettings
from ludarium.training.search.tree import new_tree

from .kernels import self_play as kernels
from .kernels.self_play import (
    ENDED,
    EVALUATIONS,
    HITS,
    NEVER_RESIGN,
    NEXT_GAME,
    PLIES,
    POSITIONS,
    SEARCHES,
    SIMULATIONS,
    Log,
    Resignation,
)
from .resignation import TRIAL
from .samples import sample_dtype


@dataclass(frozen=True)
class Harvest:
    """What a stretch of self-play gave.

    Attributes:
        samples: structured array (``samples.sample_dtype``) of positions of ended games.
        games: games ended.
        plies: plies of these games, openings included.
        positions: positions searched in full, and so recorded.
        searches: all positions searched.
        simulations: simulations done, those of fast searches included.
        evaluations: positions that the network evaluated.
        hits: evaluations that the cache had instead.
        resigned: games that a player gave up.
        trials: structured array (``resignation.TRIAL``), both players of each ended game in which
            nobody could resign; none without resignation.
    """

    samples: np.ndarray
    games: int = 0
    plies: int = 0
    positions: int = 0
    searches: int = 0
    simulations: int = 0
    evaluations: int = 0
    hits: int = 0
    resigned: int = 0
    trials: np.ndarray = field(default_factory=lambda: np.zeros(0, TRIAL))

    @classmethod
    def join(cls, harvests: Sequence[Harvest]) -> Harvest:
        """What several gave; samples in their order."""
        counts = {
            each.name: sum(getattr(harvest, each.name) for harvest in harvests)
            for each in fields(cls)
            if each.name not in ("samples", "trials")
        }
        return cls(
            samples=np.concatenate([harvest.samples for harvest in harvests]),
            trials=np.concatenate([harvest.trials for harvest in harvests]),
            **counts,
        )


class Worker:
    """Games played side by side on one core.

    Args:
        game: the rules.
        settings: of the search, with the most simulations that will be asked for.
        games: number of games side by side, and so the network's batch.
        positions: positions to search in full in one call of `play`.
        opening_plies: games start with up to so many random plies.
        seed: of the games.
        cache: megabytes for answers of the network, which are kept within one call of `play`.
        dtype: of the samples, from `sample_dtype`; by default the plain one.
        resign_free: share of the games in which nobody resigns; matters only with ``resignation``
            in the ``dtype``, without which nobody ever does.
    """

    def __init__(
        self,
        game: Game,
        settings: SearchSettings,
        games: int,
        positions: int,
        opening_plies: int,
        seed: np.random.SeedSequence,
        cache: float = 0.0,
        dtype: np.dtype | None = None,
        resign_free: float = 1.0,
    ) -> None:
        self.game = game
        self.dtype = sample_dtype(game) if dtype is None else dtype
        self.stored = self.dtype.names or ()
        self.resigns = "resigned" in self.stored
        self.opening_plies = opening_plies
        self.kernels = specialise(kernels, game.rules)
        self.tree = new_tree(game, games, settings)
        self.log = Log(
            states=np.zeros(positions, game.state_dtype),
            policies=np.zeros((positions, game.num_actions), np.float32),
            values=np.zeros(positions, np.float32),
            games=np.zeros(positions, np.int64),
            ended_games=np.zeros(positions, np.int64),
            ended_states=np.zeros(positions, game.state_dtype),
            ended_outcomes=np.zeros(positions, np.int8),
            ended_scores=np.zeros(positions, np.int32),
            ended_resigned=np.zeros(positions, np.bool_),
            ended_free=np.zeros(positions, np.bool_),
            ended_lowest=np.zeros((positions, 2), np.float32),
            counts=np.zeros(8, np.int64),
        )
        self.games = np.zeros(games, np.int64)
        self.rngs = seed_rng(seed, games)
        self.resignation = Resignation(
            threshold=NEVER_RESIGN,
            free_share=float(resign_free) if self.resigns else 1.0,
            free=np.ones(games, np.bool_),
            lowest=np.ones((games, 2), np.float32),
        )
        self.observations = np.zeros((games, *game.observation_shape), np.float32)
        self._planes = self.observations.reshape(games, *game.planes_shape)
        self.cache = new_cache(self.observations, game.num_actions, cache)
        self.pending = np.zeros(0, self.dtype)
        self.pending_games = np.zeros(0, np.int64)
        self.kernels.begin_games(
            game.tables,
            self.tree,
            self.cache,
            self.log,
            self.games,
            self.rngs,
            opening_plies,
            self.resignation,
            self._planes,
        )

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
        resign_at: float = NEVER_RESIGN,
    ) -> Harvest:
        """Search as many positions as the log holds; games go on in the next call.

        That may be with another network, so the cache starts empty. A player whose search gives
        him the value ``resign_at`` or less resigns.
        """
        log, resignation = self.log, self.resignation._replace(threshold=float(resign_at))
        write_considered_visits(settings, self.tree.considered_visits)
        log.counts[np.arange(len(log.counts)) != NEXT_GAME] = 0
        empty(self.cache)
        done, full = 0, False
        while not full:
            logits, values = evaluate(self.observations)
            full = self.kernels.play_on(
                self.game.tables,
                self.tree,
                self.cache,
                settings,
                log,
                self.games,
                self.rngs,
                self.opening_plies,
                resignation,
                logits,
                values,
                self._planes,
            )
            if progress is not None and log.counts[POSITIONS] > done:
                progress(int(log.counts[POSITIONS]) - done)
                done = int(log.counts[POSITIONS])
        return self._harvest()

    def _harvest(self) -> Harvest:
        """Positions whose games have ended get the result; the others wait for theirs."""
        log = self.log
        positions = int(log.counts[POSITIONS])
        fresh: Any = np.zeros(positions, self.pending.dtype)
        fresh["state"] = log.states[:positions]
        fresh["policy"] = log.policies[:positions]
        fresh["search_value"] = log.values[:positions]
        samples = np.concatenate([self.pending, fresh])
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
        if "owners" in self.stored:
            finished["owners"] = self.game.owners(log.ended_states[:ended])[rows]
        if self.resigns:
            finished["resigned"] = log.ended_resigned[rows]
            for unknown in {"score", "owners"}.intersection(self.stored):
                finished[unknown][finished["resigned"]] = 0
        self.pending, self.pending_games = samples[~known], games[~known]
        return Harvest(
            samples=finished,
            games=ended,
            plies=int(log.counts[PLIES]),
            positions=positions,
            searches=int(log.counts[SEARCHES]),
            simulations=int(log.counts[SIMULATIONS]),
            evaluations=int(log.counts[EVALUATIONS]),
            hits=int(log.counts[HITS]),
            resigned=int(log.ended_resigned[:ended].sum()),
            trials=self._trials(ended),
        )

    def _trials(self, ended: int) -> np.ndarray:
        """Both players of the games in which nobody could resign; none if nobody ever does."""
        log = self.log
        free = np.flatnonzero(log.ended_free[:ended]) if self.resigns else np.zeros(0, np.int64)
        trials = np.zeros((len(free), 2), TRIAL)
        trials["lowest"] = log.ended_lowest[free]
        trials["lost"] = log.ended_outcomes[free, None] == (PLAYER_1_WINS, PLAYER_0_WINS)
        return trials.ravel()

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to go on exactly where this worker is."""
        arrays = {f"tree.{name}": array for name, array in self.tree._asdict().items()}
        arrays |= {
            "counts": self.log.counts,
            "games": self.games,
            "rngs": self.rngs,
            "observations": self.observations,
            "pending": self.pending,
            "pending_games": self.pending_games,
        }
        if self.resigns:
            arrays |= {"free": self.resignation.free, "lowest": self.resignation.lowest}
        return arrays

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave."""
        self.pending = arrays["pending"]
        self.pending_games = arrays["pending_games"]
        for name, array in self.state().items():
            if name not in ("pending", "pending_games"):
                if array.shape != arrays[name].shape or array.dtype != arrays[name].dtype:
                    raise ValueError(f"the saved self-play does not fit this run: {name}")
                array[...] = arrays[name]
        for search in range(len(self.games)):
            ask(self.cache, search)


class SelfPlay:
    """Workers that play at the same time and share torch's threads between them."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.threads_each = max(1, torch.get_num_threads() // len(workers))
        self._pool = ThreadPoolExecutor(len(workers), thread_name_prefix="self-play")

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
        resign_at: float = NEVER_RESIGN,
    ) -> Harvest:
        """One stretch of self-play of every worker; their samples in the workers' order."""
        with torch_threads(self.threads_each):
            futures = [
                self._pool.submit(worker.play, settings, evaluate, progress, resign_at)
                for worker in self.workers
            ]
            return Harvest.join([future.result() for future in futures])

    def close(self) -> None:
        """End the worker threads."""
        self._pool.shutdown()
