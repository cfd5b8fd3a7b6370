"""How networks see the games of a batch: canonical frame, optionally random symmetries."""

from __future__ import annotations

import numpy as np

from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.codec import Codec, Encoded
from ludarium.envs.engine.game import Game


class ObservationEncoder:
    """Encodes the games of a batch for networks, optionally each position in a random symmetry.

    A symmetry relabels a game without changing it, so the network learns to play alike in all of
    them. The probabilities in the rollout are those of the observation that the network saw.

    Args:
        game: the rules.
        symmetries: draw a random symmetry for each position; else show positions as they are.
        random: generator for drawing them.
    """

    def __init__(self, game: Game, symmetries: bool, random: np.random.Generator) -> None:
        self.codec = Codec(game)
        self.random = random
        self.symmetries = symmetries

    def __call__(self, batch: BatchEnv, games: np.ndarray) -> Encoded:
        """Encode games int64[K] of ``batch``, into new arrays."""
        drawn = self.codec.draw_symmetries(len(games), self.random) if self.symmetries else None
        return self.codec.encode(batch.states[games], drawn)
