"""`GameText`: what a game prints in a terminal besides its board."""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from .rule import DRAW, ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED

#: How a game ended, in words, by its outcome.
RESULTS = {
    PLAYER_0_WINS: "player_0 has won",
    PLAYER_1_WINS: "player_1 has won",
    DRAW: "drawn",
    TRUNCATED: "drawn at the ply cap",
}


class GameText(ABC):
    """The texts that all games share, with hooks for a game's own texts.

    Class attributes:
        terminal_commands: (usage, explanation) of each command that `terminal_help` answers.
    """

    title: ClassVar[str]
    terminal_commands: ClassVar[tuple[tuple[str, str], ...]] = ()

    @abstractmethod
    def board_text(self, state: np.record) -> str:
        """The position as lines of text for people; programs read the state."""

    # Hooks that a game may override.

    def marks(self, state: np.record, player: int) -> str:
        """How `board_text` shows what belongs to ``player``, such as ``O, o``; or nothing."""
        return ""

    @abstractmethod
    def tally(self, state: np.record) -> tuple[int, int] | None:
        """Points of both players, of which ``score`` is the difference; None: there are none."""

    @abstractmethod
    def to_do(self, state: np.record) -> str:
        """The next task of the player to move, such as ``place the second token``."""

    def terminal_text(self, state: np.record) -> str:
        """The text before each move of a person: `board_text`, or a shorter text.

        Games with a lot of text override this, and show the rest through `terminal_help`.
        """
        return self.board_text(state)

    def terminal_help(self, state: np.record, words: Sequence[str]) -> str | None:
        """The answer to a command of the game's own, typed by the player to move.

        Args:
            state: the position.
            words: the command and what follows it, in lower case; at least one.

        Returns:
            Lines of text; None if it is no such command.

        Raises:
            ValueError: it is one, but what follows it makes no sense; the message says why.
        """
        return None

    # Texts made from them.

    def standing(self, state: np.record) -> str:
        """Whose turn it is or how the game ended, whose marks are which, points: one line."""
        outcome = int(state.outcome)
        if outcome == ONGOING:
            status = f"player_{int(state.mover)} to {self.to_do(state)}"
        else:
            status = RESULTS[outcome]
        points = self.tally(state)
        sides = [f"player_{player}" for player in (0, 1)]
        for player in (0, 1):
            if marks := self.marks(state, player):
                sides[player] += f" ({marks})"
            if points is not None:
                sides[player] += f" {points[player]}"
        if points is None and not self.marks(state, 0):
            return status
        title = "" if points is None else "points: "
        return f"{status}; {title}{', '.join(sides)}"

    def rules_text(self) -> str:
        """The rules in short, in Markdown: the beginning of "Rules" in the README of the game."""
        readme = self._readme_path()
        if not readme.is_file():
            return f"The rules of {self.title} are not written down: there is no {readme}."
        return f"{self.rules_section() or 'It has no section with rules.'}\n\nMore: {readme}"

    def rules_section(self) -> str:
        """What `rules_text` tells, without where it is from; empty where there are no rules."""
        return self._readme_part(r"^## Rules\n(.*?)(?=^##|\Z)")

    def origin_section(self) -> str:
        """Whose game it is, in Markdown: what the README begins with; empty where there is none."""
        return self._readme_part(r"\A# [^\n]*\n(.*?)(?=^##|\Z)")

    def _readme_path(self) -> Path:
        return Path(inspect.getfile(type(self))).with_name("README.md")

    def _readme_part(self, pattern: str) -> str:
        path = self._readme_path()
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found = re.search(pattern, text, re.DOTALL | re.M)
        return found[1].strip() if found else ""
