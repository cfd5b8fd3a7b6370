"""`Finding`, the result of every search, and `Budget`, which limits a search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_whole


@dataclass(frozen=True)
class Budget:
    """Limits of one call of a search, which ends at the first that is reached.

    Attributes:
        simulations: simulations or playouts in all, including those of earlier calls. 0 asks a
            network for its policy, without search.
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
class Finding:
    """The result of a search of n positions with A actions, for the players to move.

    Unknown numbers are NaN, or 0 if they are counts. In finished games the action is -1; a search
    may know their values.

    Attributes:
        actions: int64 [n], the action to play; -1 where the game is over.
        values: float32 [n], values of the positions, in [-1, 1].
        draws: float32 [n], probabilities of a draw.
        proven: bool [n], whether the outcome is proven.
        policies: float32 [n, A], how good each action is to play, as shares of 1: the target that a
            network learns.
        visits: int32 [n, A], simulations that went through each action.
        action_values: float32 [n, A], value of each action for the mover.
        action_draws: float32 [n, A], probability of a draw after each action.
        proven_actions: bool [n, A], whether the outcome of each action is proven.
        simulations, evaluations: numbers of simulations, and of positions that a network evaluated.
    """

    actions: np.ndarray
    values: np.ndarray
    draws: np.ndarray
    proven: np.ndarray
    policies: np.ndarray
    visits: np.ndarray
    action_values: np.ndarray
    action_draws: np.ndarray
    proven_actions: np.ndarray
    simulations: int = 0
    evaluations: int = 0

    @classmethod
    def of(cls, actions: np.ndarray, policies: np.ndarray, **known: Any) -> Finding:
        """A finding with actions, policies and the ``known`` fields."""
        shape = policies.shape
        unknown: dict[str, Any] = {
            "values": np.full(len(actions), np.nan, np.float32),
            "draws": np.full(len(actions), np.nan, np.float32),
            "proven": np.zeros(len(actions), bool),
            "visits": np.zeros(shape, np.int32),
            "action_values": np.full(shape, np.nan, np.float32),
            "action_draws": np.full(shape, np.nan, np.float32),
            "proven_actions": np.zeros(shape, bool),
        }
        return cls(actions=actions, policies=policies, **unknown | known)

    @classmethod
    def scattered(
        cls,
        count: int,
        num_actions: int,
        places: Iterable[int | np.ndarray],
        findings: Sequence[Finding],
    ) -> Finding:
        """Join findings: each covers one position, or several, at given places among ``count``."""
        actions = np.full(count, -1, np.int64)
        whole = cls.of(actions, np.zeros((count, num_actions), np.float32))
        for place, found in zip(places, findings, strict=True):
            for each in fields(cls):
                array = getattr(whole, each.name)
                if isinstance(array, np.ndarray):
                    array[np.atleast_1d(place)] = getattr(found, each.name)
        return replace(
            whole,
            simulations=sum(found.simulations for found in findings),
            evaluations=sum(found.evaluations for found in findings),
        )
