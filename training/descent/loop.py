"""The training loop of Descent; `ReplayTrainer` learns, `Trainer` adds evaluation and saving.

Games are played by Descent, each position of their trees is learnt with its minimax value, and the
next games are played with what was learnt (Cohen-Solal, "Learning to Play Two-Player
Perfect-Information Games without Knowledge", 2020). Learner, replay and bootstrap are AlphaZero's
(`ReplayTrainer`); the policy alone is not learnt.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ludarium.configs import DescentConfig
from ludarium.models import InferenceEngine
from ludarium.models.header import MINIMAX_SEARCH
from ludarium.models.inference import torch_threads
from ludarium.models.network import ScoreAsPolicy
from ludarium.training.alphazero.bootstrap import bootstrap_samples
from ludarium.training.alphazero.learner import Losses
from ludarium.training.alphazero.samples import Batch
from ludarium.training.alphazero.trainer import LEARNING_COLUMNS, ReplayTrainer
from ludarium.training.runs.reporting import PROGRESS_COLUMNS, Column
from ludarium.training.runs.state import State

from .samples import BatchMaker, of_playouts, sample_dtype
from .self_play import DescentResult, SelfPlay
from .settings import MinimaxSettings

#: Columns of the table.
COLUMNS = (
    *PROGRESS_COLUMNS,
    Column("expand", 6, lambda m: f"{m['expansions_per_move']}", 1),
    Column("games/s", 7, lambda m: f"{m['games_per_second']:.1f}"),
    Column("trees/s", 9, lambda m: f"{m['expansions_per_second']:,.0f}"),
    Column("evals/s", 9, lambda m: f"{m['evaluations_per_second']:,.0f}"),
    Column("solved", 6, lambda m: f"{100 * m['resolved']:.0f} %", 2),
    *LEARNING_COLUMNS,
)


class DescentTrainer(ReplayTrainer):
    """A run of Descent; see `ReplayTrainer`."""

    columns = COLUMNS
    search = MINIMAX_SEARCH
    config: DescentConfig

    def build(self, saved: State | None) -> None:
        """Make the network, the learner, the replay buffer, and the games with their engine."""
        self.batch_maker = BatchMaker(self.game)
        super().build(saved)

    def build_players(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> None:
        """Make the games with their engine."""
        self._bootstrap_seed = bootstrap_seed
        self.self_play = SelfPlay(self.game, self.config.self_play, self.workers, seed)
        with torch_threads(self.self_play.torch_threads_each):
            self.engine = InferenceEngine(
                ScoreAsPolicy(self.player),
                self.game.observation_shape,
                self.self_play.batch,
                self.config.backend,
                self.device,
                self.examples()[0],
            )

    @property
    def backend(self) -> str:
        """That of the inference engine."""
        return self.engine.backend

    @property
    def resources(self) -> str:
        """Device, number of threads and backend."""
        return f"{self.device}, {self.self_play.threads} workers, network {self.backend}"

    @property
    def dtype(self) -> np.dtype:
        """That of the samples."""
        return sample_dtype(self.game)

    def batches(self, records: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """The one batch of samples [N]."""
        return [self.batch_maker(records, rng)]

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
        settings = self.settings()
        started = time.perf_counter()
        result = self._bootstrap() if self.in_bootstrap else self._play(settings)
        played = time.perf_counter()
        losses = self.learn(result.samples)
        learnt = time.perf_counter()
        return self._metrics(result, settings, losses, played - started, learnt - played)

    def update_players(self) -> dict[str, Any]:
        """Load the EMA network into the inference engine."""
        self.engine.update(ScoreAsPolicy(self.player), self.examples()[0])
        return {"backend": self.backend}

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

    def _play(self, settings: MinimaxSettings) -> DescentResult:
        """One iteration of self-play with the EMA network."""
        self.reporter.begin("self-play", self.config.self_play.positions)
        return self.self_play.play(settings, self.engine, self.reporter.advance)

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

    def playing(self) -> dict[str, np.ndarray]:
        """The games and searches in progress."""
        return self.self_play.state()

    def restore_playing(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over games and searches, and load the EMA network into the inference engine."""
        self.self_play.restore(arrays)
        self.update_players()
