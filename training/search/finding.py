"""`Finding`, what every search returns, and `Budget`, how long it goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np

from ludarium.envs.engine.messages import quoted
from ludarium.envs.engine.numbers import checked_whole


@dataclass(frozen=True)
class Budget:
    """How long one call of a search goes on: until the first of these conditions holds.

    Attributes:
        simulations: or playouts, in all; those of earlier calls are included. 0 asks a network for
            its policy, without search.
        seconds: seconds from the call on.
        stop: asked now and then; true ends the search.

    Raises:
        ValueError: ``simulations`` is no whole number from 0 on, or ``seconds`` no finite number
            from 0 on.
    """

    simulations: int | None = None
    seconds: float | None = None
    stop: Callable[[], bool] | None = None

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
    """What a search found of n positions, with A actions, for the players to move.

    What a search does not know is NaN, or 0 where it is counted. Of finished games
    the action is -1; a search may know their values.

    Attributes:
        actions: int64 [n], the one to play; -1 where the game is over.
        values: float32 [n], of the positions, in [-1, 1].
        draws: float32 [n], probabilities of a draw.
        proven: bool [n], whether the value is exact.
        policies: float32 [n, A], how good each action is to play, as shares of 1: what a network
            learns.
        visits: int32 [n, A], simulations that went through each action.
        action_values: float32 [n, A].
        action_draws: float32 [n, A].
        proven_actions: bool [n, A], whether the value of each action is exact.
        simulations, evaluations: done in all, and by a network.
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
        """What is ``known`` beside the actions and the policies."""
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
        """Findings as one: each of the position, or of those, at its place among ``count``."""
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
