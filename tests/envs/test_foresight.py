"""Threats and who will own what: what each game's rules say, and never a guess."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from ludarium.envs import Game, make_game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.views import WINS, Threats
from ludarium.envs.osiron.rules import NO_PAIR
from tests.games import ALL_GAMES, changed, play_texts, random_game, slow_but

PASSED = {
    "corso": True,
    "onyx": True,
    "osiron": True,
    "obsidio": True,
    "obelisk": False,
}


@pytest.fixture(params=slow_but(["corso", "osiron", "tictactoe", "oddity"], ALL_GAMES))
def game(request: pytest.FixtureRequest) -> Game:
    return ALL_GAMES[request.param]()


def test_the_movers_threats_are_what_its_actions_do(game: Game) -> None:
    for seed in range(4):
        for position, action in random_game(game, seed):
            threats = position.threats()
            if action is None:
                assert not threats.actions.any()
                assert not threats.cells.any()
                assert not threats.covers_opponent
                continue
            if position.ply % 5:
                continue
            record = position.copy()
            own = threats.actions[position.mover]
            assert threats.covers_opponent == PASSED.get(game.name, False)
            assert not own[position.mask == 0].any()
            for each in position.legal_actions.tolist():
                child = position.copy()
                child.play(each)
                assert (own[each] == WINS) == (child.rewards[position.mover] > 0)
            assert position == record
            if not threats.covers_opponent:
                assert not threats.actions[1 - position.mover].any()


def test_corso_takes_what_an_expansion_dyes() -> None:
    game = make_game("corso")
    threats = play_texts(game.start(), "c3 b2 b3 d4 d3 e5 a1 c1").threats()
    names = lambda numbers: {game.action_names[number] for number in np.flatnonzero(numbers)}  # noqa: E731
    assert names(threats.actions[0]) == {"b3", "c3", "d3"}
    assert names(threats.cells[0]) == {"b2", "d4"}
    assert names(threats.actions[1]) == {"b2", "d4"}  # if it were dark's turn
    assert names(threats.cells[1]) == {"b3", "c3", "d3"}
    assert threats.actions[1, game.action_names.index("b2")] == 3  # the whole chain


def test_osiron_sees_the_win_that_was_forbidden() -> None:
    """The pair exchanged last is open again to a player who moves twice."""
    game = make_game("osiron")
    seen = 0
    for seed in range(40):
        for position, action in random_game(game, seed):
            if action is None or position.ply == 0:
                continue
            opponent = 1 - position.mover
            for each in np.flatnonzero(position.threats().actions[opponent] == WINS):
                seen += 1
                state = changed(position, mover=opponent, forbidden=NO_PAIR)
                state.play(int(each))
                assert state.rewards[opponent] == 1
    assert seen > 0


def test_onyx_has_captures_at_hand() -> None:
    cells, found = 12**2, 0
    game = make_game("onyx")
    for seed in range(6):
        for position, action in random_game(game, seed):
            if action is None:
                continue
            told = int(position.threats().actions[position.mover, action])
            after = position.copy()
            after.play(action)
            stones = [np.count_nonzero(each.state.board[:cells] & 3) for each in (position, after)]
            if told != WINS:
                assert told == stones[0] + (action < cells) - stones[1]
                found += told
    assert found > 0


def test_who_will_own_what_is_known_at_the_end() -> None:
    for name in (game.name for game in ALL_GAMES.values() if game().has_owners):
        game = make_game(name)
        for position, action in random_game(game, 1):
            if action is None:
                expected = position.owners()
                np.testing.assert_array_equal(position.ownership(3), expected)
        start = game.start()
        found = start.ownership(50, seed=2)
        assert found.dtype == np.float32
        assert found.shape == (game.planes_shape[1],)
        assert np.abs(found).max() <= 1
        assert found.any()
        np.testing.assert_array_equal(found, start.ownership(50, seed=2))
        assert (found != start.ownership(50, seed=3)).any()
        assert start.ply == 0


def test_owners_are_expected_over_the_playouts() -> None:
    """On 2 x 2 what follows a last open cell is few: compared with all ways to go on."""
    game = make_game("corso", size=2)
    position = play_texts(game.start(), "a1 b1 a2")
    ends: list[tuple[float, np.ndarray]] = []

    def follow(place: Position, share: float) -> None:
        if place.is_over:
            ends.append((share, place.owners()))
            return
        for action in place.legal_actions.tolist():
            child = place.copy()
            child.play(action)
            follow(child, share / len(place.legal_actions))

    follow(position, 1.0)
    expected = sum(share * owners.astype(float) for share, owners in ends)
    np.testing.assert_allclose(position.ownership(20_000), expected, atol=0.04)


def test_games_without_owners_have_none_to_come() -> None:
    with pytest.raises(NotImplementedError, match="cells of onyx have no owners"):
        make_game("onyx").start().ownership()
    with pytest.raises(ValueError, match="playouts is 0; accepted: a whole number from 1 on"):
        make_game("corso").start().ownership(0)


def test_threats_are_drawn_for_either_side() -> None:
    position = play_texts(make_game("corso").start(), "c3 b2 b3 d4 d3 e5 a1 c1")
    svg = position.svg(layers={"threats": None})
    root = ElementTree.fromstring(svg)
    (group,) = [group for group in root.iter() if group.get("class") == "layer threats"]
    columns = position.game.action_spots()[:5, 0]
    at = [float(mark.attrib["transform"].split("(")[1].split()[0]) for mark in group]
    is_left = [x < columns[np.abs(columns - x).argmin()] for x in at]
    marks = [mark[0].tag.rpartition("}")[2] for mark in group]
    assert [*zip(marks, is_left, strict=True)] == [("circle", True)] * 2 + [("path", False)] * 3


def test_wins_without_a_place_are_told_below(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game("onyx", size=6)
    position = game.start()
    actions = np.zeros((2, game.num_actions), np.int32)
    actions[1, game.num_actions - 1] = WINS
    threats = Threats(actions, np.zeros((2, 36), np.int32), True)
    monkeypatch.setattr(Position, "threats", lambda position: threats)
    assert "player_1 wins at once: swap" in position.svg(layers={"threats": None})
