"""The AlphaZero training loop; `ReplayTrainer` learns, `Trainer` adds evaluation and saving.

Actors play, the replay buffer keeps the latest positions, the learner learns from them, and the
actors get its weights. Who the actors are is not known here, see `actors`.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ludarium.configs import AlphaZeroConfig
from ludarium.training.runs.reporting import PROGRESS_COLUMNS, Column
from ludarium.training.runs.state import State

from .actors import Actors, LocalActors, Weights, search_settings
from .learner import Losses
from .mixture import MixedActors, Mixture, games_of
from .samples import Batch
from .self_play import SelfPlayResult
from .trainer import LEARNING_COLUMNS, ReplayTrainer

#: Columns of the table; ``policy`` is a loss.
COLUMNS = (
    *PROGRESS_COLUMNS,
    Column("sims", 4, lambda m: f"{m['simulations_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}" if m["games_per_second"] else ""),
    Column("sims/s", 9, lambda m: f"{m['simulations_per_second']:,.0f}"),
    Column("policy", 6, lambda m: f"{m['policy_loss']:.3f}"),
    *LEARNING_COLUMNS,
)
#: Further columns of a run on a cluster: actors, mean age of the weights that played, who waits.
CLUSTER_COLUMNS = (
    Column("actors", 6, lambda m: f"{m['actors']}", 5),
    Column("stale", 5, lambda m: f"{m['staleness']:.1f}", 6),
    Column("waits", 7, lambda m: m["waiting"], 5),
)


class AlphaZeroTrainer(ReplayTrainer):
    """A run of the AlphaZero loop; see `ReplayTrainer`."""

    columns = COLUMNS
    cluster_columns = CLUSTER_COLUMNS
    config: AlphaZeroConfig

    def check_config(self) -> None:
        """Refuse bad variants."""
        self._shares = games_of(self.config)
        if self.config.variants:
            self.variants = [game for game, _ in self._shares]

    def build(self, saved: State | None) -> None:
        """Make the network, the learner, the replay buffer and the actors."""
        config = self.config
        self.mixture = Mixture(
            self.games,
            config.learner.search_value,
            config.self_play.solve > 0,
            config.self_play.keep_decided,
        )
        super().build(saved)

    def build_players(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> None:
        """Make the actors."""
        self.actors = self._make_actors(bootstrap_seed, seed)

    def _make_actors(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> Actors:
        """Threads of this process, or processes on a cluster."""
        if self.cluster is not None:
            return self.cluster.actors(
                self._shares,
                self.mixture,
                self.config,
                self.device,
                self._weights(),
                self.iteration,
                self.reporter.say,
            )
        if self.variants:
            return MixedActors(
                self._shares,
                self.mixture,
                self.config,
                self.workers,
                self.device,
                self._weights(),
                bootstrap_seed,
                seed,
            )
        return LocalActors(
            self.game,
            self.config,
            self.workers,
            self.mixture.dtype,
            self.device,
            self._weights(),
            bootstrap_seed,
            seed,
        )

    @property
    def backend(self) -> str:
        """That of the actors."""
        return self.actors.backend

    @property
    def resources(self) -> str:
        """Who plays where, and with which backend."""
        return self.actors.resources

    @property
    def dtype(self) -> np.dtype:
        """That of the mixture's records."""
        return self.mixture.dtype

    def batches(self, records: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """The batch of each of the games among records [N]."""
        return self.mixture.batches(records, rng)

    def play_and_learn(self) -> dict[str, Any]:
        """Self-play (bootstrap games in the first iteration), then gradient steps."""
        started = time.perf_counter()
        result = self._bootstrap() if self.in_bootstrap else self._play()
        played = time.perf_counter()
        losses = self.learn(result.samples)
        learnt = time.perf_counter()
        play_seconds = played - started if result.seconds is None else result.seconds
        metrics = self._metrics(result, losses, play_seconds, learnt - played)
        if self.config.self_play.solve:
            metrics["solved"] = result.solved / max(1, result.ended_positions)
        return metrics

    def update_players(self) -> dict[str, Any]:
        """Give the EMA network to the actors."""
        return self.actors.publish(self._weights())

    def _bootstrap(self) -> SelfPlayResult:
        self.reporter.begin("bootstrap", self.config.bootstrap.positions)
        return self.actors.bootstrap(self.reporter.advance)

    def _play(self) -> SelfPlayResult:
        """One iteration of self-play with the network that plays."""
        self.reporter.begin("self-play", self.config.self_play.positions)
        settings = search_settings(self.config, self.progress)
        return self.actors.play(settings, self.reporter.advance)

    def _weights(self) -> Weights:
        """The network that plays, for the actors."""
        of_games = tuple(
            Weights(self.iteration, self.network_of(game), examples)
            for game, examples in zip(self.games, self.examples(), strict=True)
        )
        return replace(of_games[0], of_games=of_games)

    def _metrics(
        self,
        result: SelfPlayResult,
        losses: Losses,
        play_seconds: float,
        learn_seconds: float,
    ) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        return {
            "step": self.learner.step,
            "simulations_per_move": self.config.self_play.simulations_at(self.progress),
            "learning_rate": self.learner.learning_rate(self.progress),
            "replay": len(self.replay),
            "games_per_second": result.games / play_seconds,
            "positions_per_second": result.positions / play_seconds,
            "simulations_per_second": result.simulations / play_seconds,
            "evaluations_per_second": result.evaluations / play_seconds,
            "cache_hits": result.hits / max(1, result.hits + result.evaluations),
            "mean_plies": result.plies / max(1, result.games),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            "policy_loss": losses.policy,
            "outcome_loss": losses.outcome,
            "score_loss": losses.score,
        }

    def playing(self) -> dict[str, np.ndarray]:
        """The actors' games and searches."""
        return self.actors.state()

    def restore_playing(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Give the actors their games and the weights."""
        self.actors.restore(arrays, self._weights())

    def close(self) -> None:
        """Stop learner and actors."""
        super().close()
        self.actors.close()
