"""How an agent picks its actions from what its search found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ludarium.base.messages import quoted
from ludarium.training.search.result import SearchResult

#: Takes the result of a search of N positions, returns int64 [N], the actions to play.
Choice = Callable[[SearchResult, np.random.Generator], np.ndarray]


def greedy(result: SearchResult, rng: np.random.Generator) -> np.ndarray:
    """The best actions that the search found."""
    return result.actions


@dataclass(frozen=True)
class SampleAction:
    """Draws actions from the search policies, by Gumbel-max.

    Attributes:
        temperature: above 0; an action's probability is its share to the power 1/temperature.

    Raises:
        ValueError: ``temperature`` is out of range.
    """

    temperature: float

    def __post_init__(self) -> None:
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature is a number above 0, not {quoted(self.temperature)}")

    def __call__(self, result: SearchResult, rng: np.random.Generator) -> np.ndarray:
        """The actions."""
        with np.errstate(divide="ignore", over="ignore"):
            logits = np.log(result.policies)
            scaled = (logits - logits.max(axis=1, keepdims=True)) / self.temperature
        return (scaled + rng.gumbel(size=logits.shape)).argmax(axis=1)
