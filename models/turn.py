"""The turn of the board with which a network sees the positions of one of the two players.

Everything else uses the board's own frame: searches, samples and files, and, unless they are asked
to be canonical, environments and agents.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .evaluation import Evaluation, Evaluator


@dataclass(frozen=True)
class Turn:
    """How a game's network sees observations and numbers actions for one of the players.

    Attributes:
        upright: number of the plane, or of the feature, that is 0 (all of it) where the network
            sees the board turned, and 1 elsewhere.
        cells: where each cell, or feature, goes; its own inverse.
        actions: which action becomes which; its own inverse.
    """

    upright: int
    cells: Sequence[int] | np.ndarray
    actions: Sequence[int] | np.ndarray

    def ask(self, evaluate: Evaluator, observations: np.ndarray) -> Evaluation:
        """Evaluate observations in the board's own frame by a network that has this turn."""
        rows = math.prod(observations.shape[1:]) // len(self.cells)
        planes = observations.reshape(len(observations), rows, len(self.cells))
        is_board = observations.ndim == 4
        entries = planes[:, self.upright, 0] if is_board else planes[:, 0, self.upright]
        turned = np.flatnonzero(entries < 0.5)
        seen = planes.copy()
        seen[turned] = np.take(planes[turned], self.cells, axis=2)
        answer = evaluate(seen.reshape(observations.shape))
        logits = answer.logits.copy()
        logits[turned] = np.take(logits[turned], self.actions, axis=1)
        return answer._replace(logits=logits)
