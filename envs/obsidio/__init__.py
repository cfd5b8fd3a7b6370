"""Obsidio: its rules, board and picture; README.md in this folder has them in words. Import
`Obsidio`.
"""

from .board import Obsidio

__all__ = ["Obsidio"]
