"""`GameInPlay`, a player's handle of one whole game."""

from __future__ import annotations

from typing import Any

import numpy as np

from .game import Game
from .position import Position
from .rule import ONGOING, reward


class GameInPlay:
    """One game as one of its players sees it, the same object from ``begin`` to ``finish``.

    Attributes:
        game: the rules.
        number: the game's number among those that begin together, such as in a match or a vector
            of environments.
        seat: which player the agent is, 0 or 1.
        seed: seed of the game's start; without meaning where the start is not random, and 0 where
            it is not known.
        start: the text of the position that the game began at; None if it began as usual, or if the
            moves before are not known (`games_from`).
        forfeited_by: the player, 0 or 1, who lost the game although by the rules it goes on, by an
            illegal action or by resigning; else None.
        notes: what the agent says of its moves, by the number of actions before each; records of
            matches have them as notes.
        memory: whatever the agent keeps of this game, such as its search tree; ``None`` at first.
    """

    __slots__ = (
        *("_actions", "_row", "_states", "forfeited_by", "game", "memory", "notes", "number"),
        *("seat", "seed", "start"),
    )

    def __init__(
        self,
        game: Game,
        number: int,
        seat: int,
        seed: int,
        states: np.ndarray,
        actions: list[int],
        start: str | None = None,
    ) -> None:
        self.game = game
        self.number = number
        self.seat = seat
        self.seed = seed
        self.start = start
        self._actions = actions
        self.forfeited_by: int | None = None
        self.notes: dict[int, str] = {}
        self.memory: Any = None
        self._states = states
        self._row = number

    def end(self, forfeited_by: int | None = None) -> None:
        """Keep the position of a game that has ended: its row of ``states`` will hold another game.

        Args:
            forfeited_by: the player who has just lost a game that by the rules goes on, if one has.
        """
        self.forfeited_by = forfeited_by
        self._states = self._states[self._row : self._row + 1].copy()
        self._row = 0

    @property
    def actions(self) -> list[int]:
        """All actions since the start, those of a random opening included; a copy.

        Where the moves before are not known (`games_from`), the list begins empty.
        """
        return list(self._actions)

    @property
    def position(self) -> Position:
        """A copy of the present position."""
        return Position.of_state(self.game, self._states[self._row])

    @property
    def reward(self) -> int | None:
        """The agent's result: 1 for a win, -1 for a loss, 0 for a draw or at the ply cap.

        It is ``None`` while the game goes on, and stays so if the game was abandoned.
        """
        if self.forfeited_by is not None:
            return -1 if self.forfeited_by == self.seat else 1
        outcome = int(self._states["outcome"][self._row])
        return None if outcome == ONGOING else reward(outcome, self.seat)


def games_from(game: Game, states: np.ndarray) -> list[GameInPlay]:
    """Games at positions, structured [N], whose moves before are not known.

    Each is seen by its player to move.
    """
    return [
        GameInPlay(game, number, int(state["mover"]), 0, states, [])
        for number, state in enumerate(states)
    ]
