"""Exact values of late positions of any game, by search to the end of the game.

    solver = EndgameSolver(make_game("onyx", size=6))
    solver.actions(position)                     # {action: Answer}, the best first
    for late in exact_positions(solver, 100):    # positions out of random games, with values
        ...

``kernels`` has the search in compiled code, for any game's rule functions; ``solver`` the
questions that can be asked; ``positions`` makes sets of positions to test agents on.
"""

from .positions import LatePosition, exact_positions
from .solver import EndgameSolver

__all__ = ["EndgameSolver", "LatePosition", "exact_positions"]
