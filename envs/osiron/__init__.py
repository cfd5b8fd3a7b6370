"""Osiron: its rules, board and picture; README.md in this folder explains the game. Import
`Osiron`; the solver also compiles ``rules``.
"""

from .board import Osiron

__all__ = ["Osiron"]
