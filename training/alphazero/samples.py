"""Training samples: the stored data of each position, and batches for the learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS

from .exact import ALL_EQUAL, CHOICE, UNSOLVED


def sample_dtype(game: Game, solved: bool = False) -> np.dtype:
    """Dtype of one sample: position, policy target, and the result of its game.

    ``score`` is in player 0's view. With ``solved`` there is also a field of that name, which tells
    whether the targets are exact, see `exact`.
    """
    fields: list[tuple] = [
        ("state", game.state_dtype),
        ("policy", np.float16, (game.num_actions,)),
        ("outcome", np.int8),
        ("score", np.int32),
    ]
    if solved:
        fields.append(("solved", np.int8))
    return np.dtype(fields)


def join_samples(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate samples of one dtype; plain np.concatenate would drop the fields' padding."""
    return np.concatenate(parts, dtype=parts[0].dtype)


def write_results(samples: np.ndarray, game: Game, ends: np.ndarray, rows: np.ndarray) -> None:
    """Write the targets that follow from the ends of the samples' games.

    Args:
        samples: structured [N] of `sample_dtype`, changed in place.
        game: the rules.
        ends: structured [G], the last positions of games.
        rows: int64 [N], which of ``ends`` is the end of each sample's game.
    """
    scores = [game.kernels.score(game.tables, ends[row : row + 1]) for row in range(len(ends))]
    samples["outcome"] = ends["outcome"][rows]
    samples["score"] = np.array(scores, np.int32)[rows]


class Batch(NamedTuple):
    """Inputs and targets of B positions, from the side of each position's player to move.

    Attributes:
        observations: float32 [B, *observation_shape].
        policies: float32 [B, A], over the actions in the network's numbers; where
            ``optimal_mask``, they are above 0 for the actions that keep the exact value.
        outcomes: float32 [B, 3], 1 for the outcome among win, draw and loss, else 0.
        scores: float32 [B], final score as a share of the largest possible.
        optimal_mask: bool [B], true where the policy target marks all actions that keep the value
            instead of a distribution.
        weights: float32 [B], weights of outcomes and scores, in proportion to how many positions
            of self-play each position represents; their mean is 1.
    """

    observations: np.ndarray
    policies: np.ndarray
    outcomes: np.ndarray
    scores: np.ndarray
    optimal_mask: np.ndarray
    weights: np.ndarray

    @property
    def size(self) -> int:
        """The number of positions, B."""
        return len(self.scores)

    def split(self, count: int) -> list[Batch]:
        """Split the batch into ``count`` parts, whose sizes differ by at most one."""
        arrays = zip(*(np.array_split(array, count) for array in self), strict=True)
        return [Batch(*part) for part in arrays]


class BatchMaker:
    """Makes batches of samples, with each sample in a random symmetry of the game.

    Args:
        game: the rules.
        keep_trivial: share that was kept of the positions with `ALL_EQUAL`; each weighs 1 / this.
    """

    def __init__(self, game: Game, keep_trivial: float = 1.0) -> None:
        self.game = game
        self.keep_trivial = keep_trivial
        self.codec = Codec(game)

    def __call__(self, samples: np.ndarray, rng: np.random.Generator) -> Batch:
        """The batch made of a structured array [B] of `sample_dtype`."""
        states = np.ascontiguousarray(samples["state"])
        chosen = self.codec.draw_symmetries(len(samples), rng)
        encoded = self.codec.encode(states, chosen)
        policies = encoded.encode_policies(samples["policy"].astype(np.float32))
        view = 1 - 2 * states["mover"].astype(np.float32)
        return Batch(
            observations=encoded.observations,
            policies=policies / policies.sum(axis=1, keepdims=True),
            outcomes=self._outcomes(samples, view),
            scores=self._scores(samples, view),
            optimal_mask=_solved(samples) == CHOICE,
            weights=self._weights(_solved(samples)),
        )

    def _weights(self, solved: np.ndarray) -> np.ndarray:
        """The weight of each position, by its field ``solved``."""
        weights = np.where(solved == ALL_EQUAL, 1 / self.keep_trivial, 1)
        return (weights * (len(weights) / max(1.0, weights.sum()))).astype(np.float32)

    def _scores(self, samples: np.ndarray, view: np.ndarray) -> np.ndarray:
        """Final scores; zeros in games whose score is only an estimate of who is ahead."""
        if not self.game.max_score:
            return np.zeros(len(samples), np.float32)
        return (view * samples["score"] / self.game.max_score).astype(np.float32)

    def _outcomes(self, samples: np.ndarray, view: np.ndarray) -> np.ndarray:
        """Outcomes for the player to move: the games' results, or exact values, see `exact`."""
        result = (samples["outcome"] == PLAYER_0_WINS).astype(np.float32)
        result -= samples["outcome"] == PLAYER_1_WINS
        result *= view
        return np.stack([result > 0, result == 0, result < 0], axis=1).astype(np.float32)


def _solved(samples: np.ndarray) -> np.ndarray:
    """The field ``solved``, int8 [B], see `exact`; `UNSOLVED` for samples without it."""
    if "solved" not in (samples.dtype.names or ()):
        return np.full(len(samples), UNSOLVED, np.int8)
    return samples["solved"]
