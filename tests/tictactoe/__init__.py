"""Tic-tac-toe, the game that ``docs/new-game.md`` builds."""

from .board import TicTacToe

__all__ = ["TicTacToe"]
