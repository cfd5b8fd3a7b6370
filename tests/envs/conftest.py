"""Fixtures that run a test once for every game and option set; other options are slow."""

from __future__ import annotations

import pytest

from ludarium.envs import GAMES, Game
from tests.games import ALL_GAMES, CASES


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


@pytest.fixture(params=ALL_GAMES.values(), ids=list(ALL_GAMES))
def default_game(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Game:
    """Each game with its default options, registered under its name."""
    monkeypatch.setitem(GAMES, request.param.name, request.param)
    return request.param()
