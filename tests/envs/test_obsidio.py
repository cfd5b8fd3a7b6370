"""Obsidio's rules: worked positions, properties, and tables for `test_references`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.draw.grid import cell_name, read_cell
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.envs.engine.views import WINS
from ludarium.envs.obsidio import rules
from tests.games import play_texts, random_game, refusal
from tests.references.obsidio import ReferenceObsidio, kind_of

#: Options besides the defaults.
OPTION_SETS: list[dict[str, Any]] = [
    {"size": 7},
    {"size": 11},
    {"diagonal_adjacency": False},
    {"swap_rule": False},
]
#: Games beside the reference: with the defaults, and with each other set of options.
GAMES_BESIDE = 150, 30
#: What must come up in these games.
EVENTS = [
    "second token placed",
    "second token forfeited",
    "new chain of dark",
    "new chain of light",
    "several claims in a turn",
    "stopped claiming",
    "turn ended by itself after a claim",
    "pass",
    "swap",
    "majority",
    "tie decided by the last claim",
]
BLACK, TEAL = 0, 1

# Number of action sequences of each length from the empty board, by options.
PERFT: list[tuple[dict[str, Any], dict[int, int]]] = [
    ({"size": 7}, {1: 40, 2: 360, 3: 3544, 4: 25480}),
    ({"size": 7, "diagonal_adjacency": False}, {1: 40, 2: 432, 3: 4720, 4: 40560}),
    ({"size": 7, "swap_rule": False}, {1: 40, 2: 344, 3: 3200, 4: 22280}),
    ({"size": 9}, {1: 65, 2: 817, 3: 11264, 4: 115664}),
    ({"size": 11}, {1: 96, 2: 1556, 3: 27560, 4: 370360}),
]


def after(texts: str, **options: Any) -> Position:
    return play_texts(make_game("obsidio", **options).start(), texts)


def legal(position: Position) -> set[str]:
    return {position.action_to_text(action) for action in position.legal_actions}


def named(texts: str) -> set[str]:
    return set(texts.split())


def kind(cell: str) -> str:
    """Dark, light or target, by the name of the cell."""
    file, rank = "abcdefghijk".index(cell[0]), int(cell[1:]) - 1
    return "light" if (file + rank) % 2 else "target" if file % 2 else "dark"


def of_kind(size: int, wanted: str) -> set[str]:
    names = (cell_name(cell, size) for cell in range(size**2))
    return {name for name in names if kind(name) == wanted}


CONTENTS = {symbol: code for code, symbol in enumerate("bt", rules.INFLUENCE)} | {
    symbol: code for code, symbol in enumerate("BT", rules.CONTROL)
}


def arranged(drawing: str, mover: int = 0, black: int = 0, **options: Any) -> Position:
    """A position with the tokens of the drawing, at the start of ``mover``'s turn.

    ``b`` and ``t`` are influence tokens, ``B`` and ``T`` control tokens of black and teal, as in
    ``board_text``. Every action may be played there: what holds for the next ones is found out
    when the first one has been played.
    """
    rows = [line.split()[1:] for line in dedent(drawing).strip().splitlines()]
    symbols = [symbol for row in reversed(rows) for symbol in row]
    game = make_game("obsidio", **{"size": len(rows), **options})
    position = game.start()
    state = position.state
    state.mover, state.black, state.ply = mover, black, 40
    state.cells[:] = [CONTENTS.get(symbol, rules.EMPTY) for symbol in symbols]
    state.influence[:] = influence_recounted(Position.of_state(game, state))
    state.claims[:] = [symbols.count("B"), symbols.count("T")]
    state.empty = sum(symbol in ".:" for symbol in symbols)
    state.open[:] = rules.PLAYABLE
    return Position.of_state(game, state)


def influence_recounted(position: Position) -> np.ndarray:
    """For both colours, the influence tokens around each target, int[2, cells]; else 0."""
    size = position.game.options["size"]
    board = np.asarray(position.state.cells).reshape(size, size)
    counts = np.zeros((2, size, size), int)
    for colour, rank, file in product((BLACK, TEAL), range(1, size, 2), range(1, size, 2)):
        around = board[rank - 1 : rank + 2, file - 1 : file + 2]
        counts[colour, rank, file] = (around == rules.INFLUENCE + colour).sum()
    return counts.reshape(2, -1)


# Against the reference.


def snapshot_of_position(position: Position) -> dict[str, Any]:
    """The facts that `ReferenceObsidio.snapshot` tells."""
    state = position.state
    colours = {rules.INFLUENCE: 0, rules.INFLUENCE + 1: 1, rules.CONTROL: 0, rules.CONTROL + 1: 1}
    return {
        "cells": [colours.get(content) for content in state.cells.tolist()],
        "last": None if state.last == len(state.cells) else int(state.last),
        "black_player": int(state.black),
        "claims": tuple(state.claims.tolist()),
    }


def reference_of(game: Game) -> Callable[[Position], ReferenceObsidio]:
    return lambda position: ReferenceObsidio(**game.options)


# The board and line of sight.


@pytest.mark.parametrize(("size", "targets"), [(7, 9), (9, 16), (11, 25)])
def test_the_first_token_goes_on_any_dark_or_light_cell(size: int, targets: int) -> None:
    position = after("", size=size)
    assert len(of_kind(size, "target")) == targets
    assert legal(position) == of_kind(size, "dark") | of_kind(size, "light")
    assert len(position.legal_actions) == size**2 - targets
    assert position.game.num_actions == size**2 + 2


def test_the_published_example_of_a_light_token() -> None:
    position = after("a1 g1 g3 f3")
    assert position.mover == 1
    counts = position.state.influence[TEAL]
    assert [counts[read_cell(name, 9, 9)] for name in ("f2", "f4")] == [
        2,
        1,
    ]  # g1 is teal too, and beside f2
    assert position.state.influence[BLACK].tolist().count(1) == 5  # b2 by a1; four by g3
    diagonally_adjacent = named("e2 e4 g2 g4")
    allowed = named("b3 d3 d1 h1 a8 b7 c6 d5 h5 i6")
    assert legal(position) == allowed
    hidden_by_the_target, hidden_by_the_token = named("f5 f7 f9 f1"), named("h3")
    assert not legal(position) & (hidden_by_the_target | hidden_by_the_token)
    lifted = after("a1 g1 g3 f3", diagonal_adjacency=False)
    assert legal(lifted) == allowed | diagonally_adjacent


def test_line_of_sight_ends_at_targets_the_edge_and_tokens() -> None:
    assert legal(after("c3", swap_rule=False)) == named(
        "a3 b3 d3 e3 f3 g3 h3 i3 c1 c2 c4 c5 c6 c7 c8 c9"
    )
    assert legal(after("c3 c7", swap_rule=False)) == named("c4 c5 c6 c8 c9 a7 b7 d7 e7 f7 g7 h7 i7")


def test_claimed_targets_block_sight_and_can_be_the_last_token() -> None:
    position = arranged(
        """
        7 : . : . : . :
        6 . o . o . o .
        5 : . b . b . :
        4 . o . o . o .
        3 : . b . b . :
        2 . o . o . o .
        1 : . : . : . t
        """
    )
    play_texts(position, "d4")
    assert position.mover == 1
    # No empty dark cell is in sight of d4, so any will do; four light cells are.
    taken = named("c3 e3 c5 e5 g1")
    assert legal(position) == (of_kind(7, "dark") - taken) | named("c4 d3 d5 e4")
    play_texts(position, "d5")
    assert legal(position) == named("a2 b3 b7 f3 f7 g2")  # d3 is behind d4


NEAR_D1 = """
    7 : . : . : . :
    6 . o . o . o .
    5 : . : . : . :
    4 . o . o . o .
    3 : t : . : b :
    2 . o {} o {} o .
    1 : t : . : b :
"""


def test_only_light_tokens_start_anew_where_only_dark_cells_are_in_sight() -> None:
    position = play_texts(arranged(NEAR_D1.format("t", "b")), "d1")
    assert position.mover == 1
    taken = named("b3 f3 c2 e2 b1 d1 f1")
    assert legal(position) == named("c1 e1") | (of_kind(7, "light") - taken)


def test_the_second_token_is_in_sight_of_a_first_one_that_started_anew() -> None:
    position = play_texts(arranged(NEAR_D1.format("t", "b")), "d1 a4")
    assert (position.mover, position.state.stage) == (1, rules.SECOND)
    assert legal(position) == named("a2 a6 c6 d7")


def test_no_second_token_where_only_adjacent_cells_are_in_sight() -> None:
    position = play_texts(arranged(NEAR_D1.format(".", ".")), "d1")
    assert (position.mover, position.state.stage) == (1, rules.START)
    lifted = play_texts(arranged(NEAR_D1.format(".", "."), diagonal_adjacency=False), "d1")
    assert (lifted.mover, lifted.state.stage) == (0, rules.SECOND)
    assert legal(lifted) == named("c2 e2")
    play_texts(lifted, "c2")
    assert (lifted.mover, lifted.state.stage) == (1, rules.START)


def test_a_dark_token_ends_the_turn_and_a_second_light_one_too() -> None:
    position = after("a1")
    assert position.mover == 1
    play_texts(position, "b1")
    assert position.mover == 1
    assert all(kind(text) == "light" for text in legal(position))
    play_texts(position, "d1")
    assert (position.mover, position.state.stage) == (0, rules.START)
    assert named("c1 e1 d1") & legal(position) == named("c1 e1")


# Claims.

TWO_TO_CLAIM = """
    7 : . : . : . :
    6 . o . o . o .
    5 : . : . : . :
    4 . o . o . o .
    3 b b b . t t t
    2 . o . o . o .
    1 b . b . t . t
"""


def test_targets_with_four_tokens_may_be_claimed_but_need_not_be() -> None:
    position = play_texts(arranged(TWO_TO_CLAIM), "g7")  # a dark token far away
    assert position.mover == 1
    assert legal(position) == named("f2 a7 b7 c7 d7 e7 f7 g6 g5 g4")


FOUR_AROUND_THREE = """
    7 : . : . : . :
    6 . o . o . o .
    5 b b : . : . :
    4 . o b o . o .
    3 b b b t t t t
    2 b o . o . o t
    1 : . b . t . :
"""


def test_claims_go_on_until_done() -> None:
    position = arranged(FOUR_AROUND_THREE)
    play_texts(position, "b2")
    assert (position.mover, position.state.stage) == (0, rules.CLAIMING)
    assert legal(position) == named("b4 done")
    play_texts(position, "done")
    assert (position.mover, position.state.stage) == (1, rules.START)
    assert position.score == 1
    assert legal(position) & of_kind(7, "target") == named("f2")
    # The last token is the control token on b2, not what was done after it.
    assert legal(position) & of_kind(7, "dark") == named("a1")


def test_the_turn_ends_by_itself_when_nothing_is_left_to_claim() -> None:
    position = play_texts(arranged(FOUR_AROUND_THREE), "b2 b4")
    assert (position.mover, position.state.stage) == (1, rules.START)
    assert position.score == 2
    assert position.state.last == read_cell("b4", 7, 7)
    play_texts(position, "f2")
    assert (position.mover, position.state.stage) == (0, rules.START)
    assert position.score == 1
    tokens = [position.state.cells[read_cell(name, 7, 7)] for name in ("b2", "b4", "f2")]
    assert tokens == [rules.CONTROL + BLACK, rules.CONTROL + BLACK, rules.CONTROL + TEAL]


ALL_BLACK_BUT_ONE = """
    7 : b b b b b b
    6 b o b o b o b
    5 b b b b b b b
    4 b o b o b o b
    3 b b b b b b b
    2 b o b o b o b
    1 b b b b b b b
"""


def test_a_player_who_can_do_nothing_passes_and_the_other_must_claim() -> None:
    position = play_texts(arranged(ALL_BLACK_BUT_ONE), "a7")
    assert position.mover == 1
    assert legal(position) == {"done"}
    play_texts(position, "done")
    assert position.mover == 0
    assert legal(position) == of_kind(7, "target")
    play_texts(position, "d4")
    assert legal(position) == of_kind(7, "target") - {"d4"} | {"done"}
    play_texts(position, "done")
    assert (position.mover, legal(position)) == (1, {"done"})


@pytest.mark.parametrize("black", [0, 1])
def test_a_majority_wins_at_once(black: int) -> None:
    position = play_texts(arranged(ALL_BLACK_BUT_ONE, mover=black, black=black), "a7 done")
    play_texts(position, "b2 b4 b6 d2")
    assert position.outcome == ONGOING
    play_texts(position, "d4")
    assert position.outcome == (PLAYER_1_WINS if black else PLAYER_0_WINS)
    assert position.rewards == ((-1, 1) if black else (1, -1))
    assert position.score == (-5 if black else 5)
    assert not position.mask.any()


LAST_TARGET = """
    9 : . : . : . : . :
    8 . B . B . B . B .
    7 : . : . : . : . :
    6 . B . B . B . {} .
    5 : . : . : . : . :
    4 . T . T . T . T .
    3 : . : . : . b b b
    2 . T . T . T t o b
    1 : . : . : . t t t
"""


@pytest.mark.parametrize("black", [0, 1])
@pytest.mark.parametrize("claimer", [BLACK, TEAL])
def test_the_last_claimer_wins_when_each_has_half_of_the_targets(black: int, claimer: int) -> None:
    other = "T" if claimer == BLACK else "B"
    position = arranged(LAST_TARGET.format(other), mover=claimer ^ black, black=black)
    assert sorted(position.state.claims.tolist()) == [7, 8]
    play_texts(position, "h2")
    assert position.state.claims.tolist() == [8, 8]
    assert position.rewards[claimer ^ black] == 1
    assert position.score == 0


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_full_board_leaves_every_target_to_somebody(seed: int) -> None:
    """So the game is never left undecided, and is never a draw."""
    random = np.random.default_rng(seed)
    tokens = iter(random.choice(list("bt"), 40))
    rows = [
        [":" if (rank, file) == (0, 0) else "o" if rank % 2 & file % 2 else next(tokens)
         for file in range(7)]
        for rank in range(7)
    ]  # fmt: skip
    drawing = "\n".join(f"{7 - rank} " + " ".join(row) for rank, row in enumerate(rows))
    position = play_texts(arranged(drawing, mover=seed % 2), "a7")
    assert position.state.empty == 0
    targets = position.game.kinds == rules.TARGET
    assert (position.state.influence.max(axis=0)[targets] >= 4).all()
    passed = False
    while not position.is_over:
        must_pass = legal(position) == {"done"}
        assert not (passed and must_pass)
        passed = must_pass
        position.play(random.choice(position.legal_actions))
    assert position.outcome in (PLAYER_0_WINS, PLAYER_1_WINS)


# The swap.


@pytest.mark.parametrize("first_turn", ["a1", "a2 a4"])
def test_swap_exchanges_colours_after_the_first_turn(first_turn: str) -> None:
    position = after(first_turn)
    assert position.mover == 1
    assert "swap" in legal(position)
    tokens = position.state.cells.tolist()
    without_swap = legal(position) - {"swap"}
    play_texts(position, "swap")
    assert (position.mover, position.state.black) == (0, 1)
    assert position.state.cells.tolist() == tokens
    assert legal(position) == without_swap
    cell = sorted(cell for cell in legal(position) if kind(cell) == "dark")[0]
    play_texts(position, cell)
    assert position.state.cells[read_cell(cell, 9, 9)] == rules.INFLUENCE + TEAL
    assert position.mover == 1
    assert "swap" not in legal(position)


def test_swap_waits_for_the_end_of_the_first_turn() -> None:
    assert "swap" not in legal(after(""))
    position = after("a2")
    assert position.mover == 0
    assert "swap" not in legal(position)


@pytest.mark.parametrize("moves", ["a1 c1", "a1 b1", "a1 b1 d1", "a1 c1 e1", "a1 swap c1"])
def test_swap_is_the_very_first_action_of_player_1_or_none(moves: str) -> None:
    assert "swap" not in legal(after(moves))


def test_no_swap_without_the_swap_rule() -> None:
    for moves in ("a1", "a2 a4"):
        assert "swap" not in legal(after(moves, swap_rule=False))


# Properties of any game.


def slow_legal_actions(position: Position) -> set[str]:
    """What the contract says, cell by cell, for a position at any stage; the swap is left out."""
    size, state = position.game.options["size"], position.state
    names = [cell_name(cell, size) for cell in range(size**2)]
    held = {name for name, content in zip(names, state.cells, strict=True) if content}
    last = names[state.last] if state.last < size**2 else None
    colour = int(state.mover) ^ int(state.black)
    claimable = {
        name
        for name, count in zip(names, influence_recounted(position)[colour], strict=True)
        if count >= 4 and name not in held
    }
    seen = {name for name in names if name not in held and last and is_seen(last, name, held)}
    if state.stage == rules.CLAIMING:
        return claimable | {"done"}
    if state.stage == rules.SECOND:
        assert last
        adjacent = position.game.options["diagonal_adjacency"]
        return {
            name
            for name in seen
            if kind(name) == "light" and not (adjacent and distance(last, name) == (1, 1))
        }
    placements = set()
    for sort in ("dark", "light"):
        in_sight = {name for name in seen if kind(name) == sort}
        placements |= in_sight or (of_kind(size, sort) - held)
    return placements | claimable or {"done"}


def distance(one: str, other: str) -> tuple[int, int]:
    """Files and ranks between two cells."""
    return abs(ord(one[0]) - ord(other[0])), abs(int(one[1:]) - int(other[1:]))


def is_seen(one: str, other: str, held: set[str]) -> bool:
    """Whether ``other``, which is empty and no target, is in line of sight of ``one``."""
    files, ranks = distance(one, other)
    steps = max(files, ranks)
    if kind(other) == "target" or steps == 0 or (files and ranks and files != ranks):
        return False
    file_step = (ord(other[0]) - ord(one[0])) // steps
    rank_step = (int(other[1:]) - int(one[1:])) // steps
    between = [
        f"{chr(ord(one[0]) + k * file_step)}{int(one[1:]) + k * rank_step}" for k in range(1, steps)
    ]
    return not any(cell in held or kind(cell) == "target" for cell in between)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.sampled_from([7, 9]),
    diagonal_adjacency=st.booleans(),
    swap_rule=st.booleans(),
)
def test_what_the_record_keeps_is_what_a_recount_finds(
    seed: int, size: int, diagonal_adjacency: bool, swap_rule: bool
) -> None:
    game = make_game(
        "obsidio", size=size, diagonal_adjacency=diagonal_adjacency, swap_rule=swap_rule
    )
    random = np.random.default_rng(seed)
    position = game.start()
    while not position.is_over:
        state = position.state
        contents = state.cells.tolist()
        np.testing.assert_array_equal(state.influence, influence_recounted(position))
        assert state.claims.tolist() == [contents.count(rules.CONTROL + c) for c in (0, 1)]
        targets = len(of_kind(size, "target"))
        taken = sum(content in (rules.INFLUENCE, rules.INFLUENCE + 1) for content in contents)
        assert state.empty == size**2 - targets - taken
        assert legal(position) - {"swap"} == slow_legal_actions(position)
        position.play(random.choice(position.legal_actions))
        changed = [
            (old, new)
            for old, new in zip(contents, position.state.cells.tolist(), strict=True)
            if old != new
        ]
        assert len(changed) <= 1  # tokens neither move nor vanish
        assert all(old == rules.EMPTY for old, _ in changed)


# Observations and drawings by example.


def test_observation_shows_the_board_from_the_players_side() -> None:
    position = arranged(FOUR_AROUND_THREE)
    play_texts(position, "b2 done")  # teal to move, last token on b2
    seen, size = {0: position.observation(0), 1: position.observation(1)}, 7

    def plane(cells: str) -> np.ndarray:
        board = np.zeros((size, size))
        for cell in cells.split():
            board.flat[read_cell(cell, size, size)] = 1
        return board

    black, teal = "a5 b5 c4 a3 b3 c3 a2 c1", "d3 e3 f3 g3 g2 e1"
    targets = " ".join(sorted(of_kind(size, "target") - {"b2"}))
    common = {
        rules.UNCLAIMED: targets,
        rules.DARK_CELLS: " ".join(of_kind(size, "dark")),
        rules.LIGHT_CELLS: " ".join(of_kind(size, "light")),
        rules.LAST: "b2",
        rules.VISIBLE: "a1 b1 c2",
        rules.PLACING_SECOND: "",
        rules.CLAIMING_ON: "",
        rules.MAY_SWAP: "",
    }
    # Unclaimed targets by how many tokens of each colour are around them.
    thermometers = {
        BLACK: ["b4 b6 d2 d4", "b4 b6 d2 d4", "b4", "b4"],
        TEAL: ["d2 d4 f2 f4", "d2 d4 f2 f4", "d2 f2 f4", "f2"],
    }
    for player, colour, own, other in ((0, BLACK, black, teal), (1, TEAL, teal, black)):
        expected = common | {
            rules.OWN_INFLUENCE: own,
            rules.OTHER_INFLUENCE: other,
            rules.OWN_CONTROL: "" if player else "b2",
            rules.OTHER_CONTROL: "b2" if player else "",
        }
        for count in range(4):
            expected[rules.OWN_COUNT + count] = thermometers[colour][count]
            expected[rules.OTHER_COUNT + count] = thermometers[1 - colour][count]
        assert sorted(expected) == list(range(rules.NUM_PLANES))
        for number, cells in expected.items():
            np.testing.assert_array_equal(seen[player][number], plane(cells), f"plane {number}")


@pytest.mark.parametrize(
    ("position", "planes"),
    [
        (after(""), set()),
        (after("a1"), {rules.MAY_SWAP}),
        (after("a2"), {rules.PLACING_SECOND}),
        (after("a1 swap"), set()),
        (play_texts(arranged(FOUR_AROUND_THREE), "b2"), {rules.CLAIMING_ON}),
    ],
    ids=["start", "swap", "second token", "swapped", "claiming"],
)
def test_constant_planes_tell_the_stage_of_the_turn(position: Position, planes: set[int]) -> None:
    observation = position.observation()
    for number in (rules.PLACING_SECOND, rules.CLAIMING_ON, rules.MAY_SWAP):
        assert (observation[number] == (number in planes)).all()


def test_after_a_swap_each_sees_the_others_tokens_as_own() -> None:
    position = after("a1")
    before = position.observation(1)
    play_texts(position, "swap")
    assert before[rules.OTHER_INFLUENCE, 0, 0] == 1
    assert position.observation(1)[rules.OWN_INFLUENCE, 0, 0] == 1
    assert position.observation(0)[rules.OTHER_INFLUENCE, 0, 0] == 1


def test_the_place_of_an_action_is_its_cell() -> None:
    game = make_game("obsidio", size=7)
    assert game.action_places is not None
    assert game.action_places.tolist() == [*range(49), -1, -1]


def test_board_text_shows_the_tokens_the_last_one_and_whose_turn_it_is() -> None:
    position = arranged(FOUR_AROUND_THREE, black=1, mover=1)
    play_texts(position, "b2")
    *board, last_line = position.board_text().splitlines()
    expected = """
        7  :  .  :  .  :  .  :
        6  .  o  .  o  .  o  .
        5  b  b  :  .  :  .  :
        4  .  o  b  o  .  o  .
        3  b  b  b  t  t  t  t
        2  b (B) .  o  .  o  t
        1  :  .  b  .  t  .  :
           a  b  c  d  e  f  g
    """
    assert [line[1:] for line in board] == dedent(expected).strip("\n").splitlines()
    assert last_line == (
        "player_1 to claim another target, or write done to end the turn; "
        "points: player_0 (teal: t, T) 0, player_1 (black: b, B) 1"
    )


# Texts and options.


@pytest.mark.parametrize(
    ("moves", "text", "words"),
    [
        ("", "b2", ["'b2'", "not legal", "target", "needs 4 black", "has 0"]),
        ("a1", "b2", ["'b2'", "not legal", "target", "needs 4 teal", "has 0"]),
        ("a1", "a1", ["'a1'", "not legal", "holds a token"]),
        ("a1", "c3", ["'c3'", "not legal", "line of sight", "a1", "dark"]),
        ("a1", "C4", ["'C4'", "not legal", "line of sight", "a1", "light"]),
        ("a1", "done", ["'done'", "not legal", "can be placed"]),
        ("", "swap", ["'swap'", "not legal", "very first action of player_1"]),
        ("a1 c1 e1", "swap", ["'swap'", "not legal", "very first action of player_1"]),
        ("a1 f1", "done", ["'done'", "not legal", "second light token"]),
        ("a1 f1", "c1", ["'c1'", "not legal", "not a light cell", "second"]),
        ("a1 f1", "e2", ["'e2'", "not legal", "diagonally adjacent", "f1"]),
        ("a1 f1", "a4", ["'a4'", "not legal", "line of sight", "f1"]),
        ("", "j1", ["'j1'", "a1 to i9", "swap"]),
        ("", "a0", ["'a0'", "malformed", "done"]),
        ("", "pass", ["'pass'", "malformed", "done"]),
        ("", "", ["''", "malformed"]),
    ],
)
def test_refused_text_is_named_with_the_reason(moves: str, text: str, words: list[str]) -> None:
    message = refusal(after(moves), text)
    for word in words:
        assert word in message


def test_refusals_that_depend_on_the_claims_or_the_options() -> None:
    position = play_texts(arranged(FOUR_AROUND_THREE), "b2")
    with pytest.raises(ValueError, match=r"'a1' is not legal now: after a claim only more claims"):
        position.text_to_action("a1")
    with pytest.raises(ValueError, match=r"'swap' is not legal now: .* without the swap rule"):
        after("a1", swap_rule=False).text_to_action("swap")
    over = play_texts(arranged(LAST_TARGET.format("T")), "h2")
    with pytest.raises(ValueError, match="'a1' is not legal now: the game is over"):
        over.text_to_action("a1")


def test_threats_tell_of_every_target_that_is_claimed() -> None:
    game = make_game("obsidio", size=7)
    told = 0
    for seed in range(2):
        for position, action in random_game(game, seed):
            if action is None:
                continue
            at_hand = int(position.threats().actions[position.mover, action])
            played = position.copy()
            played.play(action)
            if at_hand != WINS:
                owned = [np.count_nonzero(each.owners()) for each in (position, played)]
                assert at_hand == owned[1] - owned[0]
                told += at_hand
    assert told > 0


# Events.


def test_events_are_told_as_they_happened() -> None:
    game = make_game("obsidio", size=7)
    met = np.zeros(len(game.event_names), int)
    for seed in (0, 9):
        reference = ReferenceObsidio(size=7)
        for position, action in random_game(game, seed):
            if action is None:
                break
            kind = kind_of(reference.cells[action]) if action < reference.done else ""
            stage, told = reference.stage, reference.play(action)
            after = position.copy()
            after.play(action)
            is_first = kind == "light" and stage != "second token"
            expected = [
                kind == "target",
                kind == "target" and stage == "claiming",
                "stopped claiming" in told,
                "pass" in told,
                kind == "dark",
                is_first,
                kind == "light" and not is_first,
                "second token forfeited" in told,
                any(each.startswith("new chain") for each in told),
                "swap" in told,
            ]
            found = game.events(position.states, np.array([action]), after.states)[0]
            assert found.tolist() == expected
            met += found
    assert (met > 0).sum() == len(met) - 1  # all but a pass on a full board
