"""The shape that a network must fit, and which network it is: what is known without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class NetworkShape:
    """The shape that a network must fit; a game determines it.

    Attributes:
        observation: (planes, height, width) or (features,).
        num_actions: number of policy logits.
        action_places: for each action its place ``plane * height * width + cell`` on planes
            over the board, -1 where it has none; None where no action has one.
    """

    observation: tuple[int, ...]
    num_actions: int
    action_places: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Architecture:
    """The class and size of a network.

    Attributes:
        options: for the networks of this package ``channels``, the width of the trunk, and
            ``blocks``, the number of residual blocks; for a user's class its keyword arguments.
        module: ``package.module:Class`` of a network of the user's own, None for the others.
    """

    options: dict[str, Any]
    module: str | None = None

    def __str__(self) -> str:
        if self.module is None:
            return f"{self.options['channels']}x{self.options['blocks']}"
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.module}({options})"

    def described(self) -> dict[str, Any]:
        """JSON value: the options, preceded by ``module`` for a user's class."""
        return ({} if self.module is None else {"module": self.module}) | self.options
