"""The AlphaZero training loop; `Trainer` adds evaluation and saving.

Actors play, the replay buffer keeps the latest positions, the learner learns from them, and the
actors get its weights. Who the actors are is not known here, see `actors`.

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.configs.schema import Cluster as ClusterConfig
from ludarium.models import PolicyValueNetwork
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.evaluation import play_match
from ludarium.training.networks import fresh_network
from ludarium.training.random_positions import random_observations
from ludarium.training.runs.reporting import Column
from ludarium.training.runs.state import (
    State,
    flatten,
    optimizer_tensors,
    restore_optimizer,
    unflatten,
)
from ludarium.training.runs.trainer import Trainer

from .actors import Actors, LocalActors, Weights, search_settings
from .kernels.self_play import NEVER_RESIGN
from .learner import Learner, Losses
from .mixture import MixedActors, Mixture, games_of
from .replay import Replay
from .resignation import TRIAL, Calibration, false_positive_rate
from .self_play import SelfPlayResult, choose_threads

#: Observations that calibrate the activation ranges of the int8 backend.
_EXAMPLES = 512

#: Columns of the table; ``policy``, ``result`` (win, draw, loss) and ``score`` are losses.
COLUMNS = (
    Column("run", 5, lambda m: f"{100 * m['progress']:.0f} %"),
    Column("min", 6, lambda m: f"{m['seconds'] / 60:.1f}"),
    Column("iter", 5, lambda m: f"{m['iteration']}", 3),
    Column("sims", 4, lambda m: f"{m['simulations_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}" if m["games_per_second"] else ""),
    Column("sims/s", 9, lambda m: f"{m['simulations_per_second']:,.0f}"),
    Column("policy", 6, lambda m: f"{m['policy_loss']:.3f}"),
    Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
    Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
    Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
)
#: Further columns of a run on a cluster: actors, mean age of the weights that played, who waits.
CLUSTER_COLUMNS = (
    Column("actors", 6, lambda m: f"{m['actors']}", 5),
    Column("stale", 5, lambda m: f"{m['staleness']:.1f}", 6),
    Column("waits", 7, lambda m: m["waiting"], 5),
)


def peer_devices(device: str, config: ClusterConfig) -> list[str]:
    """The GPUs that learn along with the one of the learner.

    Raises:
        ValueError: there are fewer than the configuration says.
    """
    if not device.startswith("cuda"):
        return []
    there = torch.cuda.device_count()
    if config.learner_gpus > there:
        raise ValueError(
            f"cluster.learner_gpus is {config.learner_gpus}, but this machine has {there}"
        )
    own = torch.device(device).index or 0
    others = [number for number in range(there) if number != own]
    return [f"cuda:{number}" for number in others[: config.learner_gpus - 1]]


class AlphaZeroTrainer(Trainer):
    """A run of the AlphaZero loop; see `Trainer`."""

    columns = COLUMNS
    cluster_columns = CLUSTER_COLUMNS
    config: AlphaZeroConfig

    def check_config(self) -> None:
        """Refuse ownership training in games whose cells have no owners, and bad variants."""
        self.games = games_of(self.config)
        if self.config.variants:
            self.variants = [game for game, _ in self.games]
            if self.cluster is not None:
                raise ValueError("variants are not played on a cluster: leave out --cluster")
        weight = self.config.learner.ownership_weight
        if weight and not self.game.has_owners:
            raise ValueError(
                f"learner.ownership_weight is {weight:g}, but the cells of {self.game.name} have "
                "no owners; leave it out"
            )

    def build(self, saved: State | None) -> None:
        """Make the network, the learner, the replay buffer and the actors."""
        config = self.config
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = fresh_network(self.game, config.network, self.variants)
        self.rng = np.random.default_rng(seeds[1])
        if saved is None:
            self.workers = choose_threads(config.self_play, self.device)
        else:
            self.workers = saved.description["workers"]
        resign = config.self_play.resign
        self.calibration = Calibration(resign) if resign is not None else None
        self.mixture = Mixture(
            [game for game, _ in self.games],
            config.learner.ownership_weight > 0,
            self.calibration is not None,
            config.learner.search_value,
        )
        self.replay = Replay(self.mixture.dtype, max(config.replay.first, config.replay.last))
        has_score = self.game.max_score > 0
        self.learner = Learner(
            self.network,
            config.learner,
            has_score,
            self.device,
            self.workers,
            peers=[] if self.cluster is None else peer_devices(self.device, config.cluster),
        )
        # Without a gate the EMA network itself plays.
        gated = config.gate.games > 0
        self._player = (
            copy.deepcopy(self.learner.ema_network) if gated else self.learner.ema_network
        )
        self.actors = self._make_actors(seeds[2], seeds[3])

    def _make_actors(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> Actors:
        """Threads of this process, or processes on a cluster."""
        if self.cluster is not None:
            return self.cluster.actors(
                self.game,
                self.config,
                self.mixture.dtype,
                self.device,
                self._weights(),
                self.iteration,
                self.reporter.say,
            )
        if self.variants:
            return MixedActors(
                self.games,
                self.mixture,
                self.config,
                self.workers,
                self.device,
                self._weights(),
                bootstrap_seed,
                seed,
            )
        return LocalActors(
            self.games[0][0],
            self.config,
            self.workers,
            self.mixture.dtype,
            self.device,
            self._weights(),
            bootstrap_seed,
            seed,
        )

    @property
    def player(self) -> PolicyValueNetwork:
        """The network that plays: the EMA network, or the last one that passed the gate."""
        return self._player

    @property
    def step(self) -> int:
        """Gradient steps done."""
        return self.learner.step

    @property
    def resources(self) -> str:
        """Who plays where, and with which backend."""
        return self.actors.resources

    @property
    def match_backend(self) -> str:
        """Backend for evaluation matches: that of self-play, but float32 in place of int8."""
        return "onnx" if self.actors.backend == "onnx-int8" else self.actors.backend

    def play_and_learn(self) -> dict[str, Any]:
        """Self-play (bootstrap games in the first iteration), then gradient steps."""
        config, progress = self.config, self.progress
        resign_threshold = self.resign_threshold
        started = time.perf_counter()
        if self.iteration == 0 and config.bootstrap.positions:
            result, replay_ratio = self._bootstrap(), config.bootstrap.replay_ratio
        else:
            result, replay_ratio = self._play(progress), config.learner.replay_ratio
        played = time.perf_counter()
        resignation = self._calibrate(result, resign_threshold)
        losses = self._learn(result.samples, replay_ratio, progress)
        learnt = time.perf_counter()
        play_seconds = played - started if result.seconds is None else result.seconds
        metrics = self._metrics(result, losses, play_seconds, learnt - played, progress)
        return metrics | resignation

    def update_players(self) -> dict[str, Any]:
        """Publish the EMA network, if it passes the gate."""
        return self._pass_gate() | self.actors.publish(self._weights())

    def _bootstrap(self) -> SelfPlayResult:
        self.reporter.begin("bootstrap", self.config.bootstrap.positions)
        return self.actors.bootstrap(self.reporter.advance)

    def _play(self, progress: float) -> SelfPlayResult:
        """One iteration of self-play with the network that plays."""
        self.reporter.begin("self-play", self.config.self_play.positions)
        return self.actors.play(
            search_settings(self.config, progress), self.resign_threshold, self.reporter.advance
        )

    @property
    def resign_threshold(self) -> float:
        """The root value at or below which a player resigns."""
        return NEVER_RESIGN if self.calibration is None else self.calibration.threshold

    def _calibrate(self, result: SelfPlayResult, resign_threshold: float) -> dict[str, Any]:
        """Update the resignation threshold; return metrics of the one that was used, for the log.

        The fraction of wrong resignations is measured in games of this iteration where resignation
        was disabled. These games had no part in the choice of the threshold that was used.
        """
        if self.calibration is None:
            return {}
        self.calibration.add(result.trials)
        metrics = {
            "resign_threshold": resign_threshold,
            "resigned": result.resigned / max(1, result.games),
        }
        wrong = false_positive_rate(result.trials, resign_threshold)
        return metrics if wrong is None else metrics | {"resign_false_positive_rate": wrong}

    def _learn(self, samples: np.ndarray, replay_ratio: float, progress: float) -> Losses:
        """Gradient steps: each new position is sampled ``replay_ratio`` times on average."""
        window = self.config.replay.first + progress * (
            self.config.replay.last - self.config.replay.first
        )
        self.replay.add(self.iteration + 1, samples, round(window))
        self._chunk = samples
        losses = Losses()
        batch = self.config.learner.batch
        steps = round(len(samples) * replay_ratio / batch)
        self.reporter.begin("learning", steps)
        for _ in range(steps):
            drawn = self.replay.draw(batch, self.rng)
            self.learner.learn(self.mixture.batches(drawn, self.rng), progress, losses)
            self.reporter.advance(1)
        return losses

    def _pass_gate(self) -> dict[str, Any]:
        """If the EMA network wins the gate match, let it play from now on; metrics for the log."""
        gate = self.config.gate
        if not gate.games:
            return {}
        self.reporter.begin("gate", gate.games)
        new, old = (
            NetworkAgent(self.game, network, gate.simulations, name, backend=self.match_backend)
            for name, network in (("new", self.learner.ema_network), ("old", self.player))
        )
        match = play_match(
            self.game,
            new,
            old,
            gate.games,
            seed=self.config.seed,
            progress=self._reach,
        )
        passed = match.score >= gate.score
        if passed:
            self._player.load_state_dict(self.learner.ema_network.state_dict())
        return {"gate_score": match.score, "gate_passed": int(passed)}

    def _weights(self) -> Weights:
        """The network that plays, for the actors."""
        of_games = tuple(
            Weights(self.iteration, self.network_of(game), examples)
            for (game, _), examples in zip(self.games, self._examples(), strict=True)
        )
        return replace(of_games[0], of_games=of_games)

    def _examples(self) -> list[np.ndarray]:
        """Example observations of each game; the same for the same iteration of a run."""
        games = [game for game, _ in self.games]
        examples = [np.zeros((0, *game.observation_shape), np.float32) for game in games]
        if len(self.replay):
            rng = np.random.default_rng([self.config.seed, self.iteration])
            drawn = self.replay.draw(_EXAMPLES * len(games), rng)
            examples = [batch.observations for batch in self.mixture.batches(drawn, rng)]
        return [
            found if len(found) else random_observations(game, _EXAMPLES, self.config.seed)
            for game, found in zip(games, examples, strict=True)
        ]

    def _metrics(
        self,
        result: SelfPlayResult,
        losses: Losses,
        play_seconds: float,
        learn_seconds: float,
        progress: float,
    ) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        return {
            "step": self.learner.step,
            "simulations_per_move": self.config.self_play.simulations_at(progress),
            "learning_rate": self.learner.learning_rate(progress),
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
            "ownership_loss": losses.ownership,
        }

    def state(self) -> State:
        """Networks, optimizer, replay, and the games and searches in progress."""
        learner = self.learner
        groups = {
            "network": learner.network.state_dict(),
            "ema": learner.ema_network.state_dict(),
            "optimizer": optimizer_tensors(learner.optimizer),
        }
        if self.player is not learner.ema_network:
            groups["player"] = self.player.state_dict()
        if learner.ownership is not None:
            groups["ownership"] = learner.ownership.state_dict()
        description: dict[str, Any] = {
            "step": learner.step,
            "rng": self.rng.bit_generator.state,
            "workers": self.workers,
        }
        if self.calibration is not None:
            description["trials"] = self.calibration.trials.tolist()
        return State(
            description,
            flatten(groups),
            self.actors.state(),
            self._chunk,
            list(self.replay.chunks),
        )

    def restore(self, state: State) -> None:
        """Load a state that `state` returned."""
        description, tensors, learner = state.description, state.tensors, self.learner
        learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        if self.calibration is not None:
            self.calibration.add(np.array([tuple(t) for t in description["trials"]], TRIAL))
        learner.network.load_state_dict(unflatten(tensors, "network"))
        learner.ema_network.load_state_dict(unflatten(tensors, "ema"))
        if self.player is not learner.ema_network:
            self._player.load_state_dict(unflatten(tensors, "player"))
        if learner.ownership is not None:
            learner.ownership.load_state_dict(unflatten(tensors, "ownership"))
        restore_optimizer(learner.optimizer, unflatten(tensors, "optimizer"))
        self.replay.restore(state.replay, self.folder.chunk)
        self.actors.restore(state.arrays, self._weights())

    def close(self) -> None:
        """Stop actors and learner."""
        super().close()
        self.actors.close()
        self.learner.close()
