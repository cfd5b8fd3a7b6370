"""Solved games: what every position is worth under perfect play, and an agent that plays so.

    solution = solution_of(make_game("osiron"))      # loaded, or solved now: seconds
    solution.value(position)                         # Value(outcome=1, plies=5): a win in 5 plies
    solution.action_values(states)                   # for many positions at once

`solutions` says which games are solved; each has a package of its own here.
"""

from .perfect import PerfectAgent
from .solution import ILLEGAL, Solution, Value
from .solutions import SOLVED, solution_of

__all__ = ["ILLEGAL", "SOLVED", "PerfectAgent", "Solution", "Value", "solution_of"]
