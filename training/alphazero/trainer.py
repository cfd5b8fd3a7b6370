"""`ReplayTrainer`: what AlphaZero and Descent share, which learn from a replay of their own games.

The network, its learner and the replay buffer are made, saved and restored here. The loops
themselves are in `loop`, and in `ludarium.training.descent.loop`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import torch

from ludarium.configs import AlphaZeroConfig
from ludarium.envs.engine.game import Game
from ludarium.models import PolicyValueNetwork
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

from .learner import Learner, Losses
from .replay import Replay
from .samples import Batch
from .self_play import choose_threads

#: Observations that calibrate the activation ranges of the int8 backend.
_EXAMPLES = 512

#: Last columns of the table; ``result`` (win, draw, loss) and ``score`` are losses.
LEARNING_COLUMNS = (
    Column("result", 6, lambda m: f"{m['outcome_loss']:.3f}"),
    Column("score", 6, lambda m: f"{m['score_loss']:.3f}", 2),
    Column("replay", 8, lambda m: f"{m['replay']:,}", 4),
)


class ReplayTrainer(Trainer):
    """A run that learns from the latest positions of its own games; see `Trainer`.

    A subclass implements `play_and_learn` and `update_players`, and

    - `dtype`, `batches`: what the replay has of a position, and what the learner gets of it;
    - `build_players`: make whoever plays;
    - `backend`: what runs the network in self-play;
    - `playing`, `restore_playing`: the games in progress;
    - `networks`: further networks that are saved.

    Attributes:
        rng: what batches are drawn from.
        workers: threads that play, and that learn on a CPU.
        replay: the latest positions.
        learner: of the network.
    """

    config: AlphaZeroConfig

    def build(self, saved: State | None) -> None:
        """Make the network, the learner, the replay buffer, and whoever plays."""
        config = self.config
        seeds = np.random.SeedSequence(config.seed).spawn(4)
        torch.manual_seed(int(seeds[0].generate_state(1)[0]))
        self.network = self.first_network(is_new=saved is None)
        self.rng = np.random.default_rng(seeds[1])
        if saved is None:
            self.workers = choose_threads(config.self_play, self.device)
        else:
            self.workers = saved.description["workers"]
        self.replay = Replay(self.dtype, max(config.replay.first, config.replay.last))
        self.learner = Learner(
            self.network,
            config.learner,
            self.game.max_score > 0,
            self.device,
            self.workers,
        )
        self.build_players(seeds[2], seeds[3])

    # What an algorithm implements.

    @property
    @abstractmethod
    def dtype(self) -> np.dtype:
        """Of the records in the replay."""

    @abstractmethod
    def batches(self, records: np.ndarray, rng: np.random.Generator) -> list[Batch]:
        """The batch of each of the `games` among records [N], in random symmetries."""

    @abstractmethod
    def build_players(
        self, bootstrap_seed: np.random.SeedSequence, seed: np.random.SeedSequence
    ) -> None:
        """Make whoever plays, with the seeds of the bootstrap and of self-play."""

    @property
    @abstractmethod
    def backend(self) -> str:
        """The backend that self-play runs the network in; see `InferenceEngine`."""

    @abstractmethod
    def playing(self) -> dict[str, np.ndarray]:
        """The games and searches in progress, for `restore_playing`."""

    @abstractmethod
    def restore_playing(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on with the games that `playing` gave, and with the restored network."""

    def networks(self) -> dict[str, torch.nn.Module]:
        """The networks whose weights are saved, by name."""
        return {"network": self.learner.network, "ema": self.learner.ema_network}

    # What they share.

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
        return "onnx" if self.backend == "onnx-int8" else self.backend

    @property
    def in_bootstrap(self) -> bool:
        """Whether this iteration, the first, has bootstrap games in place of self-play."""
        return self.iteration == 0 and self.config.bootstrap.positions > 0

    def learn(self, samples: np.ndarray) -> Losses:
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
            drawn = self.replay.draw(batch, self.rng)
            self.learner.learn(self.batches(drawn, self.rng), progress, losses)
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
            found = [batch.observations for batch in self.batches(drawn, rng)]
        return [
            some if len(some) else random_observations(game, _EXAMPLES, self.config.seed)
            for game, some in zip(self.games, found, strict=True)
        ]

    def state(self) -> State:
        """Networks, optimizer, replay, and the games and searches in progress."""
        learner = self.learner
        tensors = {name: network.state_dict() for name, network in self.networks().items()}
        tensors["optimizer"] = optimizer_tensors(learner.optimizer)
        description = {
            "step": learner.step,
            "rng": self.rng.bit_generator.state,
            "workers": self.workers,
        }
        return State(
            description, flatten(tensors), self.playing(), self._chunk, list(self.replay.chunks)
        )

    def restore(self, state: State) -> None:
        """Load a state that `state` returned."""
        description, learner = state.description, self.learner
        learner.step = description["step"]
        self.rng.bit_generator.state = description["rng"]
        for name, network in self.networks().items():
            network.load_state_dict(unflatten(state.tensors, name))
        restore_optimizer(learner.optimizer, unflatten(state.tensors, "optimizer"))
        self.replay.restore(state.replay, self.folder.chunk)
        self.restore_playing(state.arrays)

    def close(self) -> None:
        """Stop the learner."""
        super().close()
        self.learner.close()
