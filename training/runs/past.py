"""`Past`: which agents of its past a run keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from ludarium.configs.schema import Save

_ALMOST = 0.75  # of a gap: powers of two need not hit the gaps that times leave


class Past:
    """The agents of its past that a run keeps: from time to time one, spread evenly over the run.

    Args:
        config: how often, and how many.
        state: where the run was, as `state` returned it; None where it begins. Where agents are now
            to be kept more often, or more of them, those to come are spaced anew.
    """

    def __init__(self, config: Save, state: dict[str, Any] | None = None) -> None:
        self._config = config
        self._kept: list[Sequence[float]] = list(state["kept"]) if state else []
        self._save = msgspec.to_builtins(config)
        # A run of an earlier version does not say what its spacing was for.
        fits = state is not None and self._fits(state.get("save", self._save))
        self._spacing: int = state["spacing"] if state and fits else 1

    def state(self) -> dict[str, Any]:
        """JSON values: iteration and seconds of each agent that is kept, their spacing, and why."""
        return {"kept": self._kept, "spacing": self._spacing, "save": self._save}

    def advance(self, iteration: int, seconds: float) -> list[int]:
        """Keep the agent of an iteration if it is time to.

        Args:
            iteration: that has ended.
            seconds: of the run so far.

        Returns:
            The iterations whose agents are kept, ascending.
        """
        now = (iteration, seconds)
        last = self._kept[-1] if self._kept else (0, 0.0)
        if self._distance(last, now) >= self._spacing:
            self._kept.append(now)
        while self._config.keep is not None and len(self._kept) > self._config.keep:
            del self._kept[1::2]
            gap = self._distance(self._kept[0], self._kept[-1]) / max(1, len(self._kept) - 1)
            self._spacing *= 2
            while self._spacing < _ALMOST * gap:  # an iteration may take longer than the minutes
                self._spacing *= 2
        return [int(number) for number, _ in self._kept]

    def _fits(self, before: dict[str, Any]) -> bool:
        """Whether a spacing that has grown with these keys is right for those of now."""
        now = self._config
        if (before["every"], before["minutes"]) != (now.every, now.minutes):
            return False
        most, most_before = (math.inf if n is None else n for n in (now.keep, before["keep"]))
        return most <= most_before

    def _distance(self, first: Sequence[float], second: Sequence[float]) -> float:
        """From one agent to another, in the configured distance between two."""
        save = self._config
        if save.minutes is not None:
            return (second[1] - first[1]) / (60 * save.minutes)
        return (second[0] - first[0]) / save.every if save.every else 0.0
