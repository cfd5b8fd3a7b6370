"""`Solution`, the interface of all solved games, and `TableSolution`, a table of all values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.exact_values import Value

#: Stands for the value of an illegal action or of a finished game; less than every value.
ILLEGAL = -128


class Solution(ABC):
    """Perfect play of one game.

    Attributes:
        game: the rules.
    """

    def __init__(self, game: Game) -> None:
        self.game = game

    @classmethod
    def of(cls, game: Game) -> Self:
        """The solution of a game, ready for use; it may first be loaded or computed.

        Raises:
            ValueError: not with these options, or a file is damaged.
        """
        return cls(game)

    @abstractmethod
    def best_actions(self, states: np.ndarray) -> np.ndarray:
        """The actions among which perfect play chooses, all equally good.

        Args:
            states: positions, structured array [N] of ``game.state_dtype``.

        Returns:
            bool[N, A]; all False in finished positions.

        Raises:
            ValueError: nothing is known of a position.
        """


class TableSolution(Solution):
    """The values of all positions of one game.

    Attributes:
        source: where the values come from, in words for people who ask for one.

    Values are coded as numbers that are greater if better for the player to move: a win is above 0,
    a draw 0, a loss below 0; a win is greater the sooner it comes, a loss the later.
    """

    source: ClassVar[str]

    def knows(self, states: np.ndarray) -> np.ndarray:
        """Which positions have values, bool[N]: all, unless a subclass says otherwise.

        If the start of a game has a value, all positions do.
        """
        return np.ones(len(states), bool)

    @abstractmethod
    def values(self, states: np.ndarray) -> np.ndarray:
        """Values of positions, structured array [N]; int8[N], `ILLEGAL` where a game is over.

        Raises:
            ValueError: a position has no value, see `knows`.
        """

    @abstractmethod
    def action_values(self, states: np.ndarray) -> np.ndarray:
        """Values of all actions in positions; int8[N, A], `ILLEGAL` for those not legal.

        Raises:
            ValueError: a position has no value, see `knows`.
        """

    @abstractmethod
    def decode(self, value: int) -> Value:
        """The `Value` for a number other than `ILLEGAL`."""

    def best_actions(self, states: np.ndarray) -> np.ndarray:
        """The actions with the greatest value; see `Solution.best_actions`."""
        values = self.action_values(states)
        best: np.ndarray = (values == values.max(axis=1, keepdims=True)) & (values != ILLEGAL)
        return best

    def value(self, position: Position) -> Value:
        """The value of one position.

        Raises:
            ValueError: the game is over, it is not the game of this solution, or the position has
                no value, see `knows`.
        """
        self._check(position)
        return self.decode(int(self.values(position.states)[0]))

    def actions(self, position: Position) -> dict[int, Value]:
        """The legal actions of one position with their values, the best first.

        Plies count from the position itself: an action that wins at once is a win in 1.

        Raises:
            ValueError: as for `value`.
        """
        self._check(position)
        values = self.action_values(position.states)[0]
        order = np.argsort(-values.astype(np.int16), kind="stable")
        return {
            int(action): self.decode(int(values[action]))
            for action in order
            if values[action] != ILLEGAL
        }

    def _check(self, position: Position) -> None:
        if position.game != self.game:
            raise ValueError(f"this is a solution of {self.game}, not of {position.game}")
        if position.is_over:
            raise ValueError("the game is over: there is nothing to look up")
