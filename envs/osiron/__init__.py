"""Osiron: its rules, board and picture; README.md in this folder explains the game. Import
`Osiron`; the solver also uses the tables of ``board`` and the code of ``rules``.
"""

from .board import Osiron

__all__ = ["Osiron"]
