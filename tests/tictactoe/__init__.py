"""Tic-tac-toe, the game that ``docs/guide/new-game.md`` builds."""

from .board import TicTacToe

__all__ = ["TicTacToe"]
