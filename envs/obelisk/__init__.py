"""Obelisk: its rules, board and picture; README.md in this folder explains the game. Import
`Obelisk`.
"""

from .board import Obelisk

__all__ = ["Obelisk"]
