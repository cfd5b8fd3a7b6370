"""How networks see the games of a batch: actions by the numbers that they see, symmetries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game import Game


class Seen(NamedTuple):
    """What networks see of K games, from the sides of their players to move.

    Attributes:
        observations: float32 [K, *observation_shape].
        masks: bool [K, A], legal actions by the numbers that the network sees.
        numbers: int32 [K, A], the game's number for each of the network's.
    """

    observations: np.ndarray
    masks: np.ndarray
    numbers: np.ndarray

    def actions(self, chosen: np.ndarray) -> np.ndarray:
        """The game's numbers int64 [K] of the network's actions [K]."""
        return np.take_along_axis(self.numbers, chosen[:, None], axis=1)[:, 0].astype(np.int64)


class View:
    """Shows games to networks, each position in a symmetry drawn anew if so wanted.

    A relabelled game is the same game: what is learnt in one symmetry is so asked for in all
    of them, and the probabilities that the learner notes are those of what it saw.

    Args:
        game: the rules.
        symmetries: whether to draw symmetries, or show every position as it is.
        random: where they are drawn from.
    """

    def __init__(self, game: Game, symmetries: bool, random: np.random.Generator) -> None:
        self.game = game
        self.random = random
        self.symmetries = game.symmetries() if symmetries else None

    def __call__(self, batch: BatchEnv, games: np.ndarray) -> Seen:
        """Show games int64[K] of ``batch``; the arrays are the caller's own."""
        game, count = self.game, len(games)
        states = batch.states[games]
        seen = np.empty((count, game.num_actions), np.int32)
        game.kernels.seen_actions_of_movers(game.tables, states, seen)
        numbers = np.empty_like(seen)
        every = np.broadcast_to(np.arange(game.num_actions, dtype=np.int32), seen.shape)
        np.put_along_axis(numbers, seen, every, axis=1)
        observations = batch.observations
        if self.symmetries is None:
            observations = observations[games]
        else:
            drawn = self.random.integers(len(self.symmetries), size=count)
            table = self.symmetries.observation[drawn]
            flat = observations.reshape(batch.num_envs, -1)
            observations = flat[games[:, None], table].reshape(count, *game.observation_shape)
            numbers = np.take_along_axis(numbers, self.symmetries.actions_of(states, drawn), axis=1)
        masks = batch.masks[games[:, None], numbers].astype(np.bool_)
        return Seen(observations, masks, numbers)
