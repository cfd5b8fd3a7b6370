"""The turn of the board under which a network sees one of the two players.

Everybody else speaks the board's own frame: environments, searches, samples, agents, files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .evaluation import Evaluation, Evaluator


@dataclass(frozen=True)
class Turn:
    """How the network of a game sees observations, and numbers actions, for one of the players.

    Attributes:
        upright: number of the plane, or of the feature, that is 0 (all of it) where the network
            sees the board turned, and 1 elsewhere.
        cells: where each cell, or feature, goes; undoes itself.
        actions: which action becomes which; undoes itself.
    """

    upright: int
    cells: Sequence[int]
    actions: Sequence[int]

    def turned(self, observations: np.ndarray) -> np.ndarray:
        """Which of float32 [n, *observation_shape] are seen turned, ascending numbers."""
        return np.flatnonzero(
            observations[:, self.upright].reshape(len(observations), -1)[:, 0] < 0.5
        )

    def apply(self, observations: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """A copy of the observations in which those of the numbers ``turned`` are."""
        count = len(observations)
        is_board = observations.ndim == 4
        planes = observations.reshape(count, observations.shape[1] if is_board else 1, -1)
        seen = planes.copy()
        seen[turned] = np.take(planes[turned], self.cells, axis=2)
        return seen.reshape(observations.shape)

    def undo(self, evaluation: Evaluation, turned: np.ndarray) -> Evaluation:
        """The evaluation with the board's numbers of actions."""
        logits = evaluation.logits.copy()
        logits[turned] = np.take(logits[turned], self.actions, axis=1)
        return evaluation._replace(logits=logits)


def in_board_frame(evaluate: Evaluator, turn: Turn | None) -> Evaluator:
    """An evaluator of the board's frame, made of one that sees the board turned."""
    if turn is None:
        return evaluate

    def evaluate_turned(observations: np.ndarray) -> Evaluation:
        turned = turn.turned(observations)
        return turn.undo(evaluate(turn.apply(observations, turned)), turned)

    return evaluate_turned
