"""The environment of the PPO learner: its side of many games, in the network's view."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludarium.envs.engine.codec import Encoded
from ludarium.envs.engine.game import Game
from ludarium.envs.sb3 import BoardGameVecEnv
from ludarium.training.runs.state import flatten, unflatten

from .encoder import ObservationEncoder
from .opponents import Pool


class LearnerVecEnv(BoardGameVecEnv):
    """A `BoardGameVecEnv` with the action numbers and symmetries of an `ObservationEncoder`.

    A game that reaches its ply cap ends as a draw, without bootstrapping from the critic. The
    learner alternates between player 0 and player 1 from game to game.

    Args:
        game: the rules.
        pool: the opponents.
        encoder: how networks see the games.
        opening_plies: each game starts with a random number of random plies, from 0 to this.
        random: generator for seats, starts and openings.

    Attributes:
        seen: the current observations and masks of all games, as the learner's network sees them.
    """

    def __init__(
        self,
        game: Game,
        pool: Pool,
        encoder: ObservationEncoder,
        opening_plies: int,
        random: np.random.Generator,
    ) -> None:
        num_envs = len(pool.playing)
        super().__init__(
            game,
            num_envs,
            opponent=pool,
            seat="alternate",
            illegal="raise",
            opening_plies=opening_plies,
        )
        self._encoder = encoder
        self._pool = pool
        self._every = np.arange(num_envs)
        self.side.reset(random)
        self.seen = encoder(self.side.batch, self._every)

    def reset(self) -> np.ndarray:
        """Return the current observations; games in progress continue."""
        return self.seen.observations

    def step_async(self, actions: np.ndarray) -> None:
        """Take the learner's actions, in its network's numbers."""
        super().step_async(self.seen.decode(actions))

    def action_masks(self) -> np.ndarray:
        """bool[N, A], legal actions in the numbers of the learner's network."""
        return self.seen.masks

    def _observe(self) -> np.ndarray:
        self.seen = self._encoder(self.side.batch, self._every)
        return self.seen.observations

    def _infos(self) -> list[dict[str, Any]]:
        return [{} for _ in range(self.num_envs)]

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly here, except random numbers."""
        parts = {"batch": self.side.batch.snapshot(), "seen": vars(self.seen)}
        return flatten(parts) | {"seats": self.side.seats, "playing": self._pool.playing}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Load what `state` returned.

        Raises:
            ValueError: it belongs to another game or another number of games.
        """
        self.side.resume(unflatten(arrays, "batch"), arrays["seats"])
        self.seen = Encoded(**unflatten(arrays, "seen"))
        self._pool.playing[:] = arrays["playing"]
