"""A game for ludarium: ``rules`` says how it is played, ``board`` what it is made of."""

from .board import TicTacToe

__all__ = ["TicTacToe"]
