"""Corso: its rules, board and picture; README.md in this folder has them in words. Import `Corso`;
its solver compiles ``rules`` too.
"""

from .board import Corso

__all__ = ["Corso"]
