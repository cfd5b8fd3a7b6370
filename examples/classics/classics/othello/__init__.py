"""Othello: enclose discs to turn them, the most discs win."""

from .board import Othello

__all__ = ["Othello"]
