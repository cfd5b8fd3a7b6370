"""Fixtures that run a test once for every game and option set.

The quick tests have each game with its default options, and what needs many compiled functions
only on two small games.
"""

from __future__ import annotations

import pytest

from ludarium.envs import GAMES, Game
from tests.games import ALL_GAMES, CASES

SMALL = ("corso", "tictactoe")


@pytest.fixture(
    params=[
        pytest.param(case, id=name, marks=[pytest.mark.slow] if case[1] else [])
        for name, case in CASES.items()
    ]
)
def game(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Each game with each option set, registered under its name."""
    kind, options = request.param
    monkeypatch.setitem(GAMES, kind.name, kind)
    return kind(**options)


@pytest.fixture(
    params=[
        pytest.param(kind, id=name, marks=[] if name in SMALL else [pytest.mark.slow])
        for name, kind in ALL_GAMES.items()
    ]
)
def default_game(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Each game with its default options, registered under its name."""
    monkeypatch.setitem(GAMES, request.param.name, request.param)
    return request.param()
