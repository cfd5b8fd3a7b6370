"""The training loop of Descent; `Trainer` adds evaluation and saving.

Games are played by Descent, each position of their trees is learnt with its minimax value, and the
next games are played with what was learnt (Cohen-Solal, "Learning to Play Two-Player
Perfect-Information Games without Knowledge", 2020). Learner, replay and bootstrap are AlphaZero's;
the policy alone is not learnt.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from ludarium.configs import DescentConfig
from ludarium.models import InferenceEngine, PolicyValueNetwork
from ludarium.models.header import MINIMAX_SEARCH
from ludarium.models.inference import torch_threads
from ludarium.models.network import ScoreAsPolicy
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.learner import Learner, Losses
from ludarium.training.alphazero.replay import Replay
from ludarium.training.alphazero.self_play import choose_threads
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

from .samples import BatchMaker, of_playouts, sample_dtype
from .self_play import DescentResult, SelfPlay
from .settings import MinimaxSettings

#: Observations that calibrate the activation ranges of the int8 backend.
_EXAMPLES = 512

#: Columns of the table; ``result`` (win, draw, loss) and ``score`` are losses.
COLUMNS = (
    Column("run", 5, lambda m: f"{100 * m['progress']:.0f} %"),
    Column("min", 6, lambda m: f"{m['seconds'] / 60:.1f}"),
    Column("iter", 5, lambda m: f"{m['iteration']}", 3),
    Column("expand", 6, lambda m: f"{m['expansions_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}"),
    Column("trees/s", 9, lambda m: f"{m['expansions_per_second']:,.0f}"),
    Column("evals/s", 9, lambda m: f"{m['evaluations_per_second']:,.0f}"),
    Column("solved", 6, lambda m: f"{100 * m['resolved']:.0f} %", 2),
    Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
    Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
    Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
)


class DescentTrainer(Trainer):
    """A run of Descent; see `Trainer`."""

    columns = COLUMNS
    search = MINIMAX_SEARCH
    config: DescentConfig

    def build(self, saved: State | None) -> None:
        """Make the network, the learner, the replay buffer, and the games with their engine."""
        config = self.config
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = fresh_network(self.game, config.network)
        self.rng = np.random.default_rng(seeds[1])
        self._bootstrap_seed = seeds[2]
        if saved is None:
            self.workers = choose_threads(config.self_play, self.device)
        else:
            self.workers = saved.description["workers"]
        self.replay = Replay(sample_dtype(self.game), max(config.replay.first, config.replay.last))
        self.learner = Learner(
            self.network, config.learner, self.game.max_score > 0, self.device, self.workers
        )
        self.batch_maker = BatchMaker(self.game)
        self.self_play = SelfPlay(self.game, config.self_play, self.workers, seeds[3])
        with torch_threads(self.self_play.torch_threads_each):
            self.engine = InferenceEngine(
                ScoreAsPolicy(self.player),
                self.game.observation_shape,
                self.self_play.batch,
                config.backend,
                self.device,
                self._examples(),
            )

    @property
    def player(self) -> PolicyValueNetwork:
        """The EMA network."""
        return self.learner.ema_network

    @property
    def step(self) -> int:
        """Gradient steps done."""
        return self.learner.step

    @property
    def resources(self) -> str:
        """Device, number of threads and backend."""
        return f"{self.device}, {self.self_play.threads} workers, network {self.engine.backend}"

    @property
    def match_backend(self) -> str:
        """Backend for evaluation matches: that of self-play, but float32 in place of int8."""
        return "onnx" if self.engine.backend == "onnx-int8" else self.engine.backend

    def settings(self) -> MinimaxSettings:
        """Settings of the search in self-play, at the present progress of the run."""
        play, progress = self.config.self_play, self.progress
        first, final = play.exploitation, play.final_exploitation
        return MinimaxSettings(
            expansions=play.expansions_at(progress),
            to_end=True,
            score_weight=play.score_weight if self.game.max_score else 0.0,
            exploitation=first + progress * (final - first),
        )

    def play_and_learn(self) -> dict[str, Any]:
        """Self-play (bootstrap games in the first iteration), then gradient steps."""
        config, progress, settings = self.config, self.progress, self.settings()
        started = time.perf_counter()
        if self.iteration == 0 and config.bootstrap.positions:
            result, replay_ratio = self._bootstrap(), config.bootstrap.replay_ratio
        else:
            self.reporter.begin("self-play", config.self_play.positions)
            result = self.self_play.play(settings, self.engine, self.reporter.advance)
            replay_ratio = config.learner.replay_ratio
        played = time.perf_counter()
        losses = self._learn(result.samples, replay_ratio, progress)
        learnt = time.perf_counter()
        return self._metrics(result, settings, losses, played - started, learnt - played)

    def update_players(self) -> dict[str, Any]:
        """Load the EMA network into the inference engine."""
        self.engine.update(ScoreAsPolicy(self.player), self._examples())
        return {"backend": self.engine.backend}

    def _bootstrap(self) -> DescentResult:
        """Positions of games of UCT with random playouts."""
        config = self.config
        self.reporter.begin("bootstrap", config.bootstrap.positions)
        samples = bootstrap_samples(
            self.game,
            config.bootstrap,
            config.self_play.opening_plies,
            self._bootstrap_seed,
            progress=self.reporter.advance,
        )
        return DescentResult(of_playouts(samples, self.game))

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
            self.learner.learn([self.batch_maker(drawn, self.rng)], progress, losses)
            self.reporter.advance(1)
        return losses

    def _examples(self) -> np.ndarray:
        """Example observations for the engine; the same for the same iteration of a run."""
        if not len(self.replay):
            return random_observations(self.game, _EXAMPLES, self.config.seed)
        rng = np.random.default_rng([self.config.seed, self.iteration])
        return self.batch_maker(self.replay.draw(_EXAMPLES, rng), rng).observations

    def _metrics(
        self,
        result: DescentResult,
        settings: MinimaxSettings,
        losses: Losses,
        play_seconds: float,
        learn_seconds: float,
    ) -> dict[str, Any]:
        """Metrics of an iteration, for the log."""
        return {
            "step": self.learner.step,
            "expansions_per_move": settings.expansions,
            "exploitation": settings.exploitation,
            "learning_rate": self.learner.learning_rate(self.progress),
            "replay": len(self.replay),
            "games_per_second": result.games / play_seconds,
            "positions_per_second": len(result.samples) / play_seconds,
            "expansions_per_second": result.expansions / play_seconds,
            "evaluations_per_second": result.evaluations / play_seconds,
            "cache_hits": result.hits / max(1, result.hits + result.evaluations),
            "mean_plies": result.plies / max(1, result.games),
            "resolved": float(result.samples["resolved"].mean()),
            "play_seconds": play_seconds,
            "learn_seconds": learn_seconds,
            "outcome_loss": losses.outcome,
            "score_loss": losses.score,
        }

    def state(self) -> State:
        """Networks, optimizer, replay, and the games and searches in progress."""
        learner = self.learner
        groups = {
            "network": learner.network.state_dict(),
            "ema": learner.ema_network.state_dict(),
            "optimizer": optimizer_tensors(learner.optimizer),
        }
        description = {
            "step": learner.step,
            "rng": self.rng.bit_generator.state,
            "workers": self.workers,
        }
        return State(
            description,
            flatten(groups),
            self.self_play.state(),
            self._chunk,
            list(self.replay.chunks),
        )

    def restore(self, state: State) -> None:
        """Load a state that `state` returned."""
        description, tensors, learner = state.description, state.tensors, self.learner
        learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        learner.network.load_state_dict(unflatten(tensors, "network"))
        learner.ema_network.load_state_dict(unflatten(tensors, "ema"))
        restore_optimizer(learner.optimizer, unflatten(tensors, "optimizer"))
        self.replay.restore(state.replay, self.folder.chunk)
        self.self_play.restore(state.arrays)
        self.engine.update(ScoreAsPolicy(self.player), self._examples())

    def close(self) -> None:
        """Stop the learner."""
        super().close()
        self.learner.close()
