"""Tic-tac-toe as ``docs/guide/new-game.md`` builds it: the guide is true, and the game is right."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludarium.cli.starter.rules import PLANES
from ludarium.envs import GAMES, Game, Spec, from_record, make
from ludarium.envs.engine.rule import DRAW, PLAYER_0_WINS, PLAYER_1_WINS
from tests.tictactoe import TicTacToe
from tests.training.random_tree import RandomTree

ROOT = Path(__file__).resolve().parents[2]


def test_files_that_the_guide_names_exist() -> None:
    guide = (ROOT / "docs" / "guide" / "new-game.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:envs|tests)/[\w/.]+)`", guide))
    assert len(paths) >= 8
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_one_line_in_the_registry_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)
    env = make("tictactoe", render_mode="ansi")
    env.reset()
    for text in ("b2", "a1", "c3"):
        env.step(env.text_to_action(text))
    *board, last_line = env.render().splitlines()
    assert board == ["3 . . X", "2 . X .", "1 O . .", "  a b c"]
    assert last_line == "player_1 to move; player_0 (X), player_1 (O)"
    with pytest.raises(ValueError, match="'B2' is not legal now: b2 is taken"):
        env.text_to_action("B2")
    again = from_record(env.to_record())
    assert again.position == env.position
    with pytest.raises(ValueError, match=r"tictactoe has no option 'size' .*options: none"):
        make("tictactoe", size=4)


# What a game has that brings nothing but rules and a spec.


def test_texts_are_the_names_of_actions() -> None:
    game = TicTacToe()
    start = game.start()
    assert [game.text_to_action(start, name) for name in game.action_names] == list(range(9))
    with pytest.raises(ValueError, match=r"'z9' is malformed: actions are a1, b1, .* \(9 in all\)"):
        game.text_to_action(start, "z9")


def test_board_and_picture_are_the_planes() -> None:
    game = TicTacToe()
    position = game.start()
    for text in ("b2", "a1", "c3"):
        before, action = position.copy(), position.text_to_action(text)
        position.play(action)
    assert Game.board_text(game, position).splitlines()[:5] == [
        *(" 3 c c a", " 2 c a c", " 1 b c c", "   a b c"),
        "player_0 sees: a own marks, b other marks, c empty cells",
    ]
    shown = position.slots(action, before).reshape(4, 9)
    planes = position.observation(0).reshape(3, 9)
    assert (shown == [*planes, np.arange(9) == action]).all()
    svg = position.svg(action, before)
    assert all(
        f">{letter}: {name}</text>" in svg for letter, name in zip("abc", PLANES, strict=True)
    )
    assert game.action_spots() == pytest.approx(make("corso", size=3).game.action_spots())


def test_a_piece_that_comes_to_rest_elsewhere_is_marked_where_it_lies() -> None:
    class Falling(TicTacToe):
        def setup(self) -> Spec:
            return replace(super().setup(), action_places=np.roll(np.arange(9), 3))

    game = Falling()
    before, position = game.start(), game.start()
    position.play(4)
    marked = position.slots(4, before)[27:]
    assert np.flatnonzero(marked).tolist() == [4]  # not 1, the place of the action
    assert np.flatnonzero(position.slots(4)[27:]).tolist() == [1]
    assert not position.slots(None, before)[27:].any()


def test_features_that_are_no_board_are_named() -> None:
    game = RandomTree()
    position = game.start()
    assert position.board_text().splitlines()[0] == "player_0 sees: "
    position.play(position.legal_actions[0])
    assert position.board_text().splitlines()[0] == "player_0 sees: node"
    assert position.slots().tolist() == [1, 0]
    assert game.action_spots() is None
    assert len(game.symmetries()) == 1


def test_perft_gives_the_number_of_games() -> None:
    start = TicTacToe().start()
    sequences = [start.perft(depth) for depth in range(11)]
    assert sequences == [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872, 0]
    # Each sequence goes on in as many ways as there are empty cells, or has ended.
    ended = [sequences[9]]
    ended += [sequences[ply] - sequences[ply + 1] // (9 - ply) for ply in range(9)]
    assert sum(ended) == 255168


def test_random_play_wins_as_often_as_counted() -> None:
    """Random games weigh each sequence by its own probability: known to be about 0.585, 0.288."""
    game, games = TicTacToe(), 20000
    counts = np.zeros(5, np.int64)
    rng = np.array([1, 2], np.int64)
    game.kernels.random_games(game.tables, game.new_states(1), rng, 9, games, counts)
    shares = counts / games
    assert abs(shares[PLAYER_0_WINS] - 0.585) < 0.015
    assert abs(shares[PLAYER_1_WINS] - 0.288) < 0.015
    assert abs(shares[DRAW] - 0.127) < 0.015
