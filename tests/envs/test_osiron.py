"""Osiron's rules: worked positions, counts and starts, and tables for `test_references`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.draw.picture import GOLD, LIGHT
from ludarium.envs.engine.rule import DRAW, ONGOING, TRUNCATED, seed_rng
from ludarium.envs.osiron import Osiron, rules
from ludarium.envs.osiron.board import CIRCLE_SPACES, HEXAGON, NAMES, PAIR_ENDS, PLACES, bits_of
from ludarium.envs.osiron.rules import (
    ALL_CIRCLES,
    BOARD,
    BORDERING_PAIRS,
    EMPTY,
    FORBIDDEN,
    IS_ADVANCED,
    IS_LIGHT,
    IS_NEW_ROUND,
    IS_PLACING,
    IS_POINTING,
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
from tests.games import changed, children, play_texts, random_game, refusal
from tests.references.agreement import Snapshot
from tests.references.osiron import ReferenceOsiron

#: A start that the players may agree on, in which one circle does not count for each of them.
DIAGRAM = "LLLLLLLLLLDLDDDDDDDDDDDL"
BORDERS, POINTING = PAIR_ENDS[:BORDERING_PAIRS], PAIR_ENDS[BORDERING_PAIRS:]
SETUPS = ["empty", "beginner", "alternating", "random", DIAGRAM]
ALTERNATING = "DLDLDDLDLDLDLDLDLDLLDLDL"
MOVEMENTS = ["basic", "advanced"]

#: Options besides the defaults, for comparing with the reference: each setup and movement with
#: each way of drawing games. The quick tests play the first: advanced from an empty board.
OPTION_SETS: list[dict[str, Any]] = [
    {"setup": setup, "movement": movement, **ends}
    for setup in SETUPS
    for movement in reversed(MOVEMENTS)
    for ends in (
        *({}, {"repetition": 0}, {"repetition": 2}, {"repetition": 5}),
        *({"max_plies": 31, "repetition": 2}, {"max_plies": 24}, {"max_plies": 1}),
    )
    if (setup, movement, ends) != ("beginner", "basic", {})
]

#: Games beside the reference: with the defaults, and with each other set of options.
GAMES_BESIDE = 100, 30
#: What must come up in these games.
EVENTS = [
    "circle completed by the mover",
    "circle completed for the opponent",
    "win on the opponent's excluded circle",
    "excluded circle completed again without a win",
    "both complete a circle",
    "circle completed while placing",
    "repetition draw",
    "undo forbidden",
    "truncated",
]

#: A colouring in which no two pieces that point at each other have different colours.
STUCK = "DLDLDLDLDLDLLDLDLDLDLDLD"


# Number of action sequences of each length from the start.
PERFT: list[tuple[dict[str, Any], dict[int, int]]] = [
    (
        {"setup": "beginner", "movement": "basic"},
        {1: 4, 2: 24, 3: 188, 4: 1624, 5: 15292, 6: 152920},
    ),
    (
        {"setup": "beginner", "movement": "advanced"},
        {1: 4, 2: 24, 3: 184, 4: 1552, 5: 17156, 6: 187116},
    ),
    ({"setup": "alternating", "movement": "basic"}, {1: 30, 2: 774, 3: 17838, 4: 374502}),
    ({"setup": "alternating", "movement": "advanced"}, {1: 30, 2: 774, 3: 11046, 4: 135312}),
    ({"setup": DIAGRAM, "movement": "basic"}, {1: 9, 2: 70, 3: 639, 4: 6544, 5: 71857}),
    ({"setup": DIAGRAM, "movement": "advanced"}, {1: 9, 2: 70, 3: 570, 4: 5048, 5: 62390}),
    ({"setup": "empty"}, {1: 24, 2: 24 * 23, 3: 24 * 23 * 22, 4: 24 * 23 * 22 * 21}),
]
# Number of different positions (colouring and forbidden pair) after exactly so many plies.
DISTINCT = {"beginner": [4, 24, 140, 610, 2104], "alternating": [30, 774, 9306]}


def after(texts: str, **options: Any) -> Position:
    return play_texts(make_game("osiron", **options).start(), texts)


def begun_with(light: str, **options: Any) -> Position:
    """The start of a game with other light spaces, while the same circles as usual count."""
    spaces = {NAMES.index(name) for name in light.split()}
    assert len(spaces) == 12
    usual = make_game("osiron", **options).start()
    game = Osiron(**options)  # of its own, for it is changed
    game.tables = game.tables.copy()
    game.tables["start"] = bits_of(spaces)
    states = game.start().states
    states["counting"] = usual.states["counting"]
    return Position.of_state(game, states)


def letters(position: Position) -> str:
    return position.board_text().splitlines()[-1]


# Against the reference.


def snapshot_of_position(position: Position) -> Snapshot:
    """What the reference tells of a position."""
    state, tables = position.state, position.game.tables[0]
    forbidden = int(state.forbidden)
    kind = rules.movement(tables, state)
    return {
        "spaces": letters(position),
        "forbidden": None if forbidden == NO_PAIR else PAIR_ENDS[forbidden],
        "kind": None if state.empty else ("border", "point")[kind],
        "excluded": tuple(7 - int(counting).bit_count() for counting in state.counting),
    }


def reference_of(game: Game) -> Callable[[Position], ReferenceOsiron]:
    """Starts the reference where a position is, with the options of ``game``."""

    def start(position: Position) -> ReferenceOsiron:
        spaces = letters(position) if game.random_start else None
        return ReferenceOsiron(**game.options, spaces=spaces)

    return start


#: What the reference calls the events that a game counts; a tie fills circles of both.
TOLD = {
    "own circle filled": ("circle completed by the mover", "both complete a circle"),
    "opponent's circle filled": ("circle completed for the opponent", "both complete a circle"),
    "circles of both filled at once": ("both complete a circle",),
    "draw without a legal exchange": ("no legal exchange",),
    "draw by repetition": ("repetition draw",),
}


def events_beside(game: Game, seed: int) -> Counter[str]:
    """The events of a random game, which must be what the reference tells."""
    met: Counter[str] = Counter()
    reference = ReferenceOsiron(**game.options)
    occurred = {reference.position()}
    for position, action in random_game(game, seed):
        if action is None:
            break
        after = position.copy()
        after.play(action)
        told = reference.play(action)
        expected = {name for name, as_told in TOLD.items() if not {*told}.isdisjoint(as_told)}
        if reference.exchanges == 0:
            occurred.clear()
        if reference.position() in occurred and expected <= {"draw by repetition"}:
            expected.add("position repeated")
        occurred.add(reference.position())
        counts = game.events(position.states, np.array([action]), after.states)[0]
        assert set(counts.tolist()) <= {0, 1}
        names = {name for name, count in zip(game.event_names, counts, strict=True) if count}
        assert names == expected
        met.update(names)
    return met


def test_events_are_what_the_reference_tells() -> None:
    met: Counter[str] = Counter()
    for options in (
        {"setup": "alternating", "repetition": 2},
        {"setup": "empty", "movement": "advanced"},
    ):
        for seed in range(80, 120):  # all of them come up in these games
            met += events_beside(make_game("osiron", **options), seed)
    assert met["position repeated"] >= met["draw by repetition"] > 0
    assert met["own circle filled"] > met["circles of both filled at once"] > 0


# The board.


def test_board_has_24_spaces_51_pairs_and_seven_circles() -> None:
    assert len(NAMES) == len(set(NAMES)) == 24
    assert [NAMES[index] for index in (0, 4, 5, 11, 12, 18, 19, 23)] == [
        *("a1", "a5", "b1", "b7", "c1", "c7", "d1", "d5")
    ]
    assert len(PAIR_ENDS) == len(set(PAIR_ENDS)) == 51
    assert sorted(BORDERS) == BORDERS
    assert sorted(POINTING) == POINTING
    assert all(lower < higher for lower, higher in PAIR_ENDS)
    borders = Counter(space for ends in BORDERS for space in ends)
    # The twelve triangles at the edge of the hexagon border two others, the rest three.
    assert Counter(borders.values()) == {2: 12, 3: 12}
    # A space points through its corners that lie within the board: the six in the middle have
    # three of them, the six at the corners of the hexagon one.
    points = Counter(space for ends in POINTING for space in ends)
    assert Counter(points.values()) == {1: 12, 2: 6, 3: 6}
    assert [len(circle) for circle in CIRCLE_SPACES] == [6] * 7


def test_pairs_that_border_across_rows() -> None:
    across = [
        f"{NAMES[lower]}-{NAMES[higher]}"
        for lower, higher in BORDERS
        if PLACES[lower][0] != PLACES[higher][0]
    ]
    assert across == [
        *("a1-b2", "a3-b4", "a5-b6", "b1-c1", "b3-c3", "b5-c5", "b7-c7"),
        *("c2-d1", "c4-d3", "c6-d5"),
    ]


def test_pairs_that_point_at_each_other() -> None:
    assert [f"{NAMES[lower]}-{NAMES[higher]}" for lower, higher in POINTING] == [
        *("a1-b4", "a2-b3", "a3-b2", "a3-b6", "a4-b5", "a5-b4"),
        *("b1-c3", "b2-c2", "b3-c1", "b3-c5", "b4-c4", "b5-c3", "b5-c7", "b6-c6", "b7-c5"),
        *("c2-d3", "c3-d2", "c4-d1", "c4-d5", "c5-d4", "c6-d3"),
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
        inside = [ends for ends in BORDERS if set(ends) <= circle]
        assert Counter(space for ends in inside for space in ends) == dict.fromkeys(circle, 2)
        across = [ends for ends in POINTING if set(ends) <= circle]
        assert Counter(space for ends in across for space in ends) == dict.fromkeys(circle, 1)


def test_halves_hold_two_circles_each_which_do_not_count_for_their_player() -> None:
    game = make_game("osiron")
    assert [
        [" ".join(NAMES[space] for space in sorted(CIRCLE_SPACES[circle])) for circle in circles]
        for circles in game.excluded_circles
    ] == [["a1 a2 a3 b2 b3 b4", "a3 a4 a5 b4 b5 b6"], ["c2 c3 c4 d1 d2 d3", "c4 c5 c6 d3 d4 d5"]]
    for player in (0, 1):
        assert int(game.start().state.counting[player]).bit_count() == 5
        assert len(game.excluded_circles[player]) == 2
    for setup in ("alternating", "random", "empty"):
        game = make_game("osiron", setup=setup)
        assert game.excluded_circles == [[], []]
        assert game.start().state.counting.tolist() == [ALL_CIRCLES, ALL_CIRCLES]


def test_starts() -> None:
    assert letters(after("")) == 12 * "L" + 12 * "D"
    assert letters(after("", setup="alternating")) == ALTERNATING
    assert letters(after("", setup="empty")) == 24 * "."
    assert letters(after("", setup=DIAGRAM)) == DIAGRAM


def test_hexagon_has_twelve_symmetries_which_keep_borders_and_circles() -> None:
    assert len(np.unique(HEXAGON, axis=0)) == 12
    kinds = [{frozenset(ends) for ends in kind} for kind in (BORDERS, POINTING)]
    circles = {frozenset(circle) for circle in CIRCLE_SPACES}
    for image in HEXAGON.tolist():
        for pairs in kinds:
            assert {frozenset(image[space] for space in pair) for pair in pairs} == pairs
        assert {frozenset(image[space] for space in circle) for circle in circles} == circles


# Known counts.


def key(position: Position) -> tuple[int, int]:
    return int(position.state.light), int(position.state.forbidden)


@pytest.mark.parametrize(("setup", "counts"), DISTINCT.items())
def test_number_of_distinct_positions(setup: str, counts: list[int]) -> None:
    start = make_game("osiron", setup=setup).start()
    layer, found = {key(start): start}, []
    for _ in counts:
        layer = {
            key(child): child for parent in layer.values() for child in children(parent).values()
        }
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


def test_an_exchange_that_completes_circles_for_both_is_a_draw() -> None:
    position = play_texts(begun_with(BOTH), "b4-b3")
    assert position.outcome == DRAW
    assert position.rewards == (0, 0)
    assert not position.is_truncated
    # The same exchange by dark, after one elsewhere.
    position = play_texts(begun_with(BOTH), "d1-d2")
    assert position.mover == 1
    play_texts(position, "b3-b4")
    assert position.outcome == DRAW


# Light completes a1 a2 a3 b2 b3 b4 by b5-b4, and dark b5 b6 b7 c5 c6 c7.
BOTH_BUT_ONE_EXCLUDED = "a1 a2 a3 b2 b3 b5 c1 c2 d1 d2 d3 d5"


def test_a_circle_that_does_not_count_does_not_help_against_one_that_does() -> None:
    position = play_texts(begun_with(BOTH_BUT_ONE_EXCLUDED), "b5-b4")
    assert position.rewards == (-1, 1)
    position = play_texts(begun_with(BOTH_BUT_ONE_EXCLUDED, setup="alternating"), "b5-b4")
    assert position.outcome == DRAW


# Light completes c4 c5 c6 d3 d4 d5, in dark's half, by b5-c5.
IN_DARKS_HALF = "b5 c4 c6 d3 d4 d5 a1 a2 a4 b1 b2 c1"
# Light completes a1 a2 a3 b2 b3 b4, in its own half, by b5-b4.
IN_LIGHTS_HALF = "a1 a2 a3 b2 b3 b5 c1 c3 c5 d1 d3 d5"


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


@settings(max_examples=30)
@given(
    setup=st.sampled_from(SETUPS),
    movement=st.sampled_from(MOVEMENTS),
    seed=st.integers(0, 2**32),
    choices=st.lists(st.integers(0, 10**6), max_size=120),
)
def test_what_holds_in_every_position(
    setup: str, movement: str, seed: int, choices: list[int]
) -> None:
    game = make_game("osiron", setup=setup, movement=movement)
    position, exchanges = game.start(seed), []
    for choice in choices:
        state, spaces = position.state, letters(position)
        assert bits_of(k for k in range(24) if spaces[k] == "L") == state.light
        assert bits_of(k for k in range(24) if spaces[k] == ".") == state.empty
        for player, letter in enumerate("LD"):
            counts = [sum(spaces[k] == letter for k in circle) for circle in CIRCLE_SPACES]
            around = sum(count << 4 * circle for circle, count in enumerate(counts))
            assert around == state.around[player]
        if position.is_over:
            break
        legal = position.legal_actions.tolist()
        if "." in spaces:
            empty = [space for space in range(24) if spaces[space] == "."]
            assert legal == [game.num_pairs + space for space in empty]
            assert spaces.count("L") - spaces.count("D") == position.mover
        else:
            assert spaces.count("L") == 12
            mixed = {k for k, ends in enumerate(PAIR_ENDS) if len({spaces[j] for j in ends}) == 2}
            assert bits_of(mixed) == state.mixed
            is_even_round = len(exchanges) % 4 >= 2
            kind = (
                range(BORDERING_PAIRS, 51)
                if movement == "advanced" and is_even_round
                else range(BORDERING_PAIRS)
            )
            last = exchanges[-1] if exchanges else None
            assert legal == sorted(mixed & set(kind) - {last})
            assert state.forbidden == (last if last in kind else NO_PAIR)
            opener = int(setup == "empty")
            assert position.mover == (opener + len(exchanges)) % 2
        action = legal[choice % len(legal)]
        if action < game.num_pairs:
            exchanges.append(action)
        position.play(action)


# Advanced movement.


def test_rounds_of_two_exchanges_are_with_bordering_and_pointing_pieces_in_turn() -> None:
    position = make_game("osiron", movement="advanced").start()
    kinds = []
    while not position.is_over and position.ply < 12:
        legal = position.legal_actions
        kinds.append("border" if max(legal) < BORDERING_PAIRS else "point")
        assert (min(legal) >= BORDERING_PAIRS) == (kinds[-1] == "point")
        position.play(legal[0])
    assert kinds == 3 * ["border", "border", "point", "point"]


def test_pieces_that_point_at_each_other_are_exchanged() -> None:
    position = after("b5-c5 c1-b1", movement="advanced")
    before = letters(position)
    play_texts(position, "b4-c4")
    swapped = {"b4": "D", "c4": "L"}
    assert letters(position) == "".join(swapped.get(n, before[k]) for k, n in enumerate(NAMES))


def test_undoing_is_forbidden_within_a_round_only() -> None:
    position = after("b5-c5 c1-b1", movement="advanced")
    assert position.state.forbidden == NO_PAIR  # of the round that is over
    play_texts(position, "b4-c4")
    with pytest.raises(ValueError, match="it would undo the exchange"):
        position.text_to_action("b4-c4")
    play_texts(position, "c6-b6")
    assert position.state.forbidden == NO_PAIR
    play_texts(position, "c1-b1")  # which dark exchanged with its last bordering piece


@pytest.mark.parametrize(
    ("moves", "text", "words"),
    [
        ("", "b4-c4", "in this round pieces that border are exchanged"),
        ("b5-c5 c1-b1", "b3-c3", "in this round pieces that point at each other are exchanged"),
        ("b5-c5 c1-b1", "a1-b4", "the pieces of a1-b4 are both light"),
        ("b5-c5 c1-b1", "c1-c2", "in this round pieces that point at each other are exchanged"),
        ("", "a1-d5", "do not share a side, nor point at each other; a1 borders a2 and b2 and "),
        ("", "a1-d5", "and points at b4"),
        ("", "d1-c2", "both dark"),
    ],
)
def test_refused_exchanges_name_the_kind(moves: str, text: str, words: str) -> None:
    position = after(moves, movement="advanced")
    with pytest.raises(ValueError, match=words):
        position.text_to_action(text)


def test_who_has_no_legal_exchange_ends_the_game_as_a_draw() -> None:
    for movement in MOVEMENTS:
        position = after("a5-a4 a2-a3", setup="DDLDLLDLDLDLLDLDLDLDLDLD", movement=movement)
        assert letters(position) == STUCK
        assert position.is_over == (movement == "advanced")
        assert position.outcome == (DRAW if movement == "advanced" else ONGOING)
        assert not position.is_truncated


# Empty starts.


def test_players_place_in_turn_and_the_last_to_place_exchanges_first() -> None:
    position = make_game("osiron", setup="empty").start()
    movers = []
    while not position.is_over and position.ply < 28:
        movers.append(position.mover)
        position.play(position.legal_actions[0])
    assert movers == [0, 1] * 12 + [1, 0, 1, 0]


def test_placing_puts_an_own_piece_on_an_empty_space() -> None:
    position = after("b4 c4", setup="empty")
    assert letters(position) == 8 * "." + "L" + 6 * "." + "D" + 8 * "."
    assert position.board_text().splitlines()[-2].startswith("player_0 to place a piece, 11 left;")
    for text, words in {
        "b4": "there is a piece on b4 already",
        "c4": "there is a piece on c4 already",
        "b4-b5": "all pieces are placed before any is exchanged",
        "b8": "or the space to place a piece on",
    }.items():
        with pytest.raises(ValueError, match=words):
            position.text_to_action(text)


def placed(letters: str, **options: Any) -> Position:
    """The game from an empty board in which the pieces are placed like this."""
    light, dark = ([n for n, who in zip(NAMES, letters, strict=True) if who == c] for c in "LD")
    texts = [name for pair in zip(light, dark, strict=True) for name in pair]
    return after(" ".join(texts), setup="empty", **options)


def test_nobody_wins_by_placing_and_circles_complete_then_never_count() -> None:
    beginner = make_game("osiron").start()
    position = placed(letters(beginner))
    assert (position.ply, position.mover, position.is_over) == (24, 1, False)
    assert position.state.counting.tolist() == beginner.state.counting.tolist()
    # Left and completed again: no win. Dark's here; light's is the same, turned by half.
    play_texts(position, "c5-b5 b1-c1 b5-c5")
    assert {letters(position)[space] for space in CIRCLE_SPACES[6]} == {"D"}
    assert not position.is_over


def test_a_circle_does_not_count_from_the_ply_that_completes_it() -> None:
    light = "a1 a2 a3 b2 b3 b4"
    dark = "d1 d2 d3 d4 d5"
    texts = [*zip(light.split(), [*dark.split(), "c1"], strict=True)]
    position = after(" ".join(name for pair in texts for name in pair), setup="empty")
    first = next(k for k, circle in enumerate(CIRCLE_SPACES) if 0 in circle)
    assert position.state.counting.tolist() == [ALL_CIRCLES ^ 8 << 4 * first, ALL_CIRCLES]
    assert not position.is_over


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_a_full_board_is_played_like_the_same_diagram_but_dark_begins(movement: str) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        spaces = "".join(random.permutation([*12 * "LD"]))
        position = placed(spaces, movement=movement)
        twin = make_game("osiron", setup=spaces, movement=movement).start()
        twin = changed(twin, mover=1)
        while not position.is_over and not twin.is_over:
            legal = twin.legal_actions
            assert (position.legal_actions == legal).all()
            assert position.mover == twin.mover
            action = int(random.choice(legal))
            position.play(action)
            twin.play(action)
            assert letters(position) == letters(twin)
        if not position.is_truncated:
            assert position.outcome == twin.outcome


@pytest.mark.parametrize("max_plies", [5, 24])
def test_placements_count_for_the_cap(max_plies: int) -> None:
    position = make_game("osiron", setup="empty", max_plies=max_plies).start()
    while not position.is_over:
        position.play(position.legal_actions[-1])
    assert (position.ply, position.outcome) == (max_plies, TRUNCATED)


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


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("times", [2, 3])
def test_the_board_when_it_is_full_is_the_first_occurrence(times: int, movement: str) -> None:
    """The start comes back where no pair is forbidden: with a round of the same kind."""
    position = placed(ALTERNATING, repetition=times, movement=movement)
    cycle = {
        "basic": ["b3-c3", "b1-c1", "c3-b3", "c1-b1"],
        "advanced": [*("b3-c3", "b1-c1", "b2-c2", "b6-c6"), *("c3-b3", "c1-b1", "c2-b2", "c6-b6")],
    }[movement]
    start = letters(position)
    seen = 1
    while not position.is_over:
        line = cycle[(position.ply - 24) % len(cycle)]
        play_texts(position, line)
        seen += letters(position) == start and position.state.forbidden == NO_PAIR
    assert position.outcome == DRAW
    if movement == "advanced":
        assert (position.ply, seen) == (24 + 8 * (times - 1), times)
    else:  # the start has no forbidden pair, every later position has one
        assert position.ply == 24 + 4 * (times - 1) + 1


def test_the_same_colouring_with_another_kind_to_be_played_is_another_position() -> None:
    tables = make_game("osiron", movement="advanced").tables[0]
    first = make_game("osiron", movement="advanced").start()
    second = changed(first, ply=2)
    assert rules.position_key(tables, first.state) != rules.position_key(tables, second.state)


def test_a_game_that_ends_on_the_last_ply_is_not_truncated() -> None:
    line = 50 * f"{CYCLE} " + "b5-c5"
    assert after(line, repetition=51, max_plies=201).outcome == DRAW
    assert after(line, repetition=52, max_plies=201).outcome == TRUNCATED
    line = "c1-c2 c4-c3 b6-b5 b3-b2 c2-c3"
    position = after(line, setup="alternating", max_plies=5, repetition=0)
    assert position.rewards == (1, -1)


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
        spaces = np.uint32(bits_of(circle))
        full |= (light & spaces == spaces) | (light & spaces == 0)
    return full


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
        part = np.uint32(bits_of(spaces))
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
               d   d
        c  D D D D L D D
        b  L L L L D L L
               l   l
        a    L L L L L
        player_1 to move, not b5-c5; player_0 (light: L, circles that do not count: l), player_1 (dark: D, circles that do not count: d)
        LLLLLLLLLDLLDDDDLDDDDDDD
    """  # noqa: E501
    assert after("b5-c5").board_text() == dedent(expected).strip()
    assert after("", setup="alternating").board_text().splitlines()[-2:] == [
        "player_0 to move; player_0 (light: L), player_1 (dark: D)",
        ALTERNATING,
    ]
    assert status(after("", movement="advanced")) == "player_0 to move by a side"
    assert status(after("b5-c5", movement="advanced")) == ("player_1 to move by a side, not b5-c5")
    assert status(after("b5-c5 c1-b1", movement="advanced")) == ("player_0 to move by a corner")
    assert status(after("b5-c5 c1-b1 b4-c4", movement="advanced")) == (
        "player_1 to move by a corner, not b4-c4"
    )
    assert status(after("", setup="empty")) == "player_0 to place a piece, 12 left"
    assert status(after("b4", setup="empty")) == "player_1 to place a piece, 12 left"
    assert letters(after("b4", setup="empty")) == 8 * "." + "L" + 15 * "."
    assert status(after("")) == "player_0 to move"
    assert status(after("c3-c2 a3-b4 c5-c6", setup="alternating")) == "player_1 has won"
    assert status(after(CYCLE + " b5-c5", repetition=2)) == "drawn"
    assert status(after(CYCLE, max_plies=4, repetition=0)) == "drawn at the ply cap"


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
        ("", "b4-c4", ["'b4-c4'", "do not share a side; b4 borders a3 and b3 and b5"]),
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
    message = refusal(after(moves), text)
    for word in words:
        assert word in message


def test_a_diagram_with_a_name_is_the_setup_of_that_name() -> None:
    for name, spaces in {"beginner": 12 * "L" + 12 * "D", "alternating": ALTERNATING}.items():
        game = make_game("osiron", setup=spaces)
        assert game.options["setup"] == name
        assert game == make_game("osiron", setup=name)
    assert make_game("osiron", setup=DIAGRAM).options["setup"] == DIAGRAM


@pytest.mark.parametrize("movement", MOVEMENTS)
def test_the_beginners_game_can_be_set_up_with_any_diagram(movement: str) -> None:
    """So a page that has it plays every agreed start."""
    own = make_game("osiron", setup=DIAGRAM, movement=movement)
    about = own.drawn_scene.diagram
    assert about.start == DIAGRAM
    places = zip(range(24), about.start, strict=True)
    game = make_game("osiron", movement=movement)
    states = game.start().states
    first = bits_of(place for place, letter in places if letter == about.letters[0])
    rules.set_up(game.tables[0], states[0], first)
    assert states == own.start().states
    assert list(about.places) == NAMES
    spots = {name: spot.tolist() for name, spot in zip(NAMES, about.spots, strict=True)}
    ends = own.drawn_scene.ends
    assert ends[own.action_names.index("b5-c5")].tolist() == [spots["b5"], spots["c5"]]


# Observations.


#: That version 0 did not have: nothing but zeros with its options.
NEW_PLANES = [IS_ADVANCED, IS_POINTING, IS_NEW_ROUND, IS_PLACING, EMPTY]
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
        borders = (lower, higher) in BORDERS
        ways = [(0, 1), (1, 0)] if borders else [(1, -2), (1, 0), (1, 2)]
        assert (other_row - row, other_file - file) in ways


#: What light sees at the start.
START_SEEN = {
    OWN_PIECES: cells(f"{BOTTOM} {ROW_B}"),
    OTHER_PIECES: cells(f"{TOP} {ROW_C}"),
    **dict.fromkeys((OWN_THREE, OTHER_THREE), cells(f"{ROW_B} {ROW_C}")),
    **dict.fromkeys((OWN_FOUR, OWN_FIVE, OTHER_FOUR, OTHER_FIVE), cells(NOTHING)),
    OWN_EXCLUDED: cells(LIGHTS_CIRCLES),
    OTHER_EXCLUDED: cells(DARKS_CIRCLES),
    BOARD: cells(" ".join(NAMES)),
    IS_LIGHT: np.ones((4, 7)),
    **dict.fromkeys((FORBIDDEN, *NEW_PLANES), cells(NOTHING)),
}


def test_observation_of_a_start() -> None:
    start = make_game("osiron").start()
    assert_planes(start.observation(0), START_SEEN)
    dark = START_SEEN | {IS_LIGHT: np.zeros((4, 7))}
    assert_planes(start.observation(1, canonical=True), dark)


def test_observation_counts_pieces_in_circles_that_count() -> None:
    position = begun_with(BOTH)
    dark = " ".join(name for name in NAMES if name not in BOTH.split())
    right = "b5 b6 b7 c5 c6 c7"
    centre = "b3 b4 b5 c3 c4 c5"
    # Light has five pieces in the left circle and three in the upper left one; three are also in
    # the lower left one, which does not count. Dark has five in the lower right one, four in the
    # centre and in the right one, three in the lower left one; and some where none count.
    light_seen = START_SEEN | {
        OWN_PIECES: cells(BOTH),
        OTHER_PIECES: cells(dark),
        OWN_THREE: cells("b1 b2 b3 c1 c2 c3 c4 d1 d2 d3"),
        OWN_FOUR: cells("b1 b2 b3 c1 c2 c3"),
        OWN_FIVE: cells("b1 b2 b3 c1 c2 c3"),
        OTHER_THREE: cells(f"{LIGHTS_CIRCLES} {centre} {right}"),
        OTHER_FOUR: cells(f"a3 a4 a5 b4 b5 b6 {centre} {right}"),
        OTHER_FIVE: cells("a3 a4 a5 b4 b5 b6"),
    }
    assert_planes(position.observation(0), light_seen)
    own = [OWN_PIECES, OWN_THREE, OWN_FOUR, OWN_FIVE, OWN_EXCLUDED]
    other = [OTHER_PIECES, OTHER_THREE, OTHER_FOUR, OTHER_FIVE, OTHER_EXCLUDED]
    exchanged = dict(zip(own + other, other + own, strict=True))
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


def seen(position: Position) -> dict[str, float]:
    """The value of each plane of the mover that has the same everywhere."""
    names = position.game.observation_names
    planes = zip(names, position.observation(position.mover), strict=True)
    return {name: plane[0, 0] for name, plane in planes if (plane == plane[0, 0]).all()}


def test_observation_tells_the_kind_of_exchange_and_whether_it_opens_a_round() -> None:
    position = after("", movement="advanced")
    found = []
    for text in ["b5-c5", "c1-b1", "b4-c4", "c6-b6", ""]:
        planes = seen(position)
        assert planes["is advanced"] == 1
        assert planes["is placing"] == 0
        found.append((planes["is pointing"], planes["is new round"]))
        forbidden = position.observation()[FORBIDDEN].sum()
        assert forbidden == 2 * (1 - planes["is new round"])
        play_texts(position, text)
    assert found == [(0, 1), (0, 0), (1, 1), (1, 0), (0, 1)]


def test_observation_of_pieces_being_placed() -> None:
    position = after("a1 d5 a2 d4 a3 d3 b2 d2 b3 d1", setup="empty")
    light, dark = "a1 a2 a3 b2 b3", "d5 d4 d3 d2 d1"
    assert seen(position)["is placing"] == 1
    observation = position.observation()
    for plane, names in {
        OWN_PIECES: light,
        OTHER_PIECES: dark,
        EMPTY: " ".join(set(NAMES) - {*light.split(), *dark.split()}),
        OWN_FIVE: "a1 a2 a3 b2 b3 b4",
        OWN_EXCLUDED: NOTHING,
    }.items():
        np.testing.assert_array_equal(observation[plane], cells(names), f"plane {plane}")
    play_texts(position, "b4 c1")
    observation = position.observation()
    np.testing.assert_array_equal(observation[OWN_EXCLUDED], cells(f"{light} b4"))
    assert not observation[OWN_FIVE].any()
    assert seen(placed(ALTERNATING))["is placing"] == 0


def test_the_canonical_turn_is_for_dark_and_by_half() -> None:
    position = make_game("osiron").start()
    assert [position.is_turned(player) for player in (0, 1)] == [False, True]
    for action, seen in enumerate(position.game.canonical_turn.actions):
        lower, higher = PAIR_ENDS[action]
        assert PAIR_ENDS[seen] == (23 - higher, 23 - lower)


@pytest.mark.parametrize("setup", ["beginner", "empty"])
@pytest.mark.parametrize("movement", MOVEMENTS)
def test_places_of_actions(setup: str, movement: str) -> None:
    """At the cell of the lower space, on the plane of the way to the higher one; then spaces."""
    game = make_game("osiron", setup=setup, movement=movement)
    assert game.action_places is not None
    places = game.action_places.tolist()
    pairs = PAIR_ENDS if movement == "advanced" else BORDERS
    ways = [(0, 1), (1, 0), (1, -2), (1, 0), (1, 2)]
    for (lower, higher), place in zip(pairs, places[: len(pairs)], strict=True):
        plane, cell = divmod(place, 28)
        row, file = divmod(cell, 7)
        assert (plane >= 2) == ((lower, higher) in POINTING)
        assert PLACES[lower] == (row, file)
        assert PLACES[higher] == (row + ways[plane][0], file + ways[plane][1])
    spaces = [5 * 28 + 7 * row + file for row, file in PLACES]
    assert places[len(pairs) :] == (spaces if setup == "empty" else [])


def test_actions_are_pairs_and_then_spaces() -> None:
    pairs = [f"{NAMES[lower]}-{NAMES[higher]}" for lower, higher in PAIR_ENDS]
    for movement, count in zip(MOVEMENTS, (30, 51), strict=True):
        game = make_game("osiron", movement=movement)
        assert game.action_names == pairs[:count]
        game = make_game("osiron", movement=movement, setup="empty")
        assert game.action_names == [*pairs[:count], *NAMES]


# Symmetries.


def image_of_start(position: Position, image: np.ndarray) -> Position:
    """The start in which space ``s`` has what ``image[s]`` has in the start ``position``."""
    options = position.game.options
    if options["setup"] == "empty":
        return position.copy()
    spaces = letters(position)
    light = " ".join(NAMES[space] for space in range(24) if spaces[image[space]] == "L")
    setup = "alternating" if options["setup"] == "random" else options["setup"]
    return begun_with(light, **(options | {"setup": setup}))


def images_that_keep(excluded: list[list[int]]) -> list[np.ndarray]:
    """The symmetries of the hexagon under which each player keeps the circles named."""
    spaces = [{frozenset(CIRCLE_SPACES[circle]) for circle in circles} for circles in excluded]
    return [
        image
        for image in HEXAGON
        if all({frozenset(image[[*circle]].tolist()) for circle in kept} == kept for kept in spaces)
    ]


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("setup", SETUPS)
def test_games_from_the_image_of_a_start_are_images_of_games(setup: str, movement: str) -> None:
    """Also where the image of the start is not the start, as after a turn by a sixth."""
    game = make_game("osiron", setup=setup, movement=movement)
    symmetries = game.symmetries()
    images = images_that_keep(game.excluded_circles)
    assert len(images) == len(symmetries)
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
    start = game.start().svg()
    assert (start.count(crosses), start.count(gold), start.count(marks)) == (4, 0, 0)
    assert all(f">{name}</text>" in start for name in NAMES)
    open_game = make_game("osiron", setup="alternating")
    assert crosses not in open_game.start().svg()
    for action in range(game.num_actions):
        assert game.start().svg(action).count(marks) == 2
    position = begun_with(BOTH)
    action = position.text_to_action("b4-b3")
    position.play(action)
    picture = position.svg(action)
    assert (picture.count(f'stroke="{gold}"'), picture.count(marks)) == (2, 2)


def test_names_of_empty_spaces_leave_the_middle_to_what_marks_a_placement() -> None:
    scene = make_game("osiron", setup="empty").drawn_scene
    for name in NAMES:
        (shape,) = [slot.shapes[-1] for slot in scene.slots if f">{name}<" in slot.shapes[-1]]
        (baseline,) = re.findall(r'y="([-\d.]+)"', shape)
        assert abs(float(baseline)) > 20


def test_the_beginners_start_is_mirrored() -> None:
    mirrored = [PAIR_ENDS[pair] for pair in make_game("osiron").symmetries().actions[1]]
    image = dict(zip(BORDERS, mirrored, strict=True))
    assert (image[0, 1], image[5, 12]) == ((3, 4), (11, 18))
