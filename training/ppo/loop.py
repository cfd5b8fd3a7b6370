"""The PPO loop: play, learn, evaluate, save, again.

Proximal policy optimisation (Schulman et al., "Proximal Policy Optimization Algorithms", 2017)
with illegal actions masked, by sb3-contrib; this module gives it games, opponents and a
network, and calls its ``learn`` once for each iteration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import (
    MaskableRolloutBuffer,
    MaskableRolloutBufferSamples,
)
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed

from ludarium.configs import PPOConfig
from ludarium.envs.batch import BatchEnv
from ludarium.models import PolicyValueNetwork
from ludarium.training.runs.reporting import PROGRESS_COLUMNS, Column, Reporter
from ludarium.training.runs.state import (
    State,
    flatten,
    optimizer_tensors,
    restore_optimizer,
    unflatten,
)
from ludarium.training.runs.trainer import Trainer

from .environment import LearnerVecEnv
from .opponents import Pool
from .policy import NetworkPolicy, measure_statistics
from .view import View

_STATISTICS_PLIES = 64  # of random play that the network's normalisation is measured on

#: ``score`` is the learner's against its opponents, in percent; ``entropy`` in nats.
COLUMNS = (
    *PROGRESS_COLUMNS,
    Column("steps", 10, lambda m: f"{m['step']:,}", 1),
    Column("steps/s", 7, lambda m: f"{m['steps_per_second']:,.0f}"),
    Column("self-play", 9, lambda m: f"{100 * m['self_play_score']:.0f} %"),
    Column("entropy", 7, lambda m: f"{m['entropy']:.2f}"),
    Column("value", 6, lambda m: f"{m['value_loss']:.3f}"),
    Column("kl", 6, lambda m: f"{m['approx_kl']:.4f}", 2),
    Column("pool", 4, lambda m: f"{m['pool']}", 4),
)


class PPOTrainer(Trainer):
    """A run of self-play PPO; see `Trainer`."""

    columns = COLUMNS
    config: PPOConfig

    def build(self, saved: State | None) -> None:
        """Make the network, the opponents, the games, and Stable-Baselines3's model."""
        config = self.config
        device = torch.device(self.device)
        seeds = np.random.SeedSequence(config.seed).spawn(2)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = self.first_network(is_new=saved is None)
        self.network.to(device).eval()
        if len(self.game.observation_shape) == 3:
            self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.rng = np.random.default_rng(seeds[1])
        view = View(self.game, config.rollout.symmetries, self.rng)
        self.pool = Pool(
            config.opponents, config.rollout.games, self.network, view, device, self.rng
        )
        if saved is None and config.start is None:
            self._measure_statistics()
        self.games = LearnerVecEnv(
            self.game, self.pool, view, config.rollout.opening_plies, self.rng
        )
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
            rollout_buffer_kwargs={"advance": self.reporter.advance},
            device=device,
        )
        self.model.set_logger(Logger(folder=None, output_formats=[]))

    @property
    def player(self) -> PolicyValueNetwork:
        """The network that learns."""
        return self.network

    @property
    def step(self) -> int:
        """Learner actions that it has learnt from."""
        return self.model.num_timesteps

    @property
    def resources(self) -> str:
        """Device and number of games."""
        return f"{self.device}, {self.config.rollout.games} games in parallel"

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        learner = self.config.learner
        return _between(learner.learning_rate, learner.final_learning_rate, self.progress)

    def play_and_learn(self) -> dict[str, Any]:
        """Games against the pool, then epochs of minibatches: one call of SB3's ``learn``."""
        learner, rollout = self.config.learner, self.config.rollout
        # Of Python, numpy and torch: SB3 draws minibatches, the networks their actions.
        set_random_seed(_iteration_seed(self.config.seed, self.iteration))
        self.pool.prepare()
        learning_rate = self.learning_rate
        self.model.ent_coef = _between(learner.entropy, learner.final_entropy, self.progress)
        callback = _Progress(self.reporter, rollout.games * rollout.steps, learner.epochs)
        started = time.perf_counter()
        self.model.learn(
            rollout.games * rollout.steps,
            callback=callback,
            log_interval=None,  # type: ignore[arg-type]
            reset_num_timesteps=False,
        )
        return self._metrics(time.perf_counter() - started, callback, learning_rate)

    def update_players(self) -> dict[str, Any]:
        """Add a copy of the network to the pool of past selves every so many iterations."""
        if self.iteration % self.config.opponents.every == 0:
            self.pool.add(self.iteration)
        return {"pool": len(self.pool.past)}

    def _metrics(self, seconds: float, callback: _Progress, learning_rate: float) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        logged = self.model.logger.name_to_value
        steps = self.config.rollout.games * self.config.rollout.steps
        pool = self.pool
        return {
            "step": self.model.num_timesteps,
            "steps_per_second": steps / seconds,
            "play_seconds": callback.play_seconds,
            "learn_seconds": seconds - callback.play_seconds,
            "games": pool.finished,
            "self_play_score": pool.points / max(1, pool.finished),
            "pool_score": float(np.mean([each.score for each in pool.past] or [0.5])),
            "learning_rate": learning_rate,
            "entropy": -float(logged["train/entropy_loss"]),
            "policy_loss": float(logged["train/policy_gradient_loss"]),
            "value_loss": float(logged["train/value_loss"]),
            "explained_variance": float(logged["train/explained_variance"]),
            "approx_kl": float(logged["train/approx_kl"]),
            "clip_fraction": float(logged["train/clip_fraction"]),
        }

    def _measure_statistics(self) -> None:
        """Set the network's batch-normalisation statistics from positions of random games."""
        games = BatchEnv(
            self.game, self.config.rollout.games, seed=self.config.seed, canonical=True
        )
        positions = []
        for _ in range(_STATISTICS_PLIES):
            positions.append(games.observations[:64].copy())
            games.step_random()
        measure_statistics(
            self.network, torch.from_numpy(np.concatenate(positions)).to(self.device)
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


class _Progress(BaseCallback):
    """Reports the progress within an iteration."""

    def __init__(self, reporter: Reporter, steps: int, epochs: int) -> None:
        super().__init__()
        self.reporter = reporter
        self.steps = steps
        self.epochs = epochs
        self.play_seconds = 0.0
        self._started = time.perf_counter()

    def _on_rollout_start(self) -> None:
        self.reporter.begin("self-play", self.steps)
        self._started = time.perf_counter()

    def _on_step(self) -> bool:
        self.reporter.advance(self.training_env.num_envs)
        return True

    def _on_rollout_end(self) -> None:
        self.play_seconds = time.perf_counter() - self._started
        self.reporter.begin("learning", self.steps * self.epochs)


class _ReportingBuffer(MaskableRolloutBuffer):
    """sb3-contrib's rollout buffer, which also reports the steps that are learnt from."""

    def __init__(self, *arguments: Any, advance: Callable[[int], None], **others: Any) -> None:
        super().__init__(*arguments, **others)
        self._advance = advance

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Minibatches in a random order."""
        for samples in super().get(batch_size):
            yield samples
            self._advance(len(samples.advantages))


def _between(first: float, final: float, progress: float) -> float:
    """Linear interpolation from ``first`` to ``final``."""
    return first + progress * (final - first)


def _iteration_seed(seed: int, iteration: int) -> int:
    """Seed of an iteration; the same whether or not the run was resumed before it."""
    return int(np.random.SeedSequence([seed, iteration]).generate_state(1)[0])
