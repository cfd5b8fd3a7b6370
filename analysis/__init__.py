"""Solved games: what positions are worth under perfect play, and an agent that plays so.

    solution = solution_of(make_game("osiron"))      # loaded, or solved now: seconds
    solution.best_actions(states)                    # for many positions at once
    solution.value(position)                         # Value(outcome=1, plies=5): a win in 5 plies

`solutions` says which games are solved; each has a package of its own here. Every solution has
`best_actions`; one with all values in a table is a `TableSolution` and has the values too.
"""

from .perfect import PerfectAgent
from .solution import ILLEGAL, Solution, TableSolution, Value
from .solutions import SOLVED, solution_of

__all__ = [
    "ILLEGAL",
    "SOLVED",
    "PerfectAgent",
    "Solution",
    "TableSolution",
    "Value",
    "solution_of",
]
