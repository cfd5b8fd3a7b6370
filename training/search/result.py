"""`Search`, what thinks about a position; `SearchResult`, what it finds; `Budget`, its limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_whole
from ludarium.base.progress import SILENT, Progress


@dataclass(frozen=True)
class Budget:
    """Limits of one call of a search, which ends at the first that is reached.

    Attributes:
        simulations: simulations or playouts in all, including those of earlier calls. With 0 a
            network's agent plays by the policy alone, without search.
        seconds: seconds from the call on.

    Raises:
        ValueError: ``simulations`` is not a whole number from 0 on, or ``seconds`` is not a finite
            number from 0 on.
    """

    simulations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.simulations is not None:
            checked_whole("simulations of a budget", self.simulations, 0)
        seconds = self.seconds
        if seconds is not None and not (
            isinstance(seconds, Real) and not isinstance(seconds, bool) and 0 <= seconds < math.inf
        ):
            raise ValueError(
                f"seconds of a budget is {quoted(seconds)}; accepted: a finite number from 0 on"
            )


@dataclass(frozen=True)
class SearchResult:
    """The result of a search of n positions with A actions, for the players to move.

    Unknown numbers are NaN, or 0 if they are counts; unknown flags are False. In finished games
    the action is -1; a search may know their values.

    Attributes:
        actions: int64 [n], the action to play; -1 where the game is over.
        policies: float32 [n, A], the search policy, a distribution over actions: the target that a
            network learns.
        values: float32 [n], values of the positions, in [-1, 1].
        draws: float32 [n], probabilities of a draw.
        proven: bool [n], whether the outcome is proven.
        priors: float32 [n, A], the network's policy.
        visits: int32 [n, A], simulations that went through each action.
        action_values: float32 [n, A], value of each action for the mover.
        action_draws: float32 [n, A], probability of a draw after each action.
        proven_actions: bool [n, A], whether the outcome of each action is proven.
        simulations, evaluations: numbers of simulations, and of positions that a network evaluated.
    """

    actions: np.ndarray
    policies: np.ndarray
    values: np.ndarray
    draws: np.ndarray
    proven: np.ndarray
    priors: np.ndarray
    visits: np.ndarray
    action_values: np.ndarray
    action_draws: np.ndarray
    proven_actions: np.ndarray
    simulations: int = 0
    evaluations: int = 0

    @classmethod
    def of(
        cls,
        actions: np.ndarray,
        policies: np.ndarray,
        simulations: int = 0,
        evaluations: int = 0,
        **known: np.ndarray,
    ) -> SearchResult:
        """A result with actions, policies and the ``known`` fields; the others are unknown."""
        count, shape = len(actions), policies.shape
        unknown = {
            "values": np.full(count, np.nan, np.float32),
            "draws": np.full(count, np.nan, np.float32),
            "proven": np.zeros(count, bool),
            "priors": np.full(shape, np.nan, np.float32),
            "visits": np.zeros(shape, np.int32),
            "action_values": np.full(shape, np.nan, np.float32),
            "action_draws": np.full(shape, np.nan, np.float32),
            "proven_actions": np.zeros(shape, bool),
        }
        arrays = unknown | known
        return cls(actions, policies, **arrays, simulations=simulations, evaluations=evaluations)

    @classmethod
    def joined(cls, results: Sequence[SearchResult]) -> SearchResult:
        """One result of several, at least one, in their order; counts are added up."""
        joined: list[Any] = [
            np.concatenate(each) if isinstance(each[0], np.ndarray) else sum(each)
            for each in zip(*(vars(result).values() for result in results), strict=True)
        ]
        return cls(*joined)

    def in_order(self, places: np.ndarray) -> SearchResult:
        """The same with row i at ``places[i]``, a permutation of the positions, int64 [n]."""
        rows = np.argsort(places)
        arrays = {
            name: array[rows] for name, array in vars(self).items() if isinstance(array, np.ndarray)
        }
        return SearchResult(**arrays, simulations=self.simulations, evaluations=self.evaluations)


class Search(Protocol):
    """Thinks about one position, and then about positions that are reached from it."""

    @property
    def simulations(self) -> int | None:
        """Simulations that `result` is made of; ``None`` for a search that counts nothing."""

    def think(self, budget: Budget, progress: Progress = SILENT) -> None:
        """Continue until the budget is spent, or there is nothing more to find.

        Args:
            budget: limits of this call.
            progress: advanced by 0 now and then, by the calling thread; it may call `result`,
                `lines` and `note`. Once it is stopped, thinking ends soon.
        """

    def result(self) -> SearchResult:
        """The result so far, n = 1; may be called while another thread is in `think`."""

    def lines(self) -> list[tuple[int, ...]]:
        """Each legal action, the best first, followed by the best play found after it."""

    def note(self, action: int | None = None) -> str:
        """Further knowledge of an action, or of the position, in words: ``win in 5``."""
        return ""

    def play(self, action: int) -> None:
        """Go to the position after a legal action, which must not end the game."""
