"""Obsidio: its rules, board and picture; README.md in this folder explains the game. Import
`Obsidio`.
"""

from .board import Obsidio

__all__ = ["Obsidio"]
