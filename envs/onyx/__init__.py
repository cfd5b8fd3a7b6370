"""Onyx: its rules, board and picture; README.md in this folder explains the game. Import `Onyx`."""

from .board import Onyx

__all__ = ["Onyx"]
