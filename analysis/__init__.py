"""The value of positions: by an agent's search, or exact, by a table or a search to the end. Import
what is in `__all__` from here, exact answers of any kind from `probing`, and tests of agents from
`exact_tests`.

    analyse_position(position, "corso", Budget(seconds=1))  # an agent's analysis, see `thinking`
    analyse_game(game, seed, actions, agent)         # analysis of all moves of a game, see `games`

    solution = solution_of(make_game("osiron"))      # loaded, or solved now: seconds
    solution.best_actions(states)                    # for many positions at once
    solution.value(position)                         # Value(outcome=1, plies=5, ...): a win in 5

`solutions` says which games are solved; each has its own package here. Every solution has
`best_actions`; one with all values in a table is a `TableSolution` and has the values too.
"""

from ludarium.training.exact_values import Value, ValueBounds
from ludarium.training.search import Budget

from .games import GameAnalysis, analyse_game
from .solution import ILLEGAL, Solution, TableSolution
from .solutions import SOLVED, solution_of
from .solver import Solver
from .thinking import PositionAnalysis, Thinker, analyse_position, make_thinker

__all__ = [
    "ILLEGAL",
    "SOLVED",
    "Budget",
    "GameAnalysis",
    "PositionAnalysis",
    "Solution",
    "Solver",
    "TableSolution",
    "Thinker",
    "Value",
    "ValueBounds",
    "analyse_game",
    "analyse_position",
    "make_thinker",
    "solution_of",
]
