"""Every claim that a guided first game makes is true, and the rules allow each of its moves."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ludarium.envs import GAMES, Game, make_game
from ludarium.play.lesson import Step, read_lesson, small_picture


def _first_game(name: str) -> tuple[Game, list[Step]]:
    lesson = read_lesson(make_game(name))
    assert lesson is not None
    return make_game(name, **lesson.options), lesson.steps


@pytest.mark.parametrize("name", GAMES)
def test_a_guided_game_is_a_whole_game_and_its_claims_are_true(name: str) -> None:
    game, steps = _first_game(name)
    assert 6 <= len(steps) <= 10
    position = game.start()
    for step in steps:
        assert position.mover == 0
        legal = {position.action_to_text(action) for action in position.legal_actions}
        assert not legal & set(step.refused)
        before, action = position.copy(), position.text_to_action(step.move)
        position.play(action)
        records = (np.asarray([each.state], game.state_dtype) for each in (before, position))
        first, then = records
        counts = game.events(first, np.array([action]), then)[0]
        events = dict(zip(game.event_names, counts.tolist(), strict=True))
        assert {event: count for event, count in events.items() if count} == step.events
        points = position.points
        assert (points and list(points)) == step.points
        assert step.winner == (0 if points is None and position.is_over else None)
        for text in step.replies:
            position.play(position.text_to_action(text))
    assert position.is_over
    assert position.rewards[0] == 1


def test_a_picture_is_square_and_has_each_shape_once() -> None:
    drawn = small_picture(make_game("obelisk"), [])
    assert 'viewBox="0 104 800 800"' in drawn
    names = re.findall('<g id="(s[0-9]+)">', drawn)
    assert len(names) == len(set(names))
    assert set(names) == set(re.findall('href="#(s[0-9]+)"', drawn))


def test_a_game_without_the_file_has_no_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspect.getfile", lambda _: "/nowhere/board.py")
    assert read_lesson(make_game("corso")) is None
