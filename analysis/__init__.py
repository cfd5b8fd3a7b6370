"""Solved games: the values of positions under perfect play, and an agent that plays perfectly.

    solution = solution_of(make_game("osiron"))      # loaded, or solved now: seconds
    solution.best_actions(states)                    # for many positions at once
    solution.value(position)                         # Value(outcome=1, plies=5, ...): a win in 5

`solutions` says which games are solved; each has a package of its own here. Every solution has
`best_actions`; one with all values in a table is a `TableSolution` and has the values too.
"""

from .answer import Answer, Value
from .perfect import PerfectAgent
from .progress import Progress, Show
from .solution import ILLEGAL, Solution, TableSolution
from .solutions import SOLVED, solution_of
from .solver import Solver

__all__ = [
    "ILLEGAL",
    "SOLVED",
    "Answer",
    "PerfectAgent",
    "Progress",
    "Show",
    "Solution",
    "Solver",
    "TableSolution",
    "Value",
    "solution_of",
]
