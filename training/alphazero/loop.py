"""The AlphaZero training loop; `Trainer` adds evaluation and saving.

Actors play, the replay buffer keeps the latest positions, the learner learns from them, and the
actors get its weights. Who the actors are is not known here, see `actors`.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.models import PolicyValueNetwork
from ludarium.training.random_positions import random_observations
from ludarium.training.runs.reporting import PROGRESS_COLUMNS, Column
from ludarium.training.runs.state import (
    State,
    flatten,
    optimizer_tensors,
    restore_optimizer,
    unflatten,
)
from ludarium.training.runs.trainer import Trainer

from .actors import Actors, LocalActors, Weights, search_settings
from .learner import Learner, Losses
from .mixture import MixedActors, Mixture, games_of
from .replay import Replay
from .self_play import SelfPlayResult, choose_threads

#: Observations that calibrate the activation ranges of the int8 backend.
_EXAMPLES = 512

#: Columns of the table; ``policy``, ``result`` (win, draw, loss) and ``score`` are losses.
COLUMNS = (
    *PROGRESS_COLUMNS,
    Column("sims", 4, lambda m: f"{m['simulations_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}" if m["games_per_second"] else ""),
    Column("sims/s", 9, lambda m: f"{m['simulations_per_second']:,.0f}"),
    Column("policy", 6, lambda m: f"{m['policy_loss']:.3f}"),
    Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
    Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
    Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
)
#: Further columns of a run on a cluster: actors, mean age of the weights that played, seconds that
#: the learner waited for positions.
CLUSTER_COLUMNS = (
    Column("actors", 6, lambda m: f"{m['actors']}", 5),
    Column("stale", 5, lambda m: f"{m['staleness']:.1f}", 6),
    Column("waits", 5, lambda m: f"{m['learner_waited']:.1f}", 5),
)


class AlphaZeroTrainer(Trainer):
    """A run of the AlphaZero loop; see `Trainer`.

    Attributes:
        rng: what batches are drawn from.
        workers: threads that play, and that learn on a CPU.
        mixture: makes records of the replay and batches of the samples of all games.
        replay: the latest positions.
        learner: of the network.
        actors: whoever plays.
    """

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
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = self.first_network(is_new=saved is None)
        self.rng = np.random.default_rng(seeds[1])
        if saved is None:
            self.workers = choose_threads(config.self_play, self.device)
        else:
            self.workers = saved.description["workers"]
        self.mixture = Mixture(
            self.games,
            config.learner.search_value,
            config.self_play.solve > 0,
            config.self_play.keep_decided,
        )
        self.replay = Replay(self.mixture.dtype, max(config.replay.first, config.replay.last))
        self.learner = Learner(
            self.network, config.learner, self.game.max_score > 0, self.device, self.workers
        )
        self.actors = self._make_actors(seeds[2], seeds[3])

    def _make_actors(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> Actors:
        """Threads of this process, or processes on a cluster."""
        if self.cluster is not None:
            from ludarium.training.cluster.actors import ClusterActors

            return ClusterActors(
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
    def games(self) -> list[Game]:
        """The games that the network learns: the variants, or without them the game alone."""
        return self.variants or [self.game]

    @property
    def player(self) -> PolicyValueNetwork:
        """The EMA network."""
        return self.learner.ema_network

    @property
    def step(self) -> int:
        """Gradient steps done."""
        return self.learner.step

    @property
    def match_backend(self) -> str:
        """Backend for evaluation matches: that of self-play, but float32 in place of int8."""
        return "onnx" if self.actors.backend == "onnx-int8" else self.actors.backend

    @property
    def resources(self) -> str:
        """Who plays where, and with which backend."""
        return self.actors.resources

    @property
    def in_bootstrap(self) -> bool:
        """Whether this iteration, the first, has bootstrap games in place of self-play."""
        return self.iteration == 0 and self.config.bootstrap.positions > 0

    def play_and_learn(self) -> dict[str, Any]:
        """Self-play (bootstrap games in the first iteration), then gradient steps."""
        started = time.perf_counter()
        result = self._bootstrap() if self.in_bootstrap else self._play()
        played = time.perf_counter()
        losses = self._learn(result.samples)
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

    def _learn(self, samples: np.ndarray) -> Losses:
        """Gradient steps: each new position is sampled ``replay_ratio`` times on average."""
        config, progress = self.config, self.progress
        window = config.replay.first + progress * (config.replay.last - config.replay.first)
        self.replay.add(self.iteration + 1, samples, round(window))
        self._chunk = samples
        of_iteration = config.bootstrap if self.in_bootstrap else config.learner
        batch = config.learner.batch
        steps = round(len(samples) * of_iteration.replay_ratio / batch)
        losses = Losses()
        self.reporter.begin("learning", steps)
        for _ in range(steps):
            batches = self.mixture.batches(self.replay.draw(batch, self.rng), self.rng)
            self.learner.learn(batches, progress, losses)
            self.reporter.advance(1)
        return losses

    def examples(self) -> list[np.ndarray]:
        """Example observations of each of the `games`; the same for the same iteration of a run.

        float32 [n, *observation_shape]; of random positions as long as the replay has none.
        """
        found = [np.zeros((0, *game.observation_shape), np.float32) for game in self.games]
        if len(self.replay):
            rng = np.random.default_rng([self.config.seed, self.iteration])
            drawn = self.replay.draw(_EXAMPLES * len(found), rng)
            found = [batch.observations for batch in self.mixture.batches(drawn, rng)]
        return [
            some if len(some) else random_observations(game, _EXAMPLES, self.config.seed)
            for game, some in zip(self.games, found, strict=True)
        ]

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

    def state(self) -> State:
        """Networks, optimizer, replay, and the games and searches in progress."""
        learner = self.learner
        tensors = {
            "network": learner.network.state_dict(),
            "ema": learner.ema_network.state_dict(),
            "optimizer": optimizer_tensors(learner.optimizer),
        }
        description = {
            "step": learner.step,
            "rng": self.rng.bit_generator.state,
            "workers": self.workers,
        }
        playing = self.actors.state()
        return State(description, flatten(tensors), playing, self._chunk, list(self.replay.chunks))

    def restore(self, state: State) -> None:
        """Load a state that `state` returned."""
        description, learner = state.description, self.learner
        learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        learner.network.load_state_dict(unflatten(state.tensors, "network"))
        learner.ema_network.load_state_dict(unflatten(state.tensors, "ema"))
        restore_optimizer(learner.optimizer, unflatten(state.tensors, "optimizer"))
        self.replay.restore(state.replay, self.folder.chunk)
        self.actors.restore(state.arrays, self._weights())

    def close(self) -> None:
        """Stop learner and actors."""
        super().close()
        self.learner.close()
        self.actors.close()
