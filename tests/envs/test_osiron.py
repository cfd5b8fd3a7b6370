"""Osiron's rules: against the plain reference, known counts, worked positions and starts.

``LUDARIUM_GAMES=20000 pytest tests/envs/test_osiron.py`` plays that many games with the default
options instead of the short run's, and a tenth of it with each other set of options.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.envs import Game, Position, make_game
from ludarium.envs.board.picture import GOLD, LIGHT
from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.rule import DRAW, TRUNCATED, seed_rng
from ludarium.envs.osiron import Osiron
from ludarium.envs.osiron.board import CIRCLE_SPACES, HEXAGON, NAMES, PAIR_ENDS, PLACES, set_of
from ludarium.envs.osiron.rules import (
    BOARD,
    FORBIDDEN,
    IS_LIGHT,
    NO_PAIR,
    OTHER_EXCLUDED,
    OTHER_FIVE,
    OTHER_FOUR,
    OTHER_PIECES,
    OTHER_THREE,
    OWN_EXCLUDED,
    OWN_FIVE,
    OWN_FOUR,
    OWN_PIECES,
    OWN_THREE,
)
from tests.games import random_game, random_positions, slow_but
from tests.references.agreement import Snapshot, play_beside
from tests.references.osiron import ReferenceOsiron

GAMES_TO_PLAY = int(os.environ.get("LUDARIUM_GAMES", "200"))

#: Options besides the defaults, for comparing with the reference.
OPTION_SETS: list[dict[str, Any]] = [
    {"setup": "alternating"},
    {"setup": "random"},
    {"repetition": 0},
    {"repetition": 2},
    {"setup": "random", "repetition": 2},
    {"setup": "alternating", "repetition": 2, "max_plies": 7},
    {"max_plies": 1},
    {"repetition": 5},
]

# Number of action sequences of each length from the start.
PERFT = {
    "beginner": {1: 4, 2: 24, 3: 188, 4: 1624, 5: 15292, 6: 152920},
    "alternating": {1: 30, 2: 774, 3: 17838, 4: 374502},
}
# Number of different positions (colouring and forbidden pair) after exactly so many plies.
DISTINCT = {
    "beginner": [4, 24, 140, 610, 2104],
    "alternating": [30, 774, 9306],
}


def play_texts(position: Position, texts: str) -> Position:
    for text in texts.split():
        position.play(position.text_to_action(text))
    return position


def after(texts: str, **options: Any) -> Position:
    return play_texts(make_game("osiron", **options).start(), texts)


def begun_with(light: str, **options: Any) -> Position:
    """The start of a game in which the spaces named in ``light`` are light at first."""
    spaces = {NAMES.index(name) for name in light.split()}
    assert len(spaces) == 12
    game = Osiron(**options)  # of its own, for it is changed
    game.tables["start"] = set_of(spaces)
    return game.start()


def letters(position: Position) -> str:
    return position.board_text().splitlines()[-1]


# Against the reference.


def snapshot_of_position(position: Position) -> Snapshot:
    """What the reference tells of a position."""
    forbidden = int(position.state.forbidden)
    return {
        "spaces": letters(position),
        "forbidden": None if forbidden == NO_PAIR else PAIR_ENDS[forbidden],
    }


def reference_of(game: Game) -> Callable[[Position], ReferenceOsiron]:
    """Starts the reference where a position is, with the options of ``game``."""

    def start(position: Position) -> ReferenceOsiron:
        spaces = letters(position) if game.random_start else None
        return ReferenceOsiron(**game.options, spaces=spaces)

    return start


@cache
def events_of(number: int) -> Counter[str]:
    """Events of the games with the default options (-1) or with another set of them."""
    options = {} if number < 0 else OPTION_SETS[number]
    game = make_game("osiron", **options)
    games = GAMES_TO_PLAY if number < 0 else max(60, GAMES_TO_PLAY // 10)
    return play_beside(
        game, reference_of(game), snapshot_of_position, games, seed=1000 * (number + 1)
    )


@pytest.mark.parametrize("number", slow_but([-1, 0], range(-1, len(OPTION_SETS))))
def test_random_games_agree_with_the_reference(number: int) -> None:
    assert events_of(number)["games"] >= 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "least"),
    [
        ("circle completed by the mover", 5),
        ("circle completed for the opponent", 5),
        ("win on the opponent's excluded circle", 5),
        ("excluded circle completed again without a win", 5),
        ("repetition draw", 1),
        ("undo forbidden", 5),
        ("truncated", 5),
    ],
)
def test_the_random_games_met(event: str, least: int) -> None:
    assert sum(events_of(number)[event] for number in range(-1, len(OPTION_SETS))) >= least


# The board.


def test_board_has_24_spaces_30_borders_and_seven_circles() -> None:
    assert len(NAMES) == len(set(NAMES)) == 24
    assert [NAMES[index] for index in (0, 4, 5, 11, 12, 18, 19, 23)] == [
        *("a1", "a5", "b1", "b7", "c1", "c7", "d1", "d5")
    ]
    assert len(PAIR_ENDS) == len(set(PAIR_ENDS)) == 30
    assert sorted(PAIR_ENDS) == PAIR_ENDS
    assert all(lower < higher for lower, higher in PAIR_ENDS)
    borders = Counter(space for ends in PAIR_ENDS for space in ends)
    # The twelve triangles at the edge of the hexagon border two others, the rest three.
    assert Counter(borders.values()) == {2: 12, 3: 12}
    assert [len(circle) for circle in CIRCLE_SPACES] == [6] * 7


def test_pairs_that_border_across_rows() -> None:
    across = [
        f"{NAMES[lower]}-{NAMES[higher]}"
        for lower, higher in PAIR_ENDS
        if PLACES[lower][0] != PLACES[higher][0]
    ]
    assert across == [
        *("a1-b2", "a3-b4", "a5-b6", "b1-c1", "b3-c3", "b5-c5", "b7-c7"),
        *("c2-d1", "c4-d3", "c6-d5"),
    ]


def test_ring_circles_overlap_their_ring_neighbours_and_the_centre_only() -> None:
    shared = {
        (one, other): len(CIRCLE_SPACES[one] & CIRCLE_SPACES[other])
        for one, other in combinations(range(7), 2)
    }
    centre = 3  # upwards and rightwards, the centre is the fourth of seven
    ring = [0, 1, 4, 6, 5, 2]
    neighbours = {tuple(sorted((ring[k], ring[k - 1]))) for k in range(6)}
    for pair, count in shared.items():
        assert count == (2 if centre in pair or pair in neighbours else 0)


def test_each_circle_is_six_spaces_in_a_ring() -> None:
    for circle in CIRCLE_SPACES:
        inside = [ends for ends in PAIR_ENDS if set(ends) <= circle]
        assert Counter(space for ends in inside for space in ends) == dict.fromkeys(circle, 2)


def test_halves_hold_two_circles_each_which_do_not_count_for_their_player() -> None:
    game = make_game("osiron")
    assert [
        [" ".join(NAMES[space] for space in sorted(CIRCLE_SPACES[circle])) for circle in circles]
        for circles in game.excluded_circles
    ] == [
        ["a1 a2 a3 b2 b3 b4", "a3 a4 a5 b4 b5 b6"],
        ["c2 c3 c4 d1 d2 d3", "c4 c5 c6 d3 d4 d5"],
    ]
    for player in (0, 1):
        assert int(game.tables["counting"][0, player]).bit_count() == 5
        assert len(game.excluded_circles[player]) == 2
    for setup in ("alternating", "random"):
        assert make_game("osiron", setup=setup).excluded_circles == [[], []]


def test_starts() -> None:
    assert letters(after("")) == 12 * "L" + 12 * "D"
    rows = ["DLDLD", "DLDLDLD", "LDLDLDL", "LDLDL"]
    assert letters(after("", setup="alternating")) == "".join(rows)


def test_hexagon_has_twelve_symmetries_which_keep_borders_and_circles() -> None:
    assert len(np.unique(HEXAGON, axis=0)) == 12
    pairs = {frozenset(ends) for ends in PAIR_ENDS}
    circles = {frozenset(circle) for circle in CIRCLE_SPACES}
    for image in HEXAGON.tolist():
        assert {frozenset(image[space] for space in pair) for pair in pairs} == pairs
        assert {frozenset(image[space] for space in circle) for circle in circles} == circles


def test_every_colouring_has_four_pairs_to_exchange_or_more() -> None:
    """So a player always has a legal action, for only one pair can be forbidden."""
    sets = np.arange(1 << 24, dtype=np.uint32)
    light = sets[np.bitwise_count(sets) == 12]
    assert len(light) == 2_704_156
    mixed = np.zeros(len(light), np.uint8)
    for lower, higher in PAIR_ENDS:
        mixed += ((light >> lower ^ light >> higher) & 1).astype(np.uint8)
    assert mixed.min() == 4
    assert mixed.max() == 30


# Known counts.


@pytest.mark.parametrize(
    ("setup", "depth", "sequences"),
    [(setup, depth, count) for setup, row in PERFT.items() for depth, count in row.items()],
)
def test_perft(setup: str, depth: int, sequences: int) -> None:
    assert make_game("osiron", setup=setup).start().perft(depth) == sequences


def key(position: Position) -> tuple[int, int]:
    return int(position.state.light), int(position.state.forbidden)


@pytest.mark.parametrize(("setup", "counts"), DISTINCT.items())
def test_number_of_distinct_positions(setup: str, counts: list[int]) -> None:
    start = make_game("osiron", setup=setup).start()
    layer, found = {key(start): start}, []
    for _ in counts:
        children = {}
        for position in layer.values():
            for action in position.legal_actions:
                child = position.copy()
                child.play(action)
                children[key(child)] = child
        layer = children
        found.append(len(layer))
    assert found == counts


# Wins.


def test_the_first_player_to_fill_a_circle_wins() -> None:
    line = "c1-c2 c4-c3 b6-b5 b3-b2"
    position = after(line, setup="alternating")
    assert not position.is_over
    play_texts(position, "c2-c3")  # b3 b4 b5 c3 c4 c5 are light: the centre
    assert position.is_over
    assert position.rewards == (1, -1)
    assert not position.mask.any()


def test_dark_wins_too() -> None:
    position = after("c3-c2 a3-b4 d1-d2 c6-c5", setup="alternating")
    assert position.rewards == (-1, 1)


@pytest.mark.parametrize(
    ("line", "setup", "rewards"),
    [
        ("c3-c2 a3-b4 c5-c6", "alternating", (-1, 1)),
        ("b2-b3 b1-c1 d5-c6 c4-d3 a4-a3 b5-b6", "alternating", (1, -1)),
        ("b5-c5 c7-b7 b3-c3 c2-c3 b6-b7 b5-b4 c5-c4 d3-c4 b5-b6", "beginner", (-1, 1)),
    ],
)
def test_who_fills_a_circle_for_the_opponent_loses(
    line: str, setup: str, rewards: tuple[int, int]
) -> None:
    *before, last = line.split()
    position = after(" ".join(before), setup=setup)
    assert not position.is_over
    play_texts(position, last)
    assert position.rewards == rewards


# Light completes b1 b2 b3 c1 c2 c3 by b4-b3, and dark a3 a4 a5 b4 b5 b6.
BOTH = "b1 b2 b4 c1 c2 c3 a1 b7 c7 d1 d4 d5"


def test_the_mover_wins_where_both_complete_a_circle() -> None:
    position = play_texts(begun_with(BOTH), "b4-b3")
    assert position.rewards == (1, -1)
    # The same exchange by dark, after one elsewhere.
    position = play_texts(begun_with(BOTH), "d1-d2")
    assert position.mover == 1
    play_texts(position, "b3-b4")
    assert position.rewards == (-1, 1)


# Light completes a1 a2 a3 b2 b3 b4 by b5-b4, and dark b5 b6 b7 c5 c6 c7.
BOTH_BUT_ONE_EXCLUDED = "a1 a2 a3 b2 b3 b5 c1 c2 d1 d2 d3 d5"


def test_a_circle_that_does_not_count_does_not_help_against_one_that_does() -> None:
    position = play_texts(begun_with(BOTH_BUT_ONE_EXCLUDED), "b5-b4")
    assert position.rewards == (-1, 1)
    position = play_texts(begun_with(BOTH_BUT_ONE_EXCLUDED, setup="alternating"), "b5-b4")
    assert position.rewards == (1, -1)


# Light completes c4 c5 c6 d3 d4 d5, in dark's half, by b5-c5.
IN_DARKS_HALF = "b5 c4 c6 d3 d4 d5 a1 a2 a4 b1 b2 c1"
# Light completes a1 a2 a3 b2 b3 b4, in its own half, by b5-b4.
IN_LIGHTS_HALF = "a1 a2 a3 b2 b3 b5 c1 c3 c5 d1 d3 d5"


def test_a_circle_that_is_excluded_for_the_opponent_wins() -> None:
    position = play_texts(begun_with(IN_DARKS_HALF), "b5-c5")
    assert position.rewards == (1, -1)


def test_an_excluded_circle_does_not_win_for_its_own_player() -> None:
    position = play_texts(begun_with(IN_LIGHTS_HALF), "b5-b4")
    assert not position.is_over
    position = play_texts(begun_with(IN_LIGHTS_HALF, setup="alternating"), "b5-b4")
    assert position.rewards == (1, -1)
    # Left and completed again in a game from the start: no win.
    position = after("b5-c5 c6-c5 c6-c7")
    assert {letters(position)[space] for space in CIRCLE_SPACES[6]} == {"D"}
    assert not position.is_over


@pytest.mark.parametrize(
    ("light", "elsewhere", "exchange", "is_won"),
    [(IN_DARKS_HALF, "d1-d2", "c3-b3", True), (IN_LIGHTS_HALF, "a4-a5", "c3-c4", False)],
)
def test_excluded_circles_for_dark(light: str, elsewhere: str, exchange: str, is_won: bool) -> None:
    # What light does there dark does here, on the board turned by half, after one exchange.
    dark = {NAMES[23 - NAMES.index(name)] for name in light.split()}
    position = begun_with(" ".join(name for name in NAMES if name not in dark))
    play_texts(position, f"{elsewhere} {exchange}")
    assert position.rewards == ((-1, 1) if is_won else (0, 0))
    assert position.is_over == is_won


# The opponent's exchange.


def test_the_opponents_exchange_may_not_be_undone_at_once_but_later() -> None:
    position = after("b5-c5")
    action = PAIR_ENDS.index((NAMES.index("b5"), NAMES.index("c5")))
    assert position.mask[action] == 0
    with pytest.raises(ValueError, match="'c5-b5' is not legal now: it would undo the exchange"):
        position.text_to_action("c5-b5")
    with pytest.raises(ValueError, match=rf"action {action} \(b5-c5\) is not legal: it would undo"):
        position.play(action)
    play_texts(position, "c1-b1 c5-b5")
    assert letters(position) == letters(after("b1-c1"))


@settings(max_examples=60)
@given(
    setup=st.sampled_from(["beginner", "alternating", "random"]),
    seed=st.integers(0, 2**32),
    choices=st.lists(st.integers(0, 10**6), max_size=120),
)
def test_what_holds_in_every_position(setup: str, seed: int, choices: list[int]) -> None:
    position = make_game("osiron", setup=setup).start(seed)
    exchanged = None
    for choice in choices:
        state, spaces = position.state, letters(position)
        assert spaces.count("L") == 12
        assert set_of(k for k in range(24) if spaces[k] == "L") == state.light
        mixed = [pair for pair, ends in enumerate(PAIR_ENDS) if len({spaces[k] for k in ends}) == 2]
        assert set_of(mixed) == state.mixed
        counts = [sum(spaces[k] == "L" for k in circle) for circle in CIRCLE_SPACES]
        assert sum(count << 4 * circle for circle, count in enumerate(counts)) == state.light_around
        if position.is_over:
            break
        legal = position.legal_actions.tolist()
        assert legal == [pair for pair in mixed if pair != exchanged]
        assert len(legal) >= 3
        exchanged = legal[choice % len(legal)]
        position.play(exchanged)
        assert state.forbidden == exchanged


# Draws.

# Four plies that lead back to the colouring before them, whichever setup.
CYCLE = "b5-c5 c1-b1 c5-b5 b1-c1"


@pytest.mark.parametrize("times", [2, 3, 4, 20])
def test_a_position_that_occurs_for_so_many_times_is_a_draw(times: int) -> None:
    # What comes back first is the position after the first ply.
    last = 4 * (times - 1) + 1
    line = (CYCLE + " ") * times
    position = make_game("osiron", repetition=times).start()
    for text in line.split()[: last - 1]:
        play_texts(position, text)
        assert not position.is_over
    play_texts(position, "b5-c5")
    assert position.ply == last
    assert position.outcome == DRAW
    assert not position.is_truncated
    assert position.rewards == (0, 0)


def test_without_repetition_the_game_goes_on_to_the_cap() -> None:
    position = after((CYCLE + " ") * 49 + "b5-c5 c1-b1 c5-b5", repetition=0)
    assert (position.ply, position.is_over) == (199, False)
    play_texts(position, "b1-c1")
    assert position.outcome == TRUNCATED


def test_the_colouring_alone_is_no_repetition() -> None:
    # The start comes back, but only one of these positions allows the exchange of b1 and c1.
    position = after(CYCLE, repetition=2)
    start = make_game("osiron").start()
    assert letters(position) == letters(start)
    assert not position.is_over
    assert set(start.legal_actions) - set(position.legal_actions) == {
        PAIR_ENDS.index((NAMES.index("b1"), NAMES.index("c1")))
    }


def test_a_repetition_with_another_player_to_move_would_be_another_position() -> None:
    """Pieces on triangles that point up tell who is to move, so none ever comes up."""
    for setup in ("beginner", "alternating", "random"):
        game = make_game("osiron", setup=setup)
        for seed in range(5):
            up: list[int] = []
            for position, _ in random_game(game, seed):
                light = letters(position)
                up.append(sum(light[k] == "L" and sum(PLACES[k]) % 2 == 0 for k in range(24)))
            assert {abs(one - other) for one, other in pairwise(up)} == {1}


@pytest.mark.parametrize("max_plies", [1, 6, 7])
def test_the_cap_truncates(max_plies: int) -> None:
    position = make_game("osiron", max_plies=max_plies).start()
    while not position.is_over:
        position.play(position.legal_actions[0])
    assert position.ply == max_plies
    assert position.is_truncated
    assert position.rewards == (0, 0)


def test_a_game_that_ends_on_the_last_ply_is_not_truncated() -> None:
    position = after(CYCLE + " b5-c5", repetition=2, max_plies=5)
    assert position.outcome == DRAW
    position = after(CYCLE + " b5-c5", repetition=3, max_plies=5)
    assert position.outcome == TRUNCATED
    position = after("c3-c2 a3-b4 c5-c6", setup="alternating", max_plies=3)
    assert position.rewards == (-1, 1)


# Random starts.


def random_starts(count: int, seed: int = 0) -> np.ndarray:
    """Light spaces of random starts, uint32[count]."""
    game = make_game("osiron", setup="random")
    states = game.new_states(count)
    game.kernels.start(game.tables, states, seed_rng(seed, count))
    return states["light"].astype(np.uint32)


def has_full_circle(light: np.ndarray) -> np.ndarray:
    full = np.zeros(len(light), bool)
    for circle in CIRCLE_SPACES:
        spaces = np.uint32(set_of(circle))
        full |= (light & spaces == spaces) | (light & spaces == 0)
    return full


def test_random_starts_follow_the_seed() -> None:
    game = make_game("osiron", setup="random")
    assert game.random_start
    assert game.start(3) == game.start(3)
    assert len({letters(game.start(seed)) for seed in range(30)}) == 30
    for setup in ("beginner", "alternating"):
        assert not make_game("osiron", setup=setup).random_start


def test_random_starts_hold_twelve_pieces_each_and_no_full_circle() -> None:
    light = random_starts(20_000)
    assert (np.bitwise_count(light) == 12).all()
    assert not has_full_circle(light).any()


def test_random_starts_are_uniform() -> None:
    """By spaces that are light in each circle and on upward triangles, against all colourings."""
    sets = np.arange(1 << 24, dtype=np.uint32)
    allowed = sets[np.bitwise_count(sets) == 12]
    allowed = allowed[~has_full_circle(allowed)]
    assert len(allowed) == 2_462_446
    drawn = random_starts(40_000)
    upward = [space for space, place in enumerate(PLACES) if sum(place) % 2 == 0]
    for spaces in [*CIRCLE_SPACES, upward, range(12), [0], [4, 5], [11, 18], [1, 2, 8, 15]]:
        part = np.uint32(set_of(spaces))
        expected = np.bincount(np.bitwise_count(allowed & part)) * (len(drawn) / len(allowed))
        found = np.bincount(np.bitwise_count(drawn & part), minlength=len(expected))
        likely = expected > 5
        chi_square = ((found - expected)[likely] ** 2 / expected[likely]).sum()
        freedom = likely.sum() - 1
        assert chi_square < freedom + 5 * np.sqrt(2 * freedom)
    # Of so many draws, about count**2 / 2 / colourings pairs should be the same: 325.
    pairs = len(drawn) - len(np.unique(drawn))
    assert 250 < pairs < 400


# Texts and options.


def test_board_text() -> None:
    expected = """
        d    D D D D D
        c  D D D D L D D
        b  L L L L D L L
        a    L L L L L
        player_1 to move, but not b5-c5; player_0 (light: L), player_1 (dark: D)
        LLLLLLLLLDLLDDDDLDDDDDDD
    """
    assert after("b5-c5").board_text() == dedent(expected).strip()
    assert status(after("")) == "player_0 to move"
    assert status(after("c3-c2 a3-b4 c5-c6", setup="alternating")) == "player_1 has won"
    assert status(after(CYCLE + " b5-c5", repetition=2)) == "drawn"
    assert status(after("b5-c5", max_plies=1)) == "drawn at the ply cap"


def status(position: Position) -> str:
    """Who is to move, or how the game ended."""
    return position.board_text().splitlines()[-2].partition(";")[0]


def test_the_movers_space_is_written_first_and_either_order_is_read() -> None:
    start = make_game("osiron").start()
    texts = [start.action_to_text(action) for action in start.legal_actions]
    assert texts == ["b1-c1", "b3-c3", "b5-c5", "b7-c7"]
    assert start.text_to_action("C5-B5 ") == start.text_to_action("b5-c5")
    position = after("b7-c7")
    texts = [position.action_to_text(action) for action in position.legal_actions]
    assert texts == ["c1-b1", "c3-b3", "c5-b5", "b7-b6", "c6-c7"]


@pytest.mark.parametrize(
    ("moves", "text", "words"),
    [
        ("", "a1-a2", ["'a1-a2'", "not legal", "both light"]),
        ("", "d3-c4", ["'d3-c4'", "not legal", "both dark"]),
        ("b5-c5", "b5-c5", ["'b5-c5'", "not legal", "undo"]),
        ("", "b4-c4", ["'b4-c4'", "do not share a side", "b4 borders a3 and b3 and b5"]),
        ("", "a1-d5", ["'a1-d5'", "do not share a side", "a1 borders a2 and b2"]),
        ("", "b4-b4", ["'b4-b4'", "do not share a side"]),
        ("", "a6-b7", ["'a6-b7'", "a1 to a5", "b1 to b7"]),
        ("", "e1-d1", ["'e1-d1'", "'e1'", "d1 to d5"]),
        ("", "b4c4", ["'b4c4'", "hyphen"]),
        ("", "b5", ["'b5'", "hyphen"]),
        ("", "", ["''", "hyphen"]),
        ("", "b5-c5-b5", ["'b5-c5-b5'", "hyphen"]),
        ("", "-", ["'-'", "malformed"]),
        ("", "b5 - c5", ["'b5 - c5'", "malformed"]),
    ],
)
def test_refused_text_is_named_with_the_reason(moves: str, text: str, words: list[str]) -> None:
    position = after(moves)
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        position.text_to_action(text)
    for word in words:
        assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("setup", "expert", "one of 'beginner', 'alternating', 'random'"),
        ("setup", None, "one of 'beginner'"),
        ("max_plies", 0, "an integer from 1 to 10000"),
        ("max_plies", 10_001, "an integer from 1 to 10000"),
        ("max_plies", None, "an integer from 1 to 10000"),
        ("repetition", 1, r"0 \(never\) or an integer from 2 to 10000"),
        ("repetition", -1, r"0 \(never\) or an integer from 2 to 10000"),
        ("repetition", 10_001, r"0 \(never\) or an integer from 2 to 10000"),
        ("repetition", True, r"0 \(never\) or an integer from 2 to 10000"),
        ("repetition", 3.0, r"0 \(never\) or an integer from 2 to 10000"),
    ],
)
def test_other_options_are_refused(option: str, value: object, accepted: str) -> None:
    with pytest.raises(ValueError, match=f"option '{option}' is {value!r}; accepted: {accepted}"):
        make_game("osiron", **{option: value})


def test_default_options() -> None:
    assert make_game("osiron").options == {"setup": "beginner", "max_plies": 200, "repetition": 3}


# Observations.


NOTHING = ""
TOP, BOTTOM = "d1 d2 d3 d4 d5", "a1 a2 a3 a4 a5"
ROW_B, ROW_C = "b1 b2 b3 b4 b5 b6 b7", "c1 c2 c3 c4 c5 c6 c7"
LIGHTS_CIRCLES = f"{BOTTOM} b2 b3 b4 b5 b6"
DARKS_CIRCLES = f"{TOP} c2 c3 c4 c5 c6"


def cells(names: str) -> np.ndarray:
    """A plane with ones at the spaces named, as light sees it."""
    plane = np.zeros((4, 7))
    for name in names.split():
        plane[PLACES[NAMES.index(name)]] = 1
    return plane


def assert_planes(observation: np.ndarray, expected: dict[int, np.ndarray]) -> None:
    assert set(expected) == set(range(len(observation)))
    for number, plane in expected.items():
        np.testing.assert_array_equal(observation[number], plane, f"plane {number}")


def test_places_of_the_spaces() -> None:
    """Spaces that border across rows are in the same file."""
    assert [PLACES[NAMES.index(name)] for name in ("a1", "a5", "b1", "b7", "c4", "d1")] == [
        *((0, 1), (0, 5), (1, 0), (1, 6), (2, 3), (3, 1))
    ]
    for lower, higher in PAIR_ENDS:
        (row, file), (other_row, other_file) = PLACES[lower], PLACES[higher]
        assert (other_row - row, other_file - file) in [(0, 1), (1, 0)]


def test_observation_of_a_start() -> None:
    light = {
        OWN_PIECES: cells(f"{BOTTOM} {ROW_B}"),
        OTHER_PIECES: cells(f"{TOP} {ROW_C}"),
        OWN_THREE: cells(f"{ROW_B} {ROW_C}"),
        OWN_FOUR: cells(NOTHING),
        OWN_FIVE: cells(NOTHING),
        OTHER_THREE: cells(f"{ROW_B} {ROW_C}"),
        OTHER_FOUR: cells(NOTHING),
        OTHER_FIVE: cells(NOTHING),
        FORBIDDEN: cells(NOTHING),
        OWN_EXCLUDED: cells(LIGHTS_CIRCLES),
        OTHER_EXCLUDED: cells(DARKS_CIRCLES),
        BOARD: cells(" ".join(NAMES)),
        IS_LIGHT: np.ones((4, 7)),
    }
    start = make_game("osiron").start()
    assert_planes(start.observation(0), light)
    dark = light | {IS_LIGHT: np.zeros((4, 7))}
    assert_planes(start.observation(1, canonical=True), dark)


def test_observation_counts_pieces_in_circles_that_count() -> None:
    position = begun_with(BOTH)
    dark = " ".join(name for name in NAMES if name not in BOTH.split())
    right = "b5 b6 b7 c5 c6 c7"
    centre = "b3 b4 b5 c3 c4 c5"
    # Light has five pieces in the left circle and three in the upper left one; three are also in
    # the lower left one, which does not count. Dark has five in the lower right one, four in the
    # centre and in the right one, three in the lower left one; and some where none count.
    light_seen = {
        OWN_PIECES: cells(BOTH),
        OTHER_PIECES: cells(dark),
        OWN_THREE: cells("b1 b2 b3 c1 c2 c3 c4 d1 d2 d3"),
        OWN_FOUR: cells("b1 b2 b3 c1 c2 c3"),
        OWN_FIVE: cells("b1 b2 b3 c1 c2 c3"),
        OTHER_THREE: cells(f"{LIGHTS_CIRCLES} {centre} {right}"),
        OTHER_FOUR: cells(f"a3 a4 a5 b4 b5 b6 {centre} {right}"),
        OTHER_FIVE: cells("a3 a4 a5 b4 b5 b6"),
        FORBIDDEN: cells(NOTHING),
        OWN_EXCLUDED: cells(LIGHTS_CIRCLES),
        OTHER_EXCLUDED: cells(DARKS_CIRCLES),
        BOARD: cells(" ".join(NAMES)),
        IS_LIGHT: np.ones((4, 7)),
    }
    assert_planes(position.observation(0), light_seen)
    exchanged = {
        OWN_PIECES: OTHER_PIECES,
        OWN_THREE: OTHER_THREE,
        OWN_FOUR: OTHER_FOUR,
        OWN_FIVE: OTHER_FIVE,
        OWN_EXCLUDED: OTHER_EXCLUDED,
    }
    exchanged |= {other: own for own, other in exchanged.items()}
    dark_seen = {number: light_seen[exchanged.get(number, number)] for number in light_seen}
    dark_seen[IS_LIGHT] = np.zeros((4, 7))
    assert_planes(position.observation(1), dark_seen)
    turned = {number: plane[::-1, ::-1] for number, plane in dark_seen.items()}
    assert_planes(position.observation(1, canonical=True), turned)


def test_observation_shows_the_forbidden_pair() -> None:
    position = after("b5-c5")
    np.testing.assert_array_equal(position.observation(0)[FORBIDDEN], cells("b5 c5"))
    np.testing.assert_array_equal(position.observation(1)[FORBIDDEN], cells("b5 c5"))
    turned = position.observation(1, canonical=True)
    np.testing.assert_array_equal(turned[FORBIDDEN], cells("b3 c3"))


def test_nothing_is_excluded_in_other_setups() -> None:
    for setup in ("alternating", "random"):
        for position in random_positions(make_game("osiron", setup=setup), 10):
            assert not position.observation()[[OWN_EXCLUDED, OTHER_EXCLUDED]].any()


def test_each_player_sees_the_game_as_light_would_see_it() -> None:
    """A game that dark begins, turned by half and with colours exchanged, looks the same."""
    game = make_game("osiron")
    codec = Codec(game)
    for seed in range(5):
        twin = game.start()
        twin.states["mover"] = 1
        twin = Position.of_state(game, twin.states)
        for position, action in random_game(game, seed):
            # The start turned by half with colours exchanged is the start.
            for player in (0, 1):
                seen = position.observation(player, canonical=True)
                of_twin = twin.observation(1 - player, canonical=True)
                np.testing.assert_array_equal(seen[:IS_LIGHT], of_twin[:IS_LIGHT])
                assert (seen[IS_LIGHT] == 1 - player).all()
                assert (of_twin[IS_LIGHT] == player).all()
            assert position.rewards == twin.rewards[::-1]
            if action is not None:
                np.testing.assert_array_equal(
                    codec.encode(position.states).masks, codec.encode(twin.states).masks
                )
                twin.play(twin.turned_action(position.turned_action(action)))


def test_the_canonical_turn_is_for_dark_and_by_half() -> None:
    position = make_game("osiron").start()
    assert [position.is_turned(player) for player in (0, 1)] == [False, True]
    for action, seen in enumerate(position.game.canonical_turn.actions):
        lower, higher = PAIR_ENDS[action]
        assert PAIR_ENDS[seen] == (23 - higher, 23 - lower)


def test_places_of_actions() -> None:
    """Plane 0 has pairs within a row at their left cell, plane 1 the others at their lower one."""
    places = make_game("osiron").action_places
    assert places is not None
    for (lower, higher), place in zip(PAIR_ENDS, places.tolist(), strict=True):
        plane, cell = divmod(place, 28)
        first = divmod(cell, 7)
        second = (first[0], first[1] + 1) if plane == 0 else (first[0] + 1, first[1])
        assert (PLACES[lower], PLACES[higher]) == (first, second)


# Symmetries.


def test_number_of_symmetries() -> None:
    assert len(make_game("osiron", setup="alternating").symmetries()) == 12
    assert len(make_game("osiron", setup="random").symmetries()) == 12
    beginner = make_game("osiron").symmetries()
    assert len(beginner) == 2
    mirrored = dict(zip(PAIR_ENDS, (PAIR_ENDS[pair] for pair in beginner.actions[1]), strict=True))
    assert mirrored[0, 1] == (3, 4)  # a1-a2 and a4-a5
    assert mirrored[5, 12] == (11, 18)  # b1-c1 and b7-c7


def image_of_start(position: Position, image: np.ndarray) -> Position:
    """The start in which space ``s`` has what ``image[s]`` has in the start ``position``."""
    spaces = letters(position)
    light = " ".join(NAMES[space] for space in range(24) if spaces[image[space]] == "L")
    setup = position.game.options["setup"]
    return begun_with(light, setup="alternating" if setup == "random" else setup)


@pytest.mark.parametrize("setup", ["beginner", "alternating", "random"])
def test_games_from_the_image_of_a_start_are_images_of_games(setup: str) -> None:
    """Also where the image of the start is not the start, as after a turn by a sixth."""
    game = make_game("osiron", setup=setup)
    symmetries = game.symmetries()
    mirror = next(image for image in HEXAGON if (image[0], image[5]) == (4, 11))
    images = [HEXAGON[0], mirror] if setup == "beginner" else HEXAGON
    for number, space_image in enumerate(images):
        table, gather = symmetries.actions[number], symmetries.observation[number]
        image_of = np.argsort(table)
        image = image_of_start(game.start(number), space_image)
        for position, action in random_game(game, number):
            np.testing.assert_array_equal(image.mask, position.mask[table])
            for player in (0, 1):
                np.testing.assert_array_equal(
                    image.observation(player).ravel(), position.observation(player).ravel()[gather]
                )
            assert image.rewards == position.rewards
            assert image.score == position.score
            if action is not None:
                image.play(int(image_of[action]))


# Score and picture.


def test_score_is_a_guess_at_who_is_ahead() -> None:
    assert make_game("osiron").start().score == 0
    assert make_game("osiron", setup="alternating").start().score == 0
    # Pieces of light in the circles that count for it, and of dark in those that count for it.
    light, dark = [5, 2, 2, 3, 2], [3, 5, 1, 4, 4]
    assert begun_with(BOTH).score == sum(2**n for n in light) - sum(2**n for n in dark)


def test_picture_shows_exclusions_last_exchange_and_winning_circle() -> None:
    game = make_game("osiron")
    crosses, gold, marks = 'stroke-width="3.4"', GOLD, f'stroke="{LIGHT}" stroke-width="5"'
    start = game.svg(game.start().state)
    assert (start.count(crosses), start.count(gold), start.count(marks)) == (4, 0, 0)
    assert all(f">{name}</text>" in start for name in NAMES)
    open_game = make_game("osiron", setup="alternating")
    assert crosses not in open_game.svg(open_game.start().state)
    position = begun_with(BOTH)
    action = position.text_to_action("b4-b3")
    position.play(action)
    picture = position.game.svg(position.state, action)
    assert (picture.count(f'stroke="{gold}"'), picture.count(marks)) == (1, 2)
