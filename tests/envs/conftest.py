"""Fixtures that run a test once for every game and option set."""

from __future__ import annotations

import pytest

from ludarium.envs import GAMES, Game
from tests.games import ALL_GAMES, CASES


@pytest.fixture(params=CASES.values(), ids=list(CASES))
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
