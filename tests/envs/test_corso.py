"""Corso's rules: counts of positions, the rules' text, and tables for `test_references`."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.rule import DRAW
from tests.games import children, play_texts, random_game, refusal
from tests.references.corso import ReferenceCorso

#: Options besides the defaults.
OPTION_SETS = [{"size": size} for size in range(2, 10) if size != 5]
#: Games beside the reference: with the defaults, and with each other set of options.
GAMES_BESIDE = 1000, 60
#: What must come up in these games.
EVENTS = [
    "a chain of four or more marbles of both colours",
    "dye laid over the opponent's dye",
    "an expansion that reaches no open cell",
    "the last open cell filled by an expansion",
    "a draw",
]

# Number of action sequences of each length from the empty board: by options, then by plies.
PERFT: list[tuple[dict[str, Any], dict[int, int]]] = [
    ({"size": 2}, {1: 4, 2: 12, 3: 36, 4: 48, 5: 0}),
    ({"size": 3}, {1: 9, 2: 72, 3: 576, 4: 3868, 5: 24260}),
    ({"size": 4}, {1: 16, 2: 240, 3: 3600, 4: 49816}),
    ({"size": 5}, {1: 25, 2: 600, 3: 14400, 4: 329692, 5: 7489212}),
]
# Number of different positions that a game can be in after exactly so many plies.
DISTINCT = {
    2: {1: 4, 2: 12, 3: 17, 4: 7},
    3: {1: 9, 2: 72, 3: 312, 4: 1113, 5: 2381},
    5: {1: 25, 2: 600, 3: 7460},
}


def after(texts: str, size: int = 5) -> Position:
    return play_texts(make_game("corso", size=size).start(), texts)


def drawing(text: str) -> str:
    return dedent(text).strip("\n")


def cells(position: Position) -> str:
    """The board in text without its last line."""
    return position.board_text().rpartition("\n")[0]


# Against the reference.


def snapshot_of_position(position: Position) -> dict[str, Any]:
    """What `ReferenceCorso.snapshot` returns."""
    state = position.state
    assert not state.wave.any()
    return {
        "cells": state.cells.tolist(),
        "open_cells": int(state.open_cells),
        "score": position.score,
    }


def reference_of(game: Game) -> Callable[[Position], ReferenceCorso]:
    return lambda position: ReferenceCorso(**game.options)


# Known counts.


def key(position: Position) -> tuple[int, bytes]:
    return position.mover, position.state.cells.tobytes()


@pytest.mark.parametrize(("size", "counts"), DISTINCT.items())
def test_number_of_distinct_positions(size: int, counts: dict[int, int]) -> None:
    start = make_game("corso", size=size).start()
    layer = {key(start): start}
    found = {}
    for ply in counts:
        layer = {
            key(child): child for parent in layer.values() for child in children(parent).values()
        }
        found[ply] = len(layer)
    assert found == counts


# The worked examples of the rules as published, in positions that fit their words.


def test_expansion_dyes_the_cell_and_its_neighbours_and_overrides_dye() -> None:
    position = after("c3 d4 c3!")
    assert cells(position) == drawing(
        """
        5 . . . . .
        4 . . o X .
        3 . o o o .
        2 . . o . .
        1 . . . . .
          a b c d e
        """
    )
    assert position.score == 5 - 1
    play_texts(position, "d4!")
    assert cells(position) == drawing(
        """
        5 . . . x .
        4 . . x x x
        3 . o o x .
        2 . . o . .
        1 . . . . .
          a b c d e
        """
    )
    assert position.score == 3 - 5


def test_the_last_line_says_whose_turn_it_is_and_what_each_has() -> None:
    last_lines = [after(moves).board_text().splitlines()[-1] for moves in ("", "c3 d4 c3!")]
    assert last_lines == [
        "player_0 to move; points: player_0 (O, o) 0, player_1 (X, x) 0",
        "player_1 to move; points: player_0 (O, o) 5, player_1 (X, x) 1",
    ]


def test_a_chain_takes_the_opponents_marbles_along() -> None:
    position = after("c3 c4 c3!")
    assert cells(position) == drawing(
        """
        5 . . o . .
        4 . o o o .
        3 . o o o .
        2 . . o . .
        1 . . . . .
          a b c d e
        """
    )
    assert position.score == 8
    assert not position.state.wave.any()  # equal boards are equal positions


def test_a_chain_spares_diagonal_marbles() -> None:
    position = after("c3 c4 d2 d4 a1")
    assert position.mover == 1
    play_texts(position, "d4!")
    assert cells(position) == drawing(
        """
        5 . . x x .
        4 . x x x x
        3 . x x x .
        2 . . x O .
        1 O . . . .
          a b c d e
        """
    )
    assert position.score == 2 - 10


def test_the_game_ends_at_once_when_no_open_cell_is_left() -> None:
    position = after("a1 b1 a2 b2", size=2)
    assert position.is_over
    assert position.outcome == DRAW
    assert position.rewards == (0, 0)
    assert not position.mask.any()
    position = after("a1 b1 a1!", size=2)
    assert position.rewards == (1, -1)
    assert position.score == 4


@pytest.mark.parametrize(
    ("moves", "points", "rewards"),
    [("a2 c3 b1 c1 a2! c3!", (5, 4), (1, -1)), ("a2 c2 b1 c3 a2! c3!", (4, 5), (-1, 1))],
)
def test_who_has_one_cell_more_wins(
    moves: str, points: tuple[int, int], rewards: tuple[int, int]
) -> None:
    """Dyed ones and those with a marble."""
    position = after(moves, size=3)
    assert position.points == points
    assert position.rewards == rewards


# Texts and options.


@pytest.mark.parametrize(
    ("moves", "text", "words"),
    [
        ("c3", "c3!", ["'c3!'", "not legal", "opponent"]),
        ("c3", "c3", ["'c3'", "not legal", "opponent"]),
        ("c3 e5", "c3", ["'c3'", "not legal", "your own marble", "'c3!'"]),
        ("", "c3!", ["'c3!'", "not legal", "open", "'c3'"]),
        ("c3 e5 c3!", "c2", ["'c2'", "not legal", "dyed"]),
        ("c3 e5 c3!", "C2!", ["'C2!'", "not legal", "dyed"]),
        ("", "f1", ["'f1'", "a1 to e5"]),
        ("", "a0", ["'a0'", "malformed"]),
        ("", "c3!!", ["'c3!!'", "malformed"]),
        ("", "", ["''", "malformed"]),
        ("", "pass", ["'pass'", "malformed"]),
    ],
)
def test_refused_text_is_named_with_the_reason(moves: str, text: str, words: list[str]) -> None:
    message = refusal(after(moves), text)
    for word in words:
        assert word in message


# Observations, which the generic tests check against each other, by example.


def test_observation_shows_own_pieces_first() -> None:
    position = after("c3 d4 c3!")
    marbles_0, dye_0 = np.zeros((5, 5)), np.zeros((5, 5))
    marbles_1, dye_1 = np.zeros((5, 5)), np.zeros((5, 5))
    marbles_1[3, 3] = 1
    for rank, file in [(2, 1), (2, 2), (2, 3), (1, 2), (3, 2)]:
        dye_0[rank, file] = 1
    open_cells = 1 - marbles_0 - marbles_1 - dye_0 - dye_1
    first = np.stack([marbles_0, marbles_1, dye_0, dye_1, open_cells])
    second = np.stack([marbles_1, marbles_0, dye_1, dye_0, open_cells])
    np.testing.assert_array_equal(position.observation(0), first)
    np.testing.assert_array_equal(position.observation(1), second)
    np.testing.assert_array_equal(position.observation(), second)


# Events, by what the printed board shows before and after.


def test_events_count_what_a_move_takes_and_sets_off() -> None:
    game = make_game("corso", size=4)
    seen = np.zeros(len(game.event_names), int)
    for seed in range(8):
        before, played = None, -1
        for position, action in random_game(game, seed):
            if before is not None:
                found = game.events(before.states, np.array([played]), position.states)[0]
                mine, my_dye, others, others_dye = "OoXx" if before.mover == 0 else "XxOo"
                cells = list(zip(contents(before), contents(position), strict=True))
                dyed = [was for was, now in cells if was != now == my_dye]
                expands = mine not in [now for was, now in cells if was != now]
                marbles = dyed.count(mine) + dyed.count(others) - expands
                expected = dyed.count(others), dyed.count(others_dye), expands, marbles > 0, marbles
                assert found.tolist() == list(expected)
                seen += found > 0
            before, played = position.copy(), action
    assert seen.all()


def contents(position: Position) -> list[str]:
    """The symbols of the printed board."""
    lines = position.board_text().splitlines()[:-2]
    return [symbol for line in lines for symbol in line.split()[1:]]
