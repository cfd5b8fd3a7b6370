"""Self-play on all cores: one worker per core, each with its own games and its own log.

A worker alternates between the compiled games and the network on one core; the others do the
same on theirs, so while one is in its trees the next is in its network, and no core waits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import seed_rng
from ludarium.models.inference import torch_threads
from ludarium.training.search.gumbel import table_of_considered_visits
from ludarium.training.search.search import Evaluator
from ludarium.training.search.settings import SearchSettings
from ludarium.training.search.tree import new_tree

from .kernels import self_play as kernels
from .kernels.self_play import ENDED, PLIES, POSITIONS, SIMULATIONS, Log
from .samples import sample_dtype


@dataclass(frozen=True)
class Harvest:
    """What a stretch of self-play gave.

    Attributes:
        samples: structured array (``samples.sample_dtype``) of positions of ended games.
        games: games ended.
        plies: plies of these games, openings included.
        positions: positions searched.
        simulations: simulations done.
    """

    samples: np.ndarray
    games: int
    plies: int
    positions: int
    simulations: int


class Worker:
    """Games played side by side on one core.

    Args:
        game: the rules.
        most_simulations: largest number of simulations for a move that will be asked for.
        max_considered: see `SearchSettings`.
        games: number of games side by side, and so the network's batch.
        positions: positions to search in one call of `play`.
        opening_plies: games start with up to so many random plies.
        seed: of the games.
    """

    def __init__(
        self,
        game: Game,
        most_simulations: int,
        max_considered: int,
        games: int,
        positions: int,
        opening_plies: int,
        seed: np.random.SeedSequence,
    ) -> None:
        self.game = game
        self.opening_plies = opening_plies
        self.kernels = specialise(kernels, game.rules)
        schedule = np.zeros((max_considered + 1, most_simulations), np.int32)
        self.tree = new_tree(game, games, most_simulations, schedule)
        self.log = Log(
            states=np.zeros(positions, game.state_dtype),
            policies=np.zeros((positions, game.num_actions), np.float32),
            values=np.zeros(positions, np.float32),
            games=np.zeros(positions, np.int64),
            ended_games=np.zeros(positions, np.int64),
            ended_outcomes=np.zeros(positions, np.int8),
            ended_scores=np.zeros(positions, np.int32),
            counts=np.zeros(5, np.int64),
        )
        self.games = np.zeros(games, np.int64)
        self.rngs = seed_rng(seed, games)
        self.observations = np.zeros((games, *game.observation_shape), np.float32)
        self._planes = self.observations.reshape(games, *game.planes_shape)
        self.pending = np.zeros(0, sample_dtype(game))
        self.pending_games = np.zeros(0, np.int64)
        self.kernels.begin_games(
            game.tables, self.tree, self.log, self.games, self.rngs, opening_plies, self._planes
        )

    def play(
        self,
        settings: SearchSettings,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
    ) -> Harvest:
        """Search as many positions as the log holds; games go on in the next call."""
        log = self.log
        schedule = table_of_considered_visits(settings.max_considered, settings.simulations)
        self.tree.considered_visits[:, : settings.simulations] = schedule
        log.counts[[POSITIONS, ENDED, SIMULATIONS, PLIES]] = 0
        done = 0
        while log.counts[POSITIONS] < len(log.states):
            logits, values = evaluate(self.observations)
            self.kernels.play_on(
                self.game.tables,
                self.tree,
                settings,
                log,
                self.games,
                self.rngs,
                self.opening_plies,
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
        fresh: Any = np.zeros(len(log.states), self.pending.dtype)
        fresh["state"] = log.states
        fresh["policy"] = log.policies
        fresh["search_value"] = log.values
        samples = np.concatenate([self.pending, fresh])
        games = np.concatenate([self.pending_games, log.games])
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
        self.pending, self.pending_games = samples[~known], games[~known]
        return Harvest(
            samples=finished,
            games=ended,
            plies=int(log.counts[PLIES]),
            positions=len(log.states),
            simulations=int(log.counts[SIMULATIONS]),
        )

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
    ) -> Harvest:
        """One stretch of self-play of every worker; their samples in the workers' order."""
        with torch_threads(self.threads_each):
            futures = [
                self._pool.submit(worker.play, settings, evaluate, progress)
                for worker in self.workers
            ]
            harvests = [future.result() for future in futures]
        return Harvest(
            samples=np.concatenate([harvest.samples for harvest in harvests]),
            games=sum(harvest.games for harvest in harvests),
            plies=sum(harvest.plies for harvest in harvests),
            positions=sum(harvest.positions for harvest in harvests),
            simulations=sum(harvest.simulations for harvest in harvests),
        )

    def close(self) -> None:
        """End the worker threads."""
        self._pool.shutdown()
