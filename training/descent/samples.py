"""Training samples: positions of minimax trees with their values, and batches for the learner."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.game import Game
from ludarium.training.alphazero.samples import Batch, outcomes_of, results_of


def sample_dtype(game: Game) -> np.dtype:
    """Dtype of one sample: position, minimax value and score in player 0's view, and resolved."""
    return np.dtype(
        [
            ("state", game.state_dtype),
            ("value", np.float32),
            ("score", np.float32),
            ("resolved", np.int8),
        ]
    )


def of_playouts(samples: np.ndarray, game: Game) -> np.ndarray:
    """Samples of the bootstrap (`alphazero.samples.sample_dtype`) as samples of Descent.

    The value is the mean of the search's and of the game's result, the score that of the game's
    end.
    """
    view = 1 - 2 * samples["state"]["mover"].astype(np.float32)
    own = np.zeros(len(samples), sample_dtype(game))
    own["state"] = samples["state"]
    own["value"] = (results_of(samples) + view * samples["search_value"]) / 2
    if game.max_score:
        own["score"] = samples["score"] / game.max_score
    return own


class BatchMaker:
    """Makes batches of samples, each in a random symmetry of the game.

    There is no policy to learn: the policy targets are 0, and so are their gradients.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.codec = Codec(game)

    def __call__(self, samples: np.ndarray, rng: np.random.Generator) -> Batch:
        """The batch of structured array [B] of `sample_dtype`."""
        count = len(samples)
        states = np.ascontiguousarray(samples["state"])
        encoded = self.codec.encode(states, self.codec.draw_symmetries(count, rng))
        view = 1 - 2 * states["mover"].astype(np.float32)
        return Batch(
            observations=encoded.observations,
            policies=np.zeros((count, self.game.num_actions), np.float32),
            outcomes=outcomes_of(view * samples["value"], samples["resolved"] == 1),
            scores=view * samples["score"],
            owners=np.zeros((count, 0), np.float32),
            ended=np.ones(count, np.float32),
            keeping=np.zeros(count, np.bool_),
            weights=np.ones(count, np.float32),
        )
