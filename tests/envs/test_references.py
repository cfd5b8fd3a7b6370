"""Rules of every game against a reference told as plainly as possible, and known counts.

Each game's own tests have the tables: ``OPTION_SETS``, ``GAMES_BESIDE``, ``EVENTS`` and ``PERFT``.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from ludarium.envs import GAMES, make_game
from tests.references.agreement import play_beside

TESTS = {name: import_module(f"tests.envs.test_{name}") for name in GAMES}
#: Games by name, and the number of a set of their options: 0 for the defaults.
CASES = [(name, n) for name, tests in TESTS.items() for n in range(len(tests.OPTION_SETS) + 1)]


@cache
def met(name: str, number: int) -> Counter[str]:
    """Rare events in random games beside the reference, with the options of that number."""
    tests = TESTS[name]
    game = make_game(name, **[{}, *tests.OPTION_SETS][number])
    games = tests.GAMES_BESIDE[number > 0]
    reference, snapshot = tests.reference_of(game), tests.snapshot_of_position
    return play_beside(game, reference, snapshot, games, seed=1000 * number)


@pytest.mark.parametrize(
    ("game", "number"),
    [pytest.param(*case, marks=[pytest.mark.slow] if case[1] > 1 else []) for case in CASES],
)
def test_random_games_agree_with_the_reference(game: str, number: int) -> None:
    met(game, number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "event"), [(name, event) for name, tests in TESTS.items() for event in tests.EVENTS]
)
def test_the_random_games_met(game: str, event: str) -> None:
    assert sum(met(*case)[event] for case in CASES if case[0] == game) >= 5


@pytest.mark.parametrize(
    ("game", "options", "depth", "sequences"),
    [
        (name, options, depth, sequences)
        for name, tests in TESTS.items()
        for options, counts in tests.PERFT
        for depth, sequences in counts.items()
    ],
)
def test_perft(game: str, options: dict[str, Any], depth: int, sequences: int) -> None:
    assert make_game(game, **options).start().perft(depth) == sequences
