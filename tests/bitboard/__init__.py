"""Tic-tac-toe on bits of a ``uint64``, for tests of games of that kind."""

from .board import BitTicTacToe

__all__ = ["BitTicTacToe"]
