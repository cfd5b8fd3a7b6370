"""Tic-tac-toe, the game with which ``ludarium new`` begins."""

from ludarium.cli.starter import TicTacToe

__all__ = ["TicTacToe"]
