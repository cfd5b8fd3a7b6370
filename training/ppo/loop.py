"""PPO; `ludarium.training.runs.trainer` calls these methods once for each iteration:

    seconds = algorithm.play()         games against the current self and past selves
    metrics = algorithm.learn(seconds) epochs of minibatches of their positions
    algorithm.publish()                now and then a copy of the network joins the pool

The trainer then evaluates `agent` and saves `state`.

Proximal policy optimisation (Schulman et al., "Proximal Policy Optimization Algorithms", 2017)
with illegal actions masked, by sb3-contrib; this module gives it games, opponents and a network.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed

from ludarium.base.numbers import derived_seed
from ludarium.base.progress import Progress
from ludarium.configs import PPOConfig
from ludarium.envs.batch import BatchEnv
from ludarium.models import PolicyValueNetwork
from ludarium.models.inference import torch_threads, torch_threads_for
from ludarium.training.runs.state import (
    State,
    flatten,
    optimizer_tensors,
    restore_optimizer,
    unflatten,
)
from ludarium.training.runs.trainer import Trainer

from .encoder import ObservationEncoder
from .environment import LearnerVecEnv
from .opponents import Pool
from .policy import NetworkPolicy, measure_statistics

#: Metrics, and what they are called in the log of Stable-Baselines3.
_LOGGED = (
    ("entropy", "train/entropy_loss"),
    ("policy_loss", "train/policy_gradient_loss"),
    ("value_loss", "train/value_loss"),
    ("approx_kl", "train/approx_kl"),
    ("clip_fraction", "train/clip_fraction"),
    ("explained_variance", "train/explained_variance"),
)
_STATISTICS_PLIES = 64  # plies of random play that set the network's normalisation


class PPO:
    """The algorithm of a run; see `ludarium.training.runs.trainer.Algorithm`.

    Args:
        run: the trainer that it belongs to.
        saved: the state that `restore` will get; None for a new run.

    Attributes:
        network: the network that learns.
        rng: generator for opponents, symmetries, seats and openings.
        pool: the opponents.
        games: the learner's side of the games.
        model: sb3-contrib's algorithm, which plays and learns.
    """

    def __init__(self, run: Trainer, saved: State | None) -> None:
        assert isinstance(run.config, PPOConfig)
        self.run = run
        self.config = config = run.config
        device = torch.device(run.device)
        # 1. The network that learns.
        seeds = np.random.SeedSequence(config.seed).spawn(2)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = run.first_network(is_new=saved is None)
        self.network.to(device).eval()
        if len(run.game.observation_shape) == 3:
            self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        # 2. Its games, against the current self and past selves.
        self.rng = np.random.default_rng(seeds[1])
        encoder = ObservationEncoder(run.game, config.rollout.symmetries, self.rng)
        self.pool = Pool(
            config.opponents, config.rollout.games, self.network, encoder, device, self.rng
        )
        if saved is None and config.start is None:
            self._measure_statistics()
        with torch_threads(1):  # with more the environment warns
            self.games = LearnerVecEnv(
                run.game, self.pool, encoder, config.rollout.opening_plies, self.rng
            )
        # 3. PPO, which plays and learns.
        learner = config.learner
        self.model = MaskablePPO(
            NetworkPolicy,
            self.games,
            learning_rate=lambda _: self.learning_rate,
            n_steps=config.rollout.steps,
            batch_size=learner.batch,
            n_epochs=learner.epochs,
            gamma=learner.gamma,
            gae_lambda=learner.gae_lambda,
            clip_range=learner.clip,
            ent_coef=learner.entropy,
            vf_coef=learner.value_weight,
            max_grad_norm=learner.gradient_clip,
            target_kl=learner.target_kl,
            policy_kwargs={"network": self.network},
            rollout_buffer_class=_ReportingBuffer,
            rollout_buffer_kwargs={"progress": run.progress},
            device=device,
        )
        self.model.set_logger(Logger(folder=None, output_formats=[]))

    def play(self) -> float:
        """Play the steps of an iteration; return how many seconds that took."""
        rollout, learner, model = self.config.rollout, self.config.learner, self.model
        # 1. Seed Python, numpy and torch: SB3 draws minibatches, the networks their actions.
        set_random_seed(derived_seed(self.config.seed, self.run.iteration))
        # 2. Draw the past selves that are met, and set the weight of the entropy: over the run it
        #    goes from the first to the final one.
        self.pool.prepare()
        change = learner.final_entropy - learner.entropy
        model.ent_coef = learner.entropy + self.run.fraction * change
        # 3. Collect the rollout: `steps` actions of the learner in each game. At its end SB3
        #    computes advantages by GAE (Schulman et al., "High-dimensional continuous control
        #    using generalized advantage estimation", 2016).
        steps = rollout.games * rollout.steps
        self.run.progress.begin("self-play", steps)
        began = time.perf_counter()

        def advance(*_: Any) -> bool:
            self.run.progress.advance(rollout.games)
            return True

        _, callback = model._setup_learn(steps, advance, reset_num_timesteps=False)
        with self._threads(rollout.games):
            model.collect_rollouts(self.games, callback, model.rollout_buffer, rollout.steps)
        return time.perf_counter() - began

    def learn(self, played: float) -> dict[str, Any]:
        """Learn from the steps just played, which took ``played`` seconds.

        Some epochs of minibatches, each a gradient step on the mean of

            -min(r A, clip(r, 1 - c, 1 + c) A) + value_weight (R - v)^2 - entropy H,

        where ``r`` is the action's probability as a multiple of that in the rollout, ``A`` its
        advantage (normalised in the minibatch), ``R`` the return, ``v`` the value, and ``H`` the
        entropy of the policy.
        """
        rollout, learning_rate = self.config.rollout, self.learning_rate
        steps = rollout.games * rollout.steps
        self.run.progress.begin("learning", steps * self.config.learner.epochs)
        began = time.perf_counter()
        with self._threads(self.config.learner.batch):
            self.model.train()
        return self._metrics(steps, played, time.perf_counter() - began, learning_rate)

    def publish(self) -> dict[str, Any]:
        """Add a copy of the network to the pool of past selves if it is time to."""
        if self.run.iteration % self.config.opponents.every == 0:
            self.pool.add(self.run.iteration)
        return {"pool": len(self.pool.past)}

    def agent(self) -> PolicyValueNetwork:
        """The network that learns."""
        return self.network

    def close(self) -> None:
        """Do nothing, because nothing was started."""

    @property
    def step(self) -> int:
        """How many of its actions the learner has learnt from."""
        return self.model.num_timesteps

    @property
    def resources(self) -> str:
        """Device and number of games."""
        return f"{self.run.device}, {self.config.rollout.games} games in parallel"

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self.config.learner.learning_rate_at(self.run.fraction)

    def _threads(self, batch: int) -> AbstractContextManager[None]:
        """A context with as many of torch's threads as pay for a batch."""
        return torch_threads_for(self.network, (batch, *self.run.game.observation_shape))

    def _metrics(
        self, steps: int, play_seconds: float, learn_seconds: float, learning_rate: float
    ) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        pool = self.pool
        logged = {name: float(self.model.logger.name_to_value[key]) for name, key in _LOGGED}
        metrics = {
            "step": self.step,
            "steps_per_second": steps / (play_seconds + learn_seconds),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            "games": pool.finished,
            "pool_score": float(np.mean([each.score for each in pool.past] or [0.5])),
            "learning_rate": learning_rate,
            **logged,
            "entropy": -logged["entropy"],
        }
        if math.isnan(metrics["explained_variance"]):
            del metrics["explained_variance"]
        if pool.finished:
            metrics["self_play_score"] = pool.points / pool.finished
        return metrics

    def _measure_statistics(self) -> None:
        """Set the network's batch-normalisation statistics from positions of random games."""
        rollout, seed = self.config.rollout, self.config.seed
        games = BatchEnv(self.run.game, rollout.games, seed=seed, canonical=True)
        positions = []
        for _ in range(_STATISTICS_PLIES):
            positions.append(games.observations[:64].copy())
            games.step_random()
        measure_statistics(
            self.network, torch.from_numpy(np.concatenate(positions)).to(self.run.device)
        )

    def state(self) -> State:
        """Network, optimizer, pool, and the games in progress."""
        pool, past = self.pool.state()
        tensors = flatten(
            {
                "network": self.network.state_dict(),
                "optimizer": optimizer_tensors(self.model.policy.optimizer),
                **past,
            }
        )
        description = {
            "step": self.step,
            "pool": pool,
            "rng": self.rng.bit_generator.state,
        }
        return State(description, tensors, self.games.state())

    def restore(self, state: State) -> None:
        """Load a state that `state` returned."""
        description, tensors = state.description, state.tensors
        self.model.num_timesteps = description["step"]
        self.rng.bit_generator.state = description["rng"]
        self.network.load_state_dict(unflatten(tensors, "network"))
        restore_optimizer(self.model.policy.optimizer, unflatten(tensors, "optimizer"))
        self.pool.restore(description["pool"], lambda group: unflatten(tensors, group))
        self.games.restore(state.arrays)


class _ReportingBuffer(MaskableRolloutBuffer):
    """sb3-contrib's rollout buffer, which also reports the steps that are learnt from."""

    def __init__(self, *arguments: Any, progress: Progress, **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._progress = progress

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches in a random order."""
        for samples in super().get(batch_size):
            yield samples
            self._progress.advance(len(samples.advantages))
