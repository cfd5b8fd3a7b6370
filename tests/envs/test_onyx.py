"""Onyx's rules: drawn positions, the rules' text, and tables for `test_references`.

Positions are drawn as `board_text` draws them, and built by playing their stones on the open board.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import cos, dist, radians, sqrt
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from ludarium.envs.onyx import view
from ludarium.envs.onyx.rules import (
    EMPTY,
    FIRST,
    JOINED_FIRST,
    JOINED_LAST,
    LAST,
    MAY_SWAP,
    OTHER_CORNERS,
    OTHER_MIDPOINTS,
    OWN_CORNERS,
    OWN_MIDPOINTS,
    PLAYS_V,
    RISING_DIAGONALS,
    SQUARES,
    STONE,
    STONES,
    H,
    V,
)
from tests.games import play_texts, random_game, refusal, slow_but
from tests.references.agreement import assert_same
from tests.references.onyx import ReferenceOnyx

#: Options other than the defaults that are compared with the reference.
OPTION_SETS: list[dict[str, Any]] = [
    *({"size": size} for size in (6, 8, 10, 14, 16, 18)),
    {"start": "open"},
    {"swap_rule": True},
    {"max_plies": 60},
    {"size": 6, "start": "open", "swap_rule": True, "max_plies": 30},
]

#: Games beside the reference: with the defaults, and with each other set of options.
GAMES_BESIDE = 100, 5
#: What must come up in these games.
EVENTS = [
    "capture",
    "double capture",
    "capture blocked by an occupied midpoint",
    "midpoint reopened",
    "midpoint placed",
    "win by V",
    "win by H",
    "win through a midpoint",
    "truncated",
]

# Number of action sequences of each length: by options, then by plies.
PERFT: list[tuple[dict[str, Any], dict[int, int]]] = [
    ({"size": 6}, {1: 32, 2: 976, 3: 28376, 4: 786368}),
    ({"size": 6, "start": "open"}, {1: 48, 2: 2208, 3: 97328, 4: 4110912}),
    ({"size": 6, "start": "open", "swap_rule": True}, {1: 48, 2: 2256, 3: 99536, 4: 4208240}),
    ({"size": 12}, {1: 192, 2: 36448, 3: 6840856}),
]

FILES = "abcdefghijklmnopqrst"


def open_board(size: int = 12, **options: Any) -> Position:
    return make_game("onyx", size=size, start="open", **options).start()


# What the tests read off a position or a drawing.


def corner_name(file: int, rank: int) -> str:
    return f"{FILES[file]}{rank + 1}"


def midpoint_name(file: int, rank: int) -> str:
    return f"{FILES[file : file + 2]}{rank + 1}{rank + 2}"


def read_drawing(drawing: str) -> dict[str, str]:
    """Points of a drawn part of a board by name: ``V``, ``H``, or ``+`` or a space if empty.

    The lowest line has the letters of the files; every other line of corners begins with its rank.
    """
    *lines, letters = dedent(drawing).strip("\n").splitlines()
    columns = [(FILES.index(letter), at) for at, letter in enumerate(letters) if letter != " "]
    points = {}
    rank = 0
    for line in reversed(lines):
        if line[:2].strip():
            rank = int(line[:2]) - 1
            for file, column in columns:
                points[corner_name(file, rank)] = line[column]
        else:
            for file, column in columns[:-1]:
                if line[column + 2] not in "/\\":
                    points[midpoint_name(file, rank)] = line[column + 2]
    return points


def board(position: Position) -> dict[str, str]:
    """All points of a position, by name."""
    return read_drawing("\n".join(position.board_text().splitlines()[1:-1]))


def stones(position: Position) -> dict[str, str]:
    return {name: letter for name, letter in board(position).items() if letter in "VH"}


def shows(position: Position, drawing: str) -> bool:
    """Whether the position looks like this in the part that is drawn."""
    whole = board(position)
    return all(whole[name] == letter for name, letter in read_drawing(drawing).items())


def draw_up(drawing: str, to_move: str, size: int = 12) -> Position:
    """Play the stones of a drawing on the open board, then it is ``to_move``'s turn.

    Midpoints come first, for their corners must be empty. Where a side has too few stones it plays
    on a rank in the middle, V on one and H on the next, which nothing is to be drawn near.
    """
    points = read_drawing(drawing)
    by_side = {
        side: sorted((name for name, letter in points.items() if letter == side), key=is_corner)
        for side in "VH"
    }
    plies = max(2 * len(by_side["V"]) - 1, 2 * len(by_side["H"]), 0)
    plies += plies % 2 != "VH".index(to_move)
    position = open_board(size)
    spare = {
        side: iter([f"{file}{size // 2 + 'VH'.index(side)}" for file in FILES]) for side in "VH"
    }
    for ply in range(plies):
        side = "VH"[ply % 2]
        play_texts(position, by_side[side].pop(0) if by_side[side] else next(spare[side]))
    assert shows(position, drawing)
    return position


def is_corner(name: str) -> bool:
    return not name[1].isalpha()


@cache
def drawn_lines(size: int) -> dict[str, set[str]]:
    """The points that lines join to each point, as drawn: ``---``, ``|``, ``/``, ``\\``.

    The four lines that meet in a square's midpoint are not drawn: the square is left empty.
    """
    rows = open_board(size).board_text().splitlines()[1:-2]
    near: dict[str, set[str]] = {}

    def join(one: str, other: str) -> None:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)

    for rank in range(size):
        corners = rows[2 * (size - 1 - rank)]
        above = rows[2 * (size - 1 - rank) - 1] if rank < size - 1 else ""
        for file in range(size):
            column = 3 + 4 * file
            assert corners[column] == "+"
            here, right = corner_name(file, rank), corner_name(min(file + 1, size - 1), rank)
            if corners[column + 1 : column + 4] == "---":
                join(here, right)
            if not above:
                continue
            assert above[column] == "|"
            up = corner_name(file, rank + 1)
            join(here, up)
            if file < size - 1:
                upper_right = corner_name(file + 1, rank + 1)
                cell = above[column + 2]
                if cell == "/":
                    join(here, upper_right)
                elif cell == "\\":
                    join(up, right)
                else:
                    for corner in (here, right, up, upper_right):
                        join(midpoint_name(file, rank), corner)
    return near


def chain(position: Position, start: str) -> set[str]:
    """The stones connected with that on the point ``start``, found by following drawn lines."""
    all_stones = stones(position)
    found, waiting = {start}, [start]
    while waiting:
        for name in drawn_lines(position.game.options["size"])[waiting.pop()] - found:
            if all_stones.get(name) == all_stones[start]:
                found.add(name)
                waiting.append(name)
    return found


# Against the reference.


def snapshot_of_position(position: Position) -> dict[str, Any]:
    """What `ReferenceOnyx.snapshot` returns: stones by colour, and who plays V."""
    game, state = position.game, position.state
    colours = {EMPTY: None, STONE << V: 0, STONE << H: 1}
    stones = (state.board & STONES).tolist()
    contents = [colours[stones[place]] for place in game.places.tolist()]
    corners = game.options["size"] ** 2
    return {
        "corners": contents[:corners],
        "midpoints": contents[corners:],
        "v_player": int(state.v_player),
    }


def reference_of(game: Game) -> Callable[[Position], ReferenceOnyx]:
    """What makes the reference for a position that the game starts from."""
    return lambda start: ReferenceOnyx(**game.options)


@pytest.mark.parametrize("swaps", [True, False])
def test_games_with_an_answer_to_the_swap_rule_agree_with_the_reference(swaps: bool) -> None:
    """Random play hardly ever swaps."""
    game = make_game("onyx", size=6, swap_rule=True)
    winners = set()
    for seed in range(20):
        random = np.random.default_rng(seed)
        position, reference = game.start(), ReferenceOnyx(**game.options)
        while legal := assert_same(position, reference, snapshot_of_position):
            action = int(random.choice(legal[:-1] if game.swap in legal else legal))
            if position.ply == 1 and swaps:
                action = game.swap
                assert "swap" in reference.play(action)
            else:
                reference.play(action)
            position.play(action)
        winners.add((position.state.v_player, position.rewards))
    assert len(winners) == 2  # V and H have won
    assert {v_player for v_player, _ in winners} == {int(swaps)}


# The board.


@pytest.mark.parametrize("size", slow_but([6, 12], range(6, 21, 2)))
def test_number_of_points(size: int) -> None:
    squares = ((size - 1) ** 2 - 1) // 2
    assert make_game("onyx", size=size).num_actions == size**2 + squares + 1
    assert len(open_board(size).legal_actions) == size**2 + squares
    standard = make_game("onyx", size=size).start()
    closed = len(set(board(standard)) - set(stones(standard))) - len(standard.legal_actions)
    # On each edge the two stones are the ends of a square's side, or belong to two squares.
    assert closed == (4 if size % 4 == 0 else 8)


@pytest.mark.parametrize("size", slow_but([6, 12], [6, 12, 18]))
def test_lines_are_those_that_are_drawn(size: int) -> None:
    game = make_game("onyx", size=size)
    name_of = dict(zip(game.places.tolist(), game.action_names, strict=False))
    neighbours = {
        name: {name_of[near] for near in game.tables[0].neighbours[place]} - {name}
        for place, name in name_of.items()
    }
    assert neighbours == drawn_lines(size)


def test_standard_start() -> None:
    game = make_game("onyx")
    assert stones(game.start()) == {
        **dict.fromkeys(("f1", "g1", "f12", "g12"), "H"),
        **dict.fromkeys(("a6", "a7", "l6", "l7"), "V"),
    }
    assert stones(make_game("onyx", size=6).start()) == {
        **dict.fromkeys(("c1", "d1", "c6", "d6"), "H"),
        **dict.fromkeys(("a3", "a4", "f3", "f4"), "V"),
    }
    assert not stones(open_board())
    assert game.start().mover == 0


# The worked examples of the rules as published.


def test_midpoints_lie_in_squares_and_not_in_triangles() -> None:
    position = play_texts(open_board(), "bc12 DE12")
    assert shows(
        position,
        """
         2 +---+---+---+---+
           | / | V | / | H |
         1 +---+---+---+---+
           a   b   c   d   e
        """,
    )
    with pytest.raises(ValueError, match="'cd12' is malformed: a diagonal divides cd12"):
        position.text_to_action("cd12")


def test_a_midpoint_is_closed_while_a_corner_of_its_square_is_taken() -> None:
    position = draw_up(
        """
        10 +---+---V---+---+
           | / |   | / |   |
         9 +---+---+---+---H
           a   b   c   d   e
        """,
        to_move="V",
    )
    for closed in ("bc910", "de910"):
        with pytest.raises(ValueError, match=f"'{closed}' is not legal now: .* four corners"):
            position.text_to_action(closed)
    assert position.text_to_action("fg910") in position.legal_actions


def test_stones_on_one_line_are_linked() -> None:
    drawing = """
        10 +---V---+---H---+
           | / |   | / | H |
         9 V---+---V---+---H
           g   h   i   j   k
        """
    position = draw_up(drawing, to_move="V")
    assert chain(position, "h10") == {"h10", "g9"}
    assert chain(position, "jk910") == {"j10", "jk910", "k9"}
    assert chain(position, "i9") == {"i9"}
    for link in ("h9", "i10"):
        linked = play_texts(position.copy(), link)
        assert chain(linked, link) == {"h10", "g9", "i9", link}


def test_opposite_corners_of_a_square_capture_the_other_two() -> None:
    drawing = """
         4 +---+---V---V---H
           | / |   | / |   |
         3 +---V---H---+---V
           c   d   e   f   g
        """
    position = play_texts(draw_up(drawing, to_move="H"), "d4*")
    assert shows(
        position,
        """
         4 +---H---+---V---H
           | / |   | / |   |
         3 +---+---H---+---V
           c   d   e   f   g
        """,
    )
    assert {"e4", "d3"} <= {position.action_to_text(action) for action in position.legal_actions}
    assert shows(
        play_texts(draw_up(drawing, to_move="H"), "f3"),
        """
         4 +---+---V---+---H
           | / |   | / |   |
         3 +---V---H---H---+
           c   d   e   f   g
        """,
    )


@pytest.mark.parametrize("occupant", "VH")
def test_a_square_with_an_occupied_midpoint_captures_nothing(occupant: str) -> None:
    drawing = f"""
         4 +---+---V---V---H
           | / |   | / | {occupant} |
         3 +---V---H---+---V
           c   d   e   f   g
        """
    position = play_texts(draw_up(drawing, to_move="H"), "f3")
    assert shows(position, drawing.replace("H---+---V", "H---H---V"))


def test_one_stone_can_capture_two_pairs() -> None:
    drawing = """
         4 V---H---V---+---+
           | / |   | / |   |
         3 H---+---H---+---+
           |   | \\ |   | \\ |
         2 V---H---+---H---H
           c   d   e   f   g
        """
    before = draw_up(drawing, to_move="V")
    position = play_texts(before.copy(), "D3**")
    assert shows(
        position,
        """
         4 V---+---V---+---+
           | / |   | / |   |
         3 +---V---+---+---+
           |   | \\ |   | \\ |
         2 V---+---+---H---H
           c   d   e   f   g
        """,
    )
    assert chain(position, "d3") == {"d3"}  # the diagonals of its cells go the other way
    assert chain(position, "f2") == {"f2", "g2"}
    # One square loses its last stones, and its midpoint is open again; EF23 keeps one, at f2.
    assert "'de12' is not legal" in refusal(before, "de12")
    assert position.text_to_action("de12") in position.legal_actions
    assert "'ef23' is not legal" in refusal(position, "ef23")


@pytest.mark.parametrize(("order", "link"), [("f4 g3 f3", "f3"), ("f4 g3 g4", "g4")])
def test_opposite_corners_are_linked_only_by_a_third_stone(order: str, link: str) -> None:
    *first, _ = order.split()
    position = play_texts(open_board(), f"{first[0]} a12 {first[1]} c12")
    assert chain(position, "f4") == {"f4"}
    play_texts(position, link)
    assert chain(position, "f4") == {"f4", "g3", link}


def test_opposite_corners_are_linked_by_the_midpoint() -> None:
    position = play_texts(open_board(), "fg34 a12 f4 c12 g3")
    assert chain(position, "f4") == {"f4", "fg34", "g3"}


# Captures.


def test_two_against_two_side_by_side_is_no_capture() -> None:
    drawing = """
         4 V---V
           |   |
         3 +---H
           d   e
        """
    position = play_texts(draw_up(drawing, to_move="H"), "d3")
    assert shows(position, drawing.replace("+---H", "H---H"))


def test_a_square_captures_only_for_the_player_who_completes_it() -> None:
    """The same four stones: whoever comes last takes the other's two."""
    three = """
         4 V---H
           |   |
         3 +---V
           d   e
        """
    position = play_texts(draw_up(three, to_move="H"), "d3")
    assert shows(position, three.replace("V---H", "+---H").replace("+---V", "H---+"))
    three = """
         4 V---H
           |   |
         3 H---+
           d   e
        """
    position = play_texts(draw_up(three, to_move="V"), "e3")
    assert shows(position, three.replace("V---H", "V---+").replace("H---+", "+---V"))


def test_captured_stones_no_longer_join_their_chain_to_the_edge() -> None:
    position = play_texts(open_board(6), "b1 c3 b2 f1 b3 d1 a3 f3 a4 f5 a5 d6 b5 f6 c4")
    assert chain(position, "b1") == {"b1", "b2", "b3", "a3", "a4", "a5", "b5", "c4"}
    play_texts(position, "b4* b6")  # V reaches the upper edge, but not from the lower one
    assert chain(position, "b6") == {"b6", "b5", "a5", "a4", "a3"}
    assert not position.is_over
    play_texts(position, "e1 a2")
    assert position.outcome == PLAYER_0_WINS


# The end of the game.


@pytest.mark.parametrize(
    ("texts", "winner"),
    [
        ("b1 c1 b2 c2 b3 c3 b4 c4 b5 c5 b6", 0),
        # Board corners are on edges of both sides: along an edge of one's own, or of the other's.
        ("a1 b1 a2 b2 a3 b3 a4 b4 a5 b5 a6", 0),
        ("c3 a1 c4 b1 d4 c1 e3 d1 e4 e1 c5 f1", 1),
        ("b2 a6 b3 b6 b4 c6 d2 d6 d3 e6 d4 f6", 1),
        # Along a diagonal, with V's stones on both sides of it: d3 and e2, then e3 and f4.
        ("b1 a3 b2 b3 d1 c3 d2 d3 e3 e2 f3 f2", 1),
        ("c1 a3 c2 b3 c4 c3 c5 d3 f3 e3 e4 f4", 1),
    ],
)
def test_the_first_chain_from_side_to_side_wins(texts: str, winner: int) -> None:
    *before, last = texts.split()
    position = play_texts(open_board(6), " ".join(before))
    assert not position.is_over
    play_texts(position, last)
    assert position.outcome == (PLAYER_0_WINS, PLAYER_1_WINS)[winner]
    assert position.rewards == ((1, -1), (-1, 1))[winner]
    assert not position.mask.any()


def test_a_chain_can_run_through_a_midpoint() -> None:
    texts = "f1 b1 f2 b2 f4 b3 f5 c4 e1 c5 e2 c6"
    through = play_texts(open_board(6), f"bc34 {texts}")
    assert through.outcome == PLAYER_0_WINS
    without = play_texts(open_board(6), f"e4 {texts}")
    assert not without.is_over
    assert len(chain(without, "c6")) == 3


def test_open_midpoints_are_shown_until_the_game_is_over() -> None:
    texts = "f1 b1 f2 b2 f4 b3 f5 c4 e1 c5 e2"
    for more, is_shown in (("", True), (" c6", False)):
        position = play_texts(open_board(6), f"bc34 {texts}{more}")
        places = len(position.state.board)
        shown = position.slots()[:places]
        assert (shown == view.MIDPOINT).any() == is_shown


def test_the_ply_cap_is_a_draw_by_truncation() -> None:
    texts = "b1 c1 b2 c2 b3 c3 b4 c4 b5 c5 b6"
    cut_off = play_texts(open_board(6, max_plies=10), texts.removesuffix(" b6"))
    assert cut_off.outcome == TRUNCATED
    assert cut_off.rewards == (0, 0)
    assert not cut_off.mask.any()
    won_in_time = play_texts(open_board(6, max_plies=11), texts)
    assert won_in_time.outcome == PLAYER_0_WINS


def test_the_default_ply_cap_is_four_times_the_points() -> None:
    assert make_game("onyx").max_plies == 4 * 204
    assert make_game("onyx", size=6).max_plies == 4 * 48


# Swapping sides.


def test_swapping_exchanges_the_sides_and_leaves_the_board() -> None:
    position = play_texts(open_board(6, swap_rule=True), "b1")
    assert position.action_to_text(position.legal_actions[-1]) == "swap"
    before = stones(position)
    play_texts(position, "SWAP")
    assert stones(position) == before
    assert position.mover == 0
    assert "swap" not in {position.action_to_text(action) for action in position.legal_actions}
    # player_0 now has H's stones, and player_1 finishes the chain that b1 began.
    play_texts(position, "c1 b2 c2 b3 c3 b4 c4 b5 c5")
    assert stones(position)["c1"] == "H"
    assert stones(position)["b2"] == "V"
    play_texts(position, "b6")
    assert position.outcome == PLAYER_1_WINS


def test_swapping_is_offered_only_after_the_first_move() -> None:
    words = "'swap' is not legal now: sides can be swapped only by player_1"
    assert words in refusal(open_board(swap_rule=True), "swap")
    declined = play_texts(open_board(swap_rule=True), "d4 e5")
    assert words in refusal(declined, "swap")
    assert words in refusal(play_texts(declined, "f6"), "swap")
    assert words in refusal(play_texts(open_board(swap_rule=True), "d4 swap"), "swap")
    assert "without the swap rule" in refusal(play_texts(open_board(), "d4"), "swap")


# What follows from the stones is kept up to date.


def assert_consistent(position: Position) -> None:
    """Everything in the record that follows from the stones, the mover and the ply."""
    game, state = position.game, position.state
    size = game.options["size"]
    whole, lines = board(position), drawn_lines(size)
    around = {name: near for name, near in lines.items() if not is_corner(name)}
    taken = [
        sum(whole[corner] in "VH" for corner in around[name])
        for name in game.action_names[size**2 : -1]
    ]
    assert state.occupied.tolist() == taken
    for name, is_open in zip(game.action_names[:-1], state.open, strict=False):
        empty_around = is_corner(name) or all(whole[corner] == "+" for corner in around[name])
        assert is_open == (whole[name] not in "VH" and empty_around)
    assert not state.wave.any()

    expected = np.zeros((2, size, size), np.uint8)  # corners and midpoints by rank and file
    for edge, flag in ((0, FIRST), (size - 1, LAST)):
        for side, colour in (("V", V), ("H", H)):
            on_edge = (
                corner_name(*((place, edge) if side == "V" else (edge, place)))
                for place in range(size)
            )
            joined = {
                name for start in on_edge if whole[start] == side for name in chain(position, start)
            }
            for name, letter in whole.items():
                if letter == side:
                    file, rank = FILES.index(name[0]), lower_rank(name)
                    content = STONE << colour | flag * (name in joined)
                    expected[int(not is_corner(name)), rank, file] |= content
    np.testing.assert_array_equal(state.board.reshape(2, size, size), expected)


def lower_rank(name: str) -> int:
    """The rank of a corner, or the lower one of a midpoint, from 0."""
    digits = name.lstrip(FILES)
    return int(digits if is_corner(name) else digits[: len(digits) // 2]) - 1


@pytest.mark.parametrize(
    "options",
    [{"size": 6}, {"size": 6, "start": "open", "swap_rule": True}, {"size": 12}],
    ids=str,
)
def test_the_record_is_consistent_throughout_random_games(options: dict[str, Any]) -> None:
    game = make_game("onyx", **options)
    for seed in range(1 if game.options["size"] == 12 else 5):
        for position, _ in random_game(game, seed):
            assert_consistent(position)


def test_only_opposing_corner_stones_are_ever_removed() -> None:
    captures = 0
    for seed in range(20):
        game, before = make_game("onyx", size=6), None
        last = side = ""
        for position, action in random_game(game, seed):
            now = stones(position)
            if before is not None:
                lost = set(before) - set(now)
                assert set(now) - set(before) == {last}
                assert all(before[name] != side and is_corner(name) for name in lost)
                assert len(lost) in ((0, 2, 4) if is_corner(last) else (0,))
                captures += bool(lost)
            if action is not None:
                before, side = now, "VH"[position.mover]
                last = position.action_to_text(action)
    assert captures > 20


# Transposition: H's game is V's.


def transposed_name(name: str) -> str:
    """The point with file and rank exchanged."""
    file, rank = lower_rank(name), FILES.index(name[0])
    return corner_name(file, rank) if is_corner(name) else midpoint_name(file, rank)


def test_the_canonical_turn_is_for_h_and_transposes() -> None:
    for texts, v_player in (("d4 e5", 0), ("d4 swap", 1)):
        position = play_texts(open_board(swap_rule=True), texts)
        names = position.game.action_names
        assert not position.is_turned(v_player)
        assert position.is_turned(1 - v_player)
        turned = [names[action] for action in position.game.canonical_turn.actions]
        assert turned == [*map(transposed_name, names[:-1]), "swap"]


# Observations, which the generic tests check against each other, by example.


def planes_of(position: Position, player: int, canonical: bool = False) -> dict[int, str]:
    """Each plane as lines of text, rank 1 at the bottom."""
    observation = position.observation(player, canonical=canonical).astype(int)
    return {
        number: "\n".join("".join(".1"[entry] for entry in row) for row in plane[::-1])
        for number, plane in enumerate(observation)
    }


def drawing(text: str) -> str:
    return dedent(text).strip("\n")


def test_observation_of_each_side() -> None:
    """V on b1, b2, ef45 and d6; H on f2, e1, bc34 and a5."""
    position = play_texts(open_board(6), "ef45 bc34 b1 f2 b2 e1 d6 a5")
    of_v, of_h = planes_of(position, 0, canonical=True), planes_of(position, 1, canonical=True)
    assert of_v[OWN_CORNERS] == drawing("...1..\n......\n......\n......\n.1....\n.1....")
    assert of_h[OTHER_CORNERS] == drawing("......\n......\n.....1\n......\n11....\n......")
    assert of_v[OTHER_CORNERS] == drawing("......\n1.....\n......\n......\n.....1\n....1.")
    assert of_h[OWN_CORNERS] == drawing(".1....\n1.....\n......\n......\n......\n....1.")
    assert of_v[OWN_MIDPOINTS] == drawing("......\n......\n....1.\n......\n......\n......")
    assert of_h[OTHER_MIDPOINTS] == drawing("......\n...1..\n......\n......\n......\n......")
    assert of_v[OTHER_MIDPOINTS] == drawing("......\n......\n......\n.1....\n......\n......")
    assert of_h[OWN_MIDPOINTS] == drawing("......\n......\n......\n......\n..1...\n......")
    assert of_v[JOINED_FIRST] == drawing("......\n1.....\n......\n......\n.1....\n.1....")
    assert of_h[JOINED_FIRST] == drawing("......\n......\n......\n......\n11....\n....1.")
    assert of_v[JOINED_LAST] == drawing("...1..\n......\n......\n......\n.....1\n....1.")
    assert of_h[JOINED_LAST] == drawing(".1....\n1.....\n.....1\n......\n......\n......")
    for planes in (of_v, of_h):
        assert planes[SQUARES] == drawing("......\n.1.1..\n1.1.1.\n.1.1..\n1.1.1.\n.1.1..")
        assert planes[RISING_DIAGONALS] == drawing("......\n1.1.1.\n......\n1.1.1.\n......\n1.1.1.")
    assert set(of_v[PLAYS_V]) == {"1", "\n"}
    assert set(of_h[PLAYS_V]) == {".", "\n"}


def test_observation_says_whether_swapping_is_offered() -> None:
    assert make_game("onyx").observation_shape == (MAY_SWAP, 12, 12)
    position = open_board(swap_rule=True)
    assert not position.observation()[MAY_SWAP].any()
    play_texts(position, "d4")
    assert position.observation()[MAY_SWAP].all()
    for answer in ("swap", "e5"):
        assert not play_texts(position.copy(), answer).observation()[MAY_SWAP].any()


@pytest.mark.parametrize("swapped", [False, True])
def test_a_stone_appears_where_its_action_has_its_place(swapped: bool) -> None:
    start = play_texts(open_board(6, swap_rule=True), "d4 swap" if swapped else "d4 e5")
    own = np.array([OWN_CORNERS, OWN_MIDPOINTS])
    for texts in ("", "b3"):
        position = play_texts(start.copy(), texts)
        player, places = position.mover, position.game.action_places
        before = position.observation(player)[own].ravel()
        for action in position.legal_actions:
            after = position.copy()
            after.play(action)
            gained = np.flatnonzero(after.observation(player)[own].ravel() != before)
            assert gained.tolist() == [places[action]]
    assert start.game.action_places[-1] == -1


# Texts and options.


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("a1", 0),
        ("l1", 11),
        ("d10", 9 * 12 + 3),
        ("D10*", 9 * 12 + 3),
        ("d10**", 9 * 12 + 3),
        ("l12", 143),
        ("bc12", 144),  # the first midpoint: ranks 1 and 2, not rank 12
        ("de12", 145),
        ("jk12", 148),
        ("ab23", 149),
        ("kl23", 154),
        ("de910", 144 + 5 + 7 * 5 + 4 + 1),
        ("BC1112", 199),
        ("jk1112", 203),
    ],
)
def test_texts_and_numbers(text: str, action: int) -> None:
    position = open_board()
    assert position.text_to_action(text) == action
    assert position.action_to_text(action) == text.lower().rstrip("*")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("m1", ["'m1'", "a1 to l12"]),
        ("a13", ["'a13'", "a1 to l12"]),
        ("a0", ["'a0'", "malformed", "a1 to l12"]),
        ("a01", ["'a01'", "malformed"]),
        ("cd12", ["'cd12'", "diagonal", "only squares"]),
        ("BC1011", ["'BC1011'", "diagonal"]),
        ("bd12", ["'bd12'", "b and d are not two files side by side"]),
        ("cb12", ["'cb12'", "c and b are not two files side by side"]),
        ("bc13", ["'bc13'", "13 is not two ranks"]),
        ("bc21", ["'bc21'", "21 is not two ranks"]),
        ("bc1", ["'bc1'", "1 is not two ranks"]),
        ("lm12", ["'lm12'", "a1 to l12"]),
        ("bc1213", ["'bc1213'", "a1 to l12"]),
        ("d3***", ["'d3***'", "malformed", "each captured pair"]),
        ("swap*", ["'swap*'", "malformed"]),
        ("3d", ["'3d'", "malformed"]),
        ("d-3", ["'d-3'", "malformed"]),
        ("", ["''", "malformed"]),
        ("pass", ["'pass'", "malformed", "swap"]),
        ("d4", ["'d4'", "not legal now", "d4 is taken"]),
        ("cd45", ["'cd45'", "not legal now", "cd45 is taken"]),
        ("ab45", ["'ab45'", "not legal now", "four corners"]),
    ],
)
def test_refused_text_is_named_with_the_reason(text: str, words: list[str]) -> None:
    message = refusal(play_texts(open_board(), "cd45 d4 a5"), text)
    for word in words:
        assert word in message


def test_board_text_says_who_is_to_move_or_has_won() -> None:
    texts = "b1 swap c1 b2 c2 b3 c3 b4 c4 b5 c5 b6"
    position, last_lines = open_board(6, swap_rule=True), []
    for text in texts.split():
        last_lines.append(position.board_text().splitlines()[-1])
        play_texts(position, text)
    last_lines.append(position.board_text().splitlines()[-1])
    assert last_lines[:4] == [
        "player_0 to move; player_0 (V), player_1 (H)",
        "player_1 to move or swap; player_0 (V), player_1 (H)",
        "player_0 to move; player_0 (H), player_1 (V)",
        "player_1 to move; player_0 (H), player_1 (V)",
    ]
    assert last_lines[-1] == "player_1 has won; player_0 (H), player_1 (V)"
    drawn = play_texts(open_board(6, max_plies=1), "b1")
    assert drawn.board_text().endswith("\ndrawn at the ply cap; player_0 (V), player_1 (H)")


# The picture.


@pytest.mark.parametrize("size", [6, 12])
def test_the_picture_shows_true_squares_and_equilateral_triangles(size: int) -> None:
    game = make_game("onyx", size=size)
    cells = {"squares": 0, "pairs of triangles": 0}
    for area in re.findall(r'<path d="([^"]*Z)"', game.start().svg()):
        for outline in area.split("Z")[:-1]:
            corners = [tuple(map(float, corner.split())) for corner in outline[1:].split("L")]
            sides = [dist(one, other) for one, other in pairwise([*corners, corners[0]])]
            diagonals = sorted([dist(corners[0], corners[2]), dist(corners[1], corners[3])])
            side = 800 / (size + 1) / cos(radians(15))
            assert sides == pytest.approx([side] * 4, abs=0.05)
            kind = "squares" if diagonals[0] > 1.2 * side else "pairs of triangles"
            shapes = {"squares": [sqrt(2), sqrt(2)], "pairs of triangles": [1, sqrt(3)]}
            assert diagonals == pytest.approx([side * ratio for ratio in shapes[kind]], abs=0.05)
            cells[kind] += 1
    squares = len(game.squares)
    assert cells == {"squares": squares, "pairs of triangles": (size - 1) ** 2 - squares}


def test_the_picture_marks_a_swap() -> None:
    position = play_texts(open_board(swap_rule=True), "d4 swap")
    picture = position.svg(position.game.swap)
    assert "player_0, white, left to right" in picture
    assert "player_1, black, bottom to top" in picture
    assert "ply 2: swap" in picture
    assert "player_0, black" in open_board().svg()


def test_the_symmetry_is_half_a_turn() -> None:
    game = make_game("onyx", size=6)
    names = [game.action_names[action] for action in game.symmetries().actions[1]]
    image = dict(zip(game.action_names, names, strict=True))
    assert [image[each] for each in ("a1", "b3", "bc12", "swap")] == ["f6", "e4", "de56", "swap"]
