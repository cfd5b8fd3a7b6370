"""Onyx: its rules, board and picture; README.md in this folder has them in words. Import `Onyx`."""

from .board import Onyx

__all__ = ["Onyx"]
