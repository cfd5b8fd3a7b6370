"""How networks see the games of a batch: canonically, in symmetries drawn anew if so wanted."""

from __future__ import annotations

import numpy as np

from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.codec import Codec, Encoded
from ludarium.envs.engine.game import Game


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
        self.codec = Codec(game)
        self.random = random
        self.symmetries = symmetries

    def __call__(self, batch: BatchEnv, games: np.ndarray) -> Encoded:
        """Show games int64[K] of ``batch``; the arrays are the caller's own."""
        drawn = self.codec.draw_symmetries(len(games), self.random) if self.symmetries else None
        return self.codec.encode(batch.states[games], drawn)
