"""Exact values of late positions of any game, by search to the end of the game. Import
`EndgameSolver`; WebAssembly modules also use ``kernels`` and ``solver``.

    solver = EndgameSolver(make_game("onyx", size=6))
    solver.actions(position)                     # {action: ValueBounds}, the best first

``kernels`` has the search in compiled code, for any game's rule functions; ``solver`` the
questions that can be asked. `ludarium.analysis.exact_tests` makes sets of positions to test
agents on.
"""

from .solver import EndgameSolver

__all__ = ["EndgameSolver"]
