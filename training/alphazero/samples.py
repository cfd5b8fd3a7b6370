"""Training samples: the fields of each position, and batches for the learner.

`FIELDS` declares what is known of a position, once: the samples of self-play and of the bootstrap,
the replay, its files and the learner's batches follow from it, and the loss takes its targets by
name. What a search knows is declared once more, in the `Log` of self-play's kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.codec import Codec, Encoded
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS

from .exact import ALL_EQUAL, UNSOLVED


@dataclass(frozen=True)
class Field:
    """A field of a sample. Functions get structured arrays [N] of samples.

    Attributes:
        name: its name, in samples and among the targets of a `Batch`.
        dtype: function of a game that returns its dtype, and its shape if it is an array.
        default: its value where nothing writes it, and in the replay of a run that began without
            it; a run of several sets of options keeps samples as bytes, and cannot be resumed with
            other fields.
        at_end: for a field that follows from the end of a sample's game: its values [N], from the
            game, the samples, the last positions [G] of games, and which of them, int64 [N], is
            that of each sample.
        target: for a target of the loss: its array [B, ...] in a batch, from the game, the samples,
            and their positions as the network sees them, from the side of the player to move.
    """

    name: str
    dtype: Callable[[Game], Any]
    default: int = 0
    at_end: Callable[[Game, np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None
    target: Callable[[Game, np.ndarray, Encoded], np.ndarray] | None = None


def _policies(_: Game, samples: np.ndarray, encoded: Encoded) -> np.ndarray:
    policies = encoded.encode_policies(samples["policy"].astype(np.float32))
    return policies / policies.sum(axis=1, keepdims=True)


def _outcomes(_: Game, samples: np.ndarray, __: Encoded) -> np.ndarray:
    result = (samples["outcome"] == PLAYER_0_WINS).astype(np.float32)
    result -= samples["outcome"] == PLAYER_1_WINS
    result *= _sides(samples)
    return np.stack([result > 0, result == 0, result < 0], axis=1).astype(np.float32)


def _scores(game: Game, samples: np.ndarray, _: Encoded) -> np.ndarray:
    if not game.max_score:  # the score is only an estimate of who is ahead
        return np.zeros(len(samples), np.float32)
    return (_sides(samples) * samples["score"] / game.max_score).astype(np.float32)


def _solved(_: Game, samples: np.ndarray, __: Encoded) -> np.ndarray:
    has_it = "solved" in (samples.dtype.names or ())
    return samples["solved"] if has_it else np.full(len(samples), UNSOLVED, np.int8)


def _sides(samples: np.ndarray) -> np.ndarray:
    """1 where player 0 is to move, else -1; float32 [N]."""
    return 1 - 2 * samples["state"]["mover"].astype(np.float32)


def _final_scores(game: Game, _: np.ndarray, ends: np.ndarray, rows: np.ndarray) -> np.ndarray:
    scores = [game.kernels.score(game.tables, ends[row : row + 1]) for row in range(len(ends))]
    return np.array(scores, np.int32)[rows]


#: The fields of a sample. In a batch
#:
#: - ``policy`` is float32 [B, A], over the actions in the network's numbers;
#: - ``outcome`` is float32 [B, 3], 1 for the outcome among win, draw and loss, else 0;
#: - ``score`` is float32 [B], the final score as a share of the largest possible; a sample has the
#:   score itself, in player 0's view;
#: - ``solved`` is int8 [B]: whether the targets are exact, see `exact`. With `CHOICE` the policy
#:   stands for a set, the actions for which it is above 0; all have the same share.
FIELDS = (
    Field("state", lambda game: game.state_dtype),
    Field("policy", lambda game: (np.float16, (game.num_actions,)), target=_policies),
    Field(
        "outcome",
        lambda _: np.int8,
        at_end=lambda _, __, ends, rows: ends["outcome"][rows],
        target=_outcomes,
    ),
    Field("score", lambda _: np.int32, at_end=_final_scores, target=_scores),
    Field("solved", lambda _: np.int8, UNSOLVED, target=_solved),
)


def sample_dtype(game: Game, solved: bool = False) -> np.dtype:
    """Dtype of one sample, with all `FIELDS`; ``solved`` is left out if no targets are exact."""
    fields = [(each.name, each.dtype(game)) for each in FIELDS if solved or each.name != "solved"]
    return np.dtype(fields)


def new_samples(dtype: np.dtype, known: Mapping[str, np.ndarray]) -> np.ndarray:
    """Samples [N] of a `sample_dtype` with these fields [N]; the others have their defaults."""
    samples = np.zeros(len(known["state"]), dtype)
    for field in FIELDS:
        if field.name in (dtype.names or ()):
            samples[field.name] = known.get(field.name, field.default)
    return samples


def with_fields(samples: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The samples of a replay in a dtype with further fields, which get their defaults.

    Raises:
        ValueError: they have fields that the dtype lacks or has with another dtype, or no
            ``state``.
    """
    if samples.dtype == dtype:
        return samples
    names: tuple[str, ...] = samples.dtype.names or ()
    own: Mapping[str, Any] = dtype.fields or {}
    odd = [name for name in names if name not in own or own[name][0] != samples.dtype[name]]
    if odd or "state" not in names:
        raise ValueError(
            f"the replay has positions of another kind ({', '.join(odd) or 'no fields'}): take the "
            "version of ludarium that played them, or begin anew with restart=True"
        )
    return new_samples(dtype, {name: samples[name] for name in names})


def join_samples(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate samples of one dtype; plain np.concatenate would drop the fields' padding."""
    return np.concatenate(parts, dtype=parts[0].dtype)


def write_results(samples: np.ndarray, game: Game, ends: np.ndarray, rows: np.ndarray) -> None:
    """Write the fields that follow from the ends of the samples' games.

    Args:
        samples: structured [N] of `sample_dtype`, changed in place.
        game: the rules.
        ends: structured [G], the last positions of games.
        rows: int64 [N], which of ``ends`` is the end of each sample's game.
    """
    for field in FIELDS:
        if field.at_end is not None:
            samples[field.name] = field.at_end(game, samples, ends, rows)


@dataclass(frozen=True)
class Batch:
    """Inputs and targets of B positions, from the side of each position's player to move.

    Attributes:
        observations: float32 [B, *observation_shape].
        targets: the array [B, ...] of each target among `FIELDS`, by its name.
        weights: float32 [B], weights of outcomes and scores, in proportion to how many positions
            of self-play each position represents; their mean is 1.
    """

    observations: np.ndarray
    targets: dict[str, np.ndarray]
    weights: np.ndarray

    @property
    def size(self) -> int:
        """The number of positions, B."""
        return len(self.observations)

    def __getitem__(self, rows: slice | np.ndarray) -> Batch:
        """Some of the positions."""
        targets = {name: target[rows] for name, target in self.targets.items()}
        return Batch(self.observations[rows], targets, self.weights[rows])

    def split(self, count: int) -> list[Batch]:
        """Split the batch into ``count`` parts, whose sizes differ by at most one."""
        return [self[rows] for rows in np.array_split(np.arange(self.size), count)]


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
        chosen = self.codec.draw_symmetries(len(samples), rng)
        encoded = self.codec.encode(np.ascontiguousarray(samples["state"]), chosen)
        targets = {
            field.name: field.target(self.game, samples, encoded)
            for field in FIELDS
            if field.target is not None
        }
        weights = np.where(targets["solved"] == ALL_EQUAL, 1 / self.keep_trivial, 1)
        weights = (weights * (len(weights) / max(1.0, weights.sum()))).astype(np.float32)
        return Batch(encoded.observations, targets, weights)
