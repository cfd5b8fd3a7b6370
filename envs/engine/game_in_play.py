"""`GameInPlay`, the handle of a whole game that a player is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from .game import Game
from .position import Position
from .rule import reward


class GameInPlay:
    """One game as one of its players sees it: the same object from begin to finish.

    Attributes:
        game: the rules.
        number: of the game in the match, or in the vector of environments.
        seat: which player the agent is, 0 or 1.
        seed: of the game's start; 0 where the start is not random, or its seed is not known.
        actions: all actions so far, those of the opening included.
        memory: whatever the agent keeps of this game, such as its search tree; ``None`` at first.
    """

    __slots__ = ("_states", "actions", "game", "memory", "number", "seat", "seed")

    def __init__(
        self, game: Game, number: int, seat: int, seed: int, states: np.ndarray, actions: list[int]
    ) -> None:
        self.game = game
        self.number = number
        self.seat = seat
        self.seed = seed
        self.actions = actions
        self.memory: Any = None
        self._states = states

    @property
    def position(self) -> Position:
        """The position now, a copy."""
        return Position.of_state(self.game, self._states[self.number])

    @property
    def reward(self) -> int:
        """What the agent got: 1 for a win, -1 for a loss, else 0, as while the game goes on."""
        return reward(int(self._states["outcome"][self.number]), self.seat)
