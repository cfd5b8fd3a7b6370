"""AlphaZero; in each iteration `ludarium.training.runs.trainer` does this:

    played = algorithm.play()             the actors play by search
    metrics = algorithm.learn(played)     the replay takes the positions, the learner learns
    algorithm.publish()                   the actors get the new weights
    measure.of(algorithm.agent())         games against fixed opponents, now and then
    folder.save(algorithm.state())        everything that a resumed run needs

Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go through
self-play" (2018), with Gumbel search and the changes named in the configuration.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ludarium.base.progress_bar import as_time
from ludarium.configs import AlphaZeroConfig
from ludarium.models import PolicyValueNetwork
from ludarium.training.networks import random_observations
from ludarium.training.runs.metrics import metrics_of
from ludarium.training.runs.state import State, flatten, unflatten
from ludarium.training.runs.trainer import Trainer

from .actors import Actors, LocalActors, Weights, search_settings
from .learner import Learner, Losses
from .replay import ReplayBuffer
from .self_play import SelfPlayResult, choose_threads
from .variants import VariantPacker

#: How many observations calibrate the activation ranges of the int8 backend, on average per game.
_EXAMPLES = 512


class AlphaZero:
    """The algorithm of a run; see `ludarium.training.runs.trainer.Algorithm`.

    Args:
        run: the trainer that it belongs to.
        saved: the state that `restore` will get; None for a new run.
        actors: makes the actors, from ``run``, the packer and the first weights; default: threads
            of this process.

    Attributes:
        network: the network that learns.
        rng: generator for drawing batches.
        workers: number of threads that play, and that learn on a CPU.
        packer: packs the samples of all games into records, and makes batches of records.
        replay: the latest positions.
        learner: learner of the network.
        actors: the actors.
    """

    def __init__(
        self,
        run: Trainer,
        saved: State | None,
        actors: Callable[[Trainer, VariantPacker, Weights], Actors] | None = None,
    ) -> None:
        assert isinstance(run.config, AlphaZeroConfig)
        self.run = run
        self.config = config = run.config
        self.games = [game for game, _ in run.games]
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = run.first_network(is_new=saved is None)
        self.rng = np.random.default_rng(seeds[1])
        if saved is None:
            self.workers = choose_threads(config.self_play, run.device)
        else:
            self.workers = saved.description["workers"]
        self.packer = VariantPacker(
            self.games, config.self_play.solve > 0, config.self_play.keep_trivial
        )
        self.replay = ReplayBuffer(self.packer.dtype, config.replay.last)
        self.learner = Learner(
            self.network, config.learner, run.game.max_score > 0, run.device, self.workers
        )
        self.actors: Actors
        if actors is not None:
            self.actors = actors(run, self.packer, self._weights())
        else:
            self.actors = LocalActors(
                run.games,
                self.packer,
                config,
                self.workers,
                run.device,
                self._weights(),
                *seeds[2:],
            )

    def play(self) -> SelfPlayResult:
        """Self-play with the network; in the first iteration the bootstrap, if there is one.

        Raises:
            StoppedError: see `_bootstrap`.
        """
        began = time.perf_counter()
        if self.in_bootstrap:
            result = self._bootstrap()
        else:
            self.run.progress.begin("self-play", self.config.self_play.positions)
            settings = search_settings(self.config, self.run.fraction)
            result = self.actors.play(settings, self.run.progress)
        if result.seconds is None:
            result = replace(result, seconds=time.perf_counter() - began)
        return result

    def _bootstrap(self) -> SelfPlayResult:
        """Play the bootstrap, within its share of the budget.

        Raises:
            StoppedError: the run was stopped; nothing is kept, so that a resumed run plays the
                same games.
        """
        progress, wanted = self.run.progress, self.config.bootstrap.positions
        seconds = self.config.bootstrap_seconds
        limit = "" if math.isinf(seconds) else f", {as_time(seconds)} at most"
        progress.begin(f"bootstrap{limit}", wanted)
        result = self.actors.bootstrap(progress)
        if (positions := result.counts["positions"]) < wanted:
            progress.say(
                f"bootstrap ended by its share of budget.minutes: {positions:,} of {wanted:,} "
                "positions"
            )
        return result

    def learn(self, played: SelfPlayResult) -> dict[str, Any]:
        """Take gradient steps: each new position is sampled ``replay_ratio`` times on average.

        After the bootstrap there are fewer steps if they would exceed their share of the time.
        """
        began, samples, progress = time.perf_counter(), played.samples, self.run.fraction
        first, last = self.config.replay.first, self.config.replay.last
        self.replay.add(self.run.iteration + 1, samples, round(first + progress * (last - first)))
        self._chunk = samples
        ratio = (self.config.bootstrap if self.in_bootstrap else self.config.learner).replay_ratio
        steps = round(len(samples) * ratio / self.config.learner.batch)
        self.run.progress.begin("learning", steps)
        losses = Losses()
        end = began + self.config.bootstrap_seconds if self.in_bootstrap else math.inf
        for _ in range(steps):
            if time.perf_counter() >= end:
                break
            drawn = self.replay.draw(self.config.learner.batch, self.rng)
            self.learner.learn(self.packer.batches(drawn, self.rng), progress, losses)
            self.run.progress.advance(1)
        return self._metrics(played, losses, time.perf_counter() - began)

    def publish(self) -> dict[str, Any]:
        """Give the EMA network to the actors."""
        return self.actors.publish(self._weights())

    def agent(self) -> PolicyValueNetwork:
        """The EMA network."""
        return self.learner.ema_network

    def state(self) -> State:
        """Networks, optimizer, random generator, replay, and the games in progress."""
        tensors = {
            "network": self.network.state_dict(),
            "ema": self.learner.ema_network.state_dict(),
            "optimizer": self.learner.optimizer.tensors(),
        }
        description = {
            "step": self.step,
            "rng": self.rng.bit_generator.state,
            "workers": self.workers,
        }
        playing = self.actors.state()
        return State(description, flatten(tensors), playing, self._chunk, list(self.replay.chunks))

    def restore(self, state: State) -> None:
        """Load a state that `state` returned, and give its weights to the actors."""
        self.learner.step = state.description["step"]
        self.rng.bit_generator.state = state.description["rng"]
        self.network.load_state_dict(unflatten(state.tensors, "network"))
        self.learner.ema_network.load_state_dict(unflatten(state.tensors, "ema"))
        self.learner.optimizer.restore(unflatten(state.tensors, "optimizer"))
        self.replay.restore(state.replay, self.run.folder.chunk)
        if not self.actors.restore(state.arrays):
            self.run.progress.say(
                "new games are begun: the saved ones do not fit, for example because they were "
                "played on another device, or with other fields of a sample"
            )
        self.actors.publish(self._weights())

    def close(self) -> None:
        """Stop learner and actors."""
        self.learner.close()
        self.actors.close()

    @property
    def step(self) -> int:
        """How many gradient steps were made."""
        return self.learner.step

    @property
    def resources(self) -> str:
        """The actors, their machines and the backend."""
        return self.actors.resources

    @property
    def in_bootstrap(self) -> bool:
        """Whether this iteration, the first, plays bootstrap games instead of self-play."""
        return self.run.iteration == 0 and self.config.bootstrap.positions > 0

    def calibration_inputs(self) -> list[np.ndarray]:
        """Example observations of each of the `games`; the same for the same iteration of a run.

        float32 [n, *observation_shape]; from random games for a game of which none was drawn.
        """
        found = [np.zeros((0, *game.observation_shape), np.float32) for game in self.games]
        if len(self.replay):
            rng = np.random.default_rng([self.config.seed, self.run.iteration])
            drawn = self.replay.draw(_EXAMPLES * len(found), rng)
            found = [batch.observations for batch in self.packer.batches(drawn, rng)]
        return [
            some if len(some) else random_observations(game, _EXAMPLES, self.config.seed)
            for game, some in zip(self.games, found, strict=True)
        ]

    def _weights(self) -> Weights:
        """The weights of the playing network, for the actors."""
        networks = (self.run.network_of(game, self.agent()) for game in self.games)
        return Weights(self.run.iteration, tuple(networks), tuple(self.calibration_inputs()))

    def _metrics(
        self, played: SelfPlayResult, losses: Losses, learn_seconds: float
    ) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        progress, play_seconds = self.run.fraction, played.seconds
        assert play_seconds is not None
        return {
            "step": self.step,
            "simulations_per_move": self.config.self_play.simulations_at(progress),
            "learning_rate": self.learner.learning_rate(progress),
            "replay": len(self.replay),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            **metrics_of(played.counts, play_seconds),
            **{f"{name}_loss": mean for name, mean in losses.means.items()},
        }
