"""Exact tests of agents: positions of played games with the exact value of every action. Import
what is in `__all__`.

    test = make_exact_test(game, 500, agent=make_agent("uct:200", game), only_choices=True)
    test = find_exact_test("hard", game)        # the shipped hard test, if there is one
    write_exact_test("corso.test.jsonl", test)  # read_exact_test reads it

`positions` makes tests, `files` keeps them. Where a table has a game's positions, their values are
looked up; in other games the positions are searched to the end of the game, so they come from the
last part of the games.
"""

from .files import find_exact_test, read_exact_test, shipped_test, write_exact_test
from .positions import FEW, LIMIT, ExactPosition, ExactTest, exact_positions, make_exact_test

__all__ = [
    "FEW",
    "LIMIT",
    "ExactPosition",
    "ExactTest",
    "exact_positions",
    "find_exact_test",
    "make_exact_test",
    "read_exact_test",
    "shipped_test",
    "write_exact_test",
]
