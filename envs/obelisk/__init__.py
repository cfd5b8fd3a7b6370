"""Obelisk: its rules, board and picture; README.md in this folder has them in words. Import
`Obelisk`.
"""

from .board import Obelisk

__all__ = ["Obelisk"]
