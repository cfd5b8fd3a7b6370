"""Corso: its rules, board and picture; README.md in this folder explains the game. Import `Corso`;
the solver also compiles ``rules``.
"""

from .board import Corso

__all__ = ["Corso"]
