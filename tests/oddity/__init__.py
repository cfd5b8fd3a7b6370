"""A made-up game with what the engine offers and few games use, to test the engine on.

Its start is random, a turn may be several plies, it stops at a ply cap, and its observation is
a row of fractions, whose canonical turn exchanges two piles for one player; it has no score and no
board.
"""

from .board import Oddity

__all__ = ["Oddity"]
