"""`Evaluation`: a network's answer to positions, whatever the network is and runs in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable)

_ROUNDING = 1e-3  # values may leave their range, -1 to 1, by this much


class Evaluation(NamedTuple):
    """The answer to n observations, each from the side of its observing player.

    Attributes:
        logits: float32 [n, A], logits of all actions, legal or not.
        wdl: float32 [n, 3], probabilities of a win, a draw and a loss. The draw's is NaN if it is
            not known; win minus loss is the value all the same.
        score: float32 [n], expected final lead, divided by the largest possible; NaN where the
            network has none.
    """

    logits: np.ndarray
    wdl: np.ndarray
    score: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """float32 [n], probability of a win minus that of a loss."""
        return self.wdl[:, 0] - self.wdl[:, 2]

    @classmethod
    def of_values(cls, logits: np.ndarray, values: np.ndarray) -> Evaluation:
        """An evaluation of logits [n, A] and values [n] in [-1, 1], without draws and scores."""
        values = np.asarray(values, np.float32)
        unknown = np.full(values.shape, np.nan, np.float32)
        wdl = np.stack([(1 + values) / 2, unknown, (1 - values) / 2], axis=-1)
        return cls(np.asarray(logits, np.float32), wdl, unknown)

    @classmethod
    def empty(cls, count: int, num_actions: int) -> Evaluation:
        """Zeros, to be overwritten."""
        return cls(
            np.zeros((count, num_actions), np.float32),
            np.zeros((count, 3), np.float32),
            np.zeros(count, np.float32),
        )


#: A network in any form: takes float32 [n, *observation_shape], and returns an `Evaluation`. Both
#: are in one frame, see `is_canonical`.
Evaluator = Callable[[np.ndarray], Evaluation]


def in_canonical_frame(evaluate: Function) -> Function:
    """Mark a function as an evaluator in the canonical frame, see `is_canonical`; a decorator."""
    evaluate.canonical = True  # type: ignore[attr-defined]
    return evaluate


def is_canonical(evaluate: Evaluator) -> bool:
    """Whether an evaluator sees positions, and numbers actions, in the canonical frame.

    Networks of this package do. A function sees the board's own frame, as environments show it by
    default, unless it is marked by `in_canonical_frame`.
    """
    return bool(getattr(evaluate, "canonical", False))


def version_of(evaluate: Evaluator) -> int | None:
    """A number that changes whenever the weights of an evaluator change.

    Answers from before a change are void. It is None for an evaluator without such a number, whose
    weights must not change while a search may remember its answers.
    """
    version: int | None = getattr(evaluate, "version", None)
    return version


def checked(
    answer: Any, count: int, num_actions: int, evaluator: object, needs_score: bool = False
) -> Evaluation:
    """An evaluator's answer in the form that compiled searches take.

    Args:
        answer: the return value of the evaluator.
        count, num_actions: how many observations and actions.
        evaluator: the function or its name, for errors.
        needs_score: whether the scores are used.

    Raises:
        ValueError: the answer is not an `Evaluation` of these shapes, a logit is not finite, a
            value is not in [-1, 1], or a score is needed and NaN.
    """
    if not isinstance(answer, Evaluation):
        raise ValueError(
            f"the evaluator {_name_of(evaluator)} answered {type(answer).__name__}: return a "
            "ludarium.models.Evaluation(logits, wdl, score) or Evaluation.of_values(logits, values)"
        )
    shapes = ((count, num_actions), (count, 3), (count,))
    arrays = []
    for name, array, shape in zip(Evaluation._fields, answer, shapes, strict=True):
        if np.shape(array) != shape:
            raise ValueError(
                f"the evaluator {_name_of(evaluator)} answered {count} observations with {name} "
                f"of shape {np.shape(array)}; needed: {shape}"
            )
        arrays.append(np.require(array, np.float32, ["C", "W"]))
    evaluation = Evaluation(*arrays)
    if not np.isfinite(evaluation.logits).all():
        raise ValueError(
            f"the evaluator {_name_of(evaluator)} answered logits that are not finite numbers"
        )
    values = np.abs(evaluation.values)
    if not (values <= 1 + _ROUNDING).all():  # this is false for NaN too
        wrong = evaluation.values[~(values <= 1 + _ROUNDING)][0]
        raise ValueError(
            f"the evaluator {_name_of(evaluator)} answered the value {wrong} (win less loss); "
            "accepted: -1 to 1"
        )
    if needs_score and np.isnan(evaluation.score).any():
        raise ValueError(f"the evaluator {_name_of(evaluator)} has no score to play for")
    return evaluation


def _name_of(evaluator: object) -> str:
    if isinstance(evaluator, str):
        return evaluator
    return str(getattr(evaluator, "__name__", None) or type(evaluator).__name__)
