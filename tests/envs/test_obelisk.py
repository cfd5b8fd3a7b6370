"""Obelisk's rules: worked positions, the catalogue, texts, and tables for `test_references`.

Rare positions come about in games with catalogues made for them, which are played by their texts
with the reference beside them.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludarium.envs import Game, Position, make_game
from ludarium.envs.engine.rule import DRAW, TRUNCATED
from ludarium.envs.engine.views import FLIP, ROTATE
from ludarium.envs.obelisk import Obelisk, rules, view
from ludarium.envs.obelisk import __file__ as room
from ludarium.envs.obelisk.geometry import (
    Cube,
    mirror_images,
    oriented,
    own_orientations,
    placements,
)
from tests.games import random_game, refusal
from tests.references.agreement import assert_same
from tests.references.obelisk import ReferenceObelisk, Tower

DEFAULT_BLOCKS = json.loads(Path(room).with_name("blocks.json").read_text(encoding="utf-8"))
BLACK = DEFAULT_BLOCKS["black"]

PLATE = [[x, y, 0] for x in range(3) for y in range(3)]
SLAB = [[x, y, z] for x in range(3) for y in range(3) for z in range(8)]


def block(name: str, cubes: list, count: int = 1, value: int = 1) -> dict[str, Any]:
    return {"id": name, "colour": "green", "value": value, "count": count, "cubes": cubes}


def blocks_file(*blocks: dict[str, Any], black: int = 4) -> dict[str, Any]:
    return {
        "tower": {"width": 3, "depth": 3, "height": 9},
        "black": {**BLACK, "count": black},
        "blocks": list(blocks),
    }


#: Few blocks: every game ends with the pile.
FEW = blocks_file(
    block("cube", [[0, 0, 0]], count=2, value=0),
    block("domino", [[0, 0, 0], [1, 0, 0]], value=3),
    block("hook", [[0, 0, 0], [0, 0, 1], [1, 0, 1]], value=-1),
    block("l", [[0, 0, 0], [1, 0, 0], [1, 1, 0]], value=2),
)
#: Plates and slabs: flats all the time, and black blocks over the top.
PLATES = blocks_file(
    block("plate", PLATE, count=12, value=2),
    block("slab", SLAB, count=4, value=5),
    block("cube", [[0, 0, 0]], count=4),
)
#: No mirror image of the screw, hence no mirrored games; compiled with the plates.
ONE_SCREW = blocks_file(
    block("screw", [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], count=8),
    block("l-flat", [[0, 0, 0], [1, 0, 0], [1, 1, 0]], count=8, value=10),
    block("cube", [[0, 0, 0]], count=4),
)

#: For worked positions, which need blocks of all kinds. Kept together, for each catalogue of
#: another size is compiled anew.
RICH = blocks_file(
    block("plate", PLATE, count=3, value=2),
    block("slab", SLAB, count=3, value=5),
    block("gold", PLATE, value=40),
    block("ring", [cube for cube in PLATE if cube != [2, 2, 0]]),
    block("cube", [[0, 0, 0]], count=4),
    block("domino", [[0, 0, 0], [1, 0, 0]]),
    block("two", [[0, 0, 0], [0, 0, 1]]),
    block("three", [[0, 0, z] for z in range(3)]),
    block("four", [[0, 0, z] for z in range(4)], value=2),
    block("nine", [[0, 0, z] for z in range(9)]),
    block("foot", [[0, 0, 0], [0, 0, 1], [1, 0, 0]], value=6),
    block("arm", [[0, 0, 0], [0, 0, 1], [1, 0, 1]]),
    block("yellow", [[0, 0, 0]], value=0),
    block("red", [[0, 0, 0]], count=2, value=1),
    block("green", [[0, 0, 0]], count=7, value=2),
    block("blue", [[0, 0, 0]], count=5, value=3),
    block("other", [[0, 0, 0]], count=14, value=0),
)
#: A game of one turn, with one black block.
ONE_TURN = blocks_file(block("plate", PLATE, count=3), black=1)

#: Besides the defaults: what the agreement with the reference is tested on.
OPTION_SETS: list[dict[str, Any]] = [
    {"scoring": "topple"},
    {"hourglass": True},
    {"hourglass": True, "max_plies": 30},
    {"max_plies": 12},
    {"blocks": FEW},
    {"blocks": FEW, "hourglass": True},
    {"blocks": PLATES},
    {"blocks": PLATES, "scoring": "topple"},
    {"blocks": ONE_SCREW},
]
#: Games beside the reference: with the defaults, and with each other set of options.
GAMES_BESIDE = 300, 60
#: What must come up in these games.
EVENTS = [
    "flat of the active player",
    "flat of the passive player",
    "both players flat",
    "black block placed",
    "black offer declined",
    "black block over the top",
    "overflow by one",
    "overflow by both",
    "empty pile",
    "identical blocks in the zone",
    "overhang",
    "timeout",
    "timeout with a block in the zone",
    "draw",
    "topple decided",
    "truncated",
]

# Number of action sequences of each length from the start.
PERFT: list[tuple[dict[str, Any], dict[int, int]]] = [
    ({}, {1: 32, 2: 995, 3: 1987, 4: 36199, 5: 645009}),
    ({"blocks": FEW}, {2: 13, 3: 25, 4: 519, 5: 8961, 6: 20739, 7: 35334}),
    ({"blocks": ONE_SCREW}, {2: 9, 3: 15, 4: 285, 5: 5137, 6: 15411}),
    ({"blocks": ONE_TURN}, {5: 1, 6: 10, 7: 10, 8: 0}),
]


def reference_of(game: Game) -> Callable[[Position], ReferenceObelisk]:
    """A function that makes the reference of this game; it starts as any game does."""
    options = {**game.options, "blocks": game.options["blocks"] or DEFAULT_BLOCKS}
    return lambda position: ReferenceObelisk(**options)


def snapshot_of_position(position: Position) -> dict[str, Any]:
    """The facts that the reference's ``snapshot`` gives."""
    state, types = position.state, position.game.catalogue.types  # type: ignore[attr-defined]
    active = int(state.active)
    if position.is_truncated and state.phase == rules.CHOOSE_FIRST:
        active = 1 - active  # the reference changes the roles only if a turn follows
    return {
        "heights": state.heights.tolist(),
        "pile": {b.id: int(left) for b, left in zip(types, state.pile, strict=True) if left},
        "zone": [types[number].id for number in state.zone if number != rules.NO_BLOCK],
        "points": (int(state.points[0]), int(state.points[1])),
        "black_left": int(state.black_left),
        "active": active,
    }


class Beside:
    """A game by its texts, with the reference beside it."""

    def __init__(self, texts: str = "", **options: Any) -> None:
        self.game = make_game("obelisk", **options)
        self.position = self.game.start()
        self.reference = reference_of(self.game)(self.position)
        self.events: list[str] = []
        self.play(texts)

    def play(self, texts: str) -> Beside:
        """Play actions, separated by commas or line ends."""
        for text in texts.replace("\n", ",").split(","):
            if text.strip():
                action = self.position.text_to_action(text)
                self.position.play(action)
                self.events += self.reference.play(action)
                assert_same(self.position, self.reference, snapshot_of_position)
        return self

    def turn(self, own: str, other: str, own_place: str, other_place: str) -> Beside:
        """A turn in which the active player gets the block ``own``, the passive one ``other``."""
        return self.play(
            f"choose {own}, choose {other}, pick {other}, place {own_place}, place {other_place}"
        )

    @property
    def heights(self) -> list[list[int]]:
        return self.position.state.heights.tolist()

    @property
    def points(self) -> tuple[int, int]:
        return int(self.position.state.points[0]), int(self.position.state.points[1])

    @property
    def texts(self) -> list[str]:
        return [self.position.action_to_text(action) for action in self.position.legal_actions]


# The catalogue.


def test_default_catalogue_has_the_published_counts() -> None:
    game = make_game("obelisk")
    assert isinstance(game, Obelisk)
    catalogue = game.catalogue
    by_colour: Counter[str] = Counter()
    cubes, volumes = 0, {"yellow": 2, "red": 3, "green": 4, "blue": 5}
    values = {"yellow": 0, "red": 1, "green": 2, "blue": 3}
    for each in catalogue.types:
        by_colour[each.colour] += each.count
        cubes += each.count * len(each.cubes)
        assert len(each.cubes) == volumes[each.colour]
        assert each.value == values[each.colour]
    assert by_colour == {"yellow": 4, "red": 4, "green": 15, "blue": 12}
    assert catalogue.pile_size == 35
    assert len(catalogue.types) == 32
    assert cubes == 140
    assert (catalogue.black.count, catalogue.black.value) == (4, -2)
    assert len(catalogue.black.cubes) == 1
    assert (game.num_actions, game.max_plies) == (117, 7 * 17)


def test_default_blocks_differ_from_each_other() -> None:
    shapes = [
        frozenset(oriented(each.cubes, orientation) for orientation in range(8))
        for each in make_game("obelisk").catalogue.types  # type: ignore[attr-defined]
    ]
    assert len(set(shapes)) == 32


def test_default_catalogue_is_mirror_closed() -> None:
    types = make_game("obelisk").catalogue.types  # type: ignore[attr-defined]
    ids = [each.id for each in types]
    worths = [(each.value, each.count) for each in types]
    mirror = mirror_images([each.cubes for each in types], worths)
    assert mirror is not None
    images = {ids[number]: ids[image] for number, image in enumerate(mirror) if number != image}
    left = {name for name in images if "left" in name}
    right = {name for name in images if "right" in name}
    assert len(left) == len(right) == 2
    assert left | right == set(images)
    assert {images[name] for name in left} == right
    assert all(images[images[name]] == name for name in images)


@pytest.mark.parametrize(
    ("name", "orientations", "places"),
    [
        ("yellow-flat", [0, 1], 12),
        ("yellow-upright", [0], 9),
        ("red-i-flat", [0, 1], 6),
        ("red-l-flat", [0, 1, 2, 3], 16),
        ("red-l-upright", list(range(8)), 48),
        ("green-o-flat", [0], 4),
        ("green-l-flat", list(range(8)), 16),
        ("green-t-tall", [0, 1, 2, 3], 24),
        ("green-tripod", list(range(8)), 32),
        ("blue-x", [0], 1),
        ("blue-z", [0, 1, 4, 5], 4),
        ("blue-i-upright", [0], 9),
    ],
)
def test_orientations_of_some_blocks(name: str, orientations: list[int], places: int) -> None:
    types = make_game("obelisk").catalogue.types  # type: ignore[attr-defined]
    cubes = next(each.cubes for each in types if each.id == name)
    assert own_orientations(cubes) == orientations
    assert len(placements(cubes)) == places


def test_quarter_turns_and_flips_by_hand() -> None:
    hook = [(0, 0, 0), (0, 0, 1), (1, 0, 1)]  # an arm up at the right
    assert oriented(hook, 0) == ((0, 0, 0), (0, 0, 1), (1, 0, 1))
    assert oriented(hook, 1) == ((0, 0, 0), (0, 0, 1), (0, 1, 1))  # the arm points backwards
    assert oriented(hook, 2) == ((0, 0, 1), (1, 0, 0), (1, 0, 1))
    assert oriented(hook, 3) == ((0, 0, 1), (0, 1, 0), (0, 1, 1))
    assert oriented(hook, 4) == ((0, 0, 0), (0, 0, 1), (1, 0, 0))  # the arm is below
    assert oriented(hook, 5) == ((0, 0, 0), (0, 0, 1), (0, 1, 0))


# Turns.


def test_a_turn_in_its_order() -> None:
    game = Beside()
    position = game.position
    movers = []
    for text in (
        "choose green-t-flat",
        "choose blue-i-upright",
        "pick green-t-flat",
        "place b2 r0",
        "place a1 r2",
    ):
        movers.append(position.mover)
        game.play(text)
    assert movers == [0, 0, 1, 0, 1]
    assert game.heights == [
        [0, 0, 0, 0, 5, 0, 0, 0, 0],
        [1, 1, 1, 0, 1, 0, 0, 0, 0],
    ]
    assert game.points == (3, 2)
    assert position.score == 1
    assert (position.mover, position.state.active) == (1, 1)
    pile = snapshot_of_position(position)["pile"]
    assert sum(pile.values()) == 33
    assert "green-t-flat" not in pile


def test_a_block_rests_on_what_it_meets_first_and_the_gap_below_stays_empty() -> None:
    game = Beside(blocks=RICH).turn("three", "cube", "a1 r0", "b2 r0")
    # Now player_1 is active: its domino lies over b2 and c2.
    game.turn("domino", "arm", "b2 r0", "a1 r0")
    assert game.heights[1] == [0, 0, 0, 0, 2, 2, 0, 0, 0]
    # The arm reaches over b1, so nothing can be put below it.
    assert game.heights[0] == [5, 5, 0, 0, 0, 0, 0, 0, 0]
    assert game.events.count("overhang") == 2
    game.turn("cube", "cube", "b1 r0", "c2 r0")
    assert game.heights[0] == [5, 6, 0, 0, 0, 0, 0, 0, 0]
    assert game.heights[1] == [0, 0, 0, 0, 2, 3, 0, 0, 0]


def test_a_flipped_hook_fits_under_nothing_but_beside_a_column() -> None:
    # Flipped, the hook stands on two columns and rises over a1 only.
    game = Beside("choose hook, choose cube, pick cube, place a1 r0f, place a1 r0", blocks=FEW)
    assert game.heights[0] == [2, 1, 0, 0, 0, 0, 0, 0, 0]
    assert game.events == []


def test_orientations_that_look_the_same_are_refused() -> None:
    game = Beside("choose green-o-flat, choose blue-x, pick blue-x")
    assert game.texts == ["place a1 r0", "place b1 r0", "place a2 r0", "place b2 r0"]
    with pytest.raises(ValueError, match=r"'place a1 r1'.*same.*'place a1 r0'"):
        game.position.text_to_action("place a1 r1")
    with pytest.raises(ValueError, match=r"'place c1 r0'.*out of the tower"):
        game.position.text_to_action("place c1 r0")
    with pytest.raises(ValueError, match=r"'place c3 r3f'.*out of the tower"):
        game.position.text_to_action("place c3 r3f")


def test_of_identical_blocks_only_the_first_is_picked() -> None:
    game = Beside("choose green-tripod, choose green-tripod")
    assert game.events == ["identical blocks in the zone"]
    assert game.texts == ["pick green-tripod"]
    assert game.position.legal_actions.tolist() == [32]
    with pytest.raises(ValueError, match=r"action 33 .*both blocks are the same"):
        game.position.play(33)
    game.play("pick green-tripod")
    assert game.position.state.hand.tolist() == [15, 15]


# Flats and black blocks.


def plates(*turns: str, **options: Any) -> Beside:
    """Turns with a plate for both; after each the answers to flats, if any."""
    game = Beside(blocks=options.pop("blocks", PLATES), **options)
    for answers in turns:
        game.play(f"choose plate, choose plate, pick plate, place a1 r0, place a1 r0, {answers}")
    return game


def test_both_flat_the_active_player_answers_first() -> None:
    game = plates("")
    assert game.events[-2:] == ["both players flat", "flat of the active player"]
    assert game.position.mover == 0
    assert game.texts == [*(f"black {file}{rank}" for rank in "123" for file in "abc"), "decline"]
    game.play("black b2")
    assert game.heights == [[1] * 9, [1, 1, 1, 1, 2, 1, 1, 1, 1]]
    # The passive player's tower was flat when the turn ended: its offer stands.
    assert game.position.mover == 1
    assert game.events[-1] == "flat of the passive player"
    game.play("black a1")
    assert game.heights == [[2, *[1] * 8], [1, 1, 1, 1, 2, 1, 1, 1, 1]]
    assert game.points == (0, 0)
    assert game.position.state.black_left == 2
    assert (game.position.mover, game.position.state.active) == (1, 1)
    assert game.position.state.phase == rules.CHOOSE_FIRST


def test_an_offer_declined_does_not_come_back_in_the_turn() -> None:
    game = plates("decline, decline")
    assert game.heights == [[1] * 9, [1] * 9]
    assert game.position.state.phase == rules.CHOOSE_FIRST
    assert game.position.state.black_left == 4
    # It comes at the end of the next turn that leaves the tower flat.
    game.play("choose plate, choose plate, pick plate, place a1 r0, place a1 r0")
    assert game.position.state.phase == rules.BLACK_ACTIVE
    assert game.position.mover == 1


def test_a_black_block_that_makes_a_tower_flat_brings_no_offer() -> None:
    game = Beside(blocks=RICH).turn("plate", "ring", "a1 r0", "a1 r0")
    assert game.events == ["flat of the active player"]
    game.play("black c3")
    assert game.heights == [[1] * 9, [1] * 9]
    assert game.position.state.phase == rules.CHOOSE_FIRST
    assert game.points == (2, 1 - 2)


def test_only_the_passive_player_is_flat() -> None:
    game = Beside(blocks=PLATES).turn("cube", "plate", "a1 r0", "a1 r0")
    assert game.events == ["flat of the passive player"]
    assert game.position.mover == 1
    game.play("black a1")
    assert game.heights[0] == [2, *[0] * 8]
    assert game.points == (-1, 2)


def test_without_black_blocks_nothing_is_offered() -> None:
    game = plates("black a1", blocks=ONE_TURN)
    assert game.position.is_over  # the passive player got no offer, and the pile is used up
    assert game.heights == [[1] * 9, [2, *[1] * 8]]
    game = plates("decline, black a1", blocks=ONE_TURN)
    assert game.position.is_over
    assert game.heights == [[2, *[1] * 8], [1] * 9]
    game = Beside(blocks=PLATES).turn("plate", "cube", "a1 r0", "a1 r0").play("black b1")
    for column in ("c1", "a2", "b2"):  # three more turns with player_0's tower made flat anew
        if game.position.state.active == 0:
            game.turn("plate", "cube", "a1 r0", f"{column} r0").play("black a3")
        else:
            game.turn("cube", "plate", f"{column} r0", "a1 r0").play("black a3")
    assert game.position.state.black_left == 0
    game.turn("plate", "plate", "a1 r0", "a1 r0")
    assert game.position.state.phase == rules.CHOOSE_FIRST


def test_a_black_block_over_the_top_costs_the_owner_of_the_tower_and_ends_the_game() -> None:
    # Both towers 9 high and flat; the black block of the active player ends the game at once.
    game = Beside(blocks=PLATES)
    game.turn("slab", "slab", "a1 r0", "a1 r0").play("decline, decline")
    game.play("choose plate, choose plate, pick plate, place a1 r0, place a1 r0")
    assert game.heights == [[9] * 9, [9] * 9]
    assert game.position.mover == 1
    game.play("black c2")
    assert game.events[-3:] == ["flat of the active player", "black block placed"] + [
        "black block over the top"
    ]
    assert game.position.is_over
    assert game.points == (7 - 1, 7)
    assert game.position.rewards == (-1, 1)
    assert game.heights[0][5] == 10


def test_no_black_block_is_offered_once_a_block_stands_too_high() -> None:
    # player_1 is flat at 9, but player_0 goes over the top.
    game = Beside(blocks=RICH)
    game.turn("slab", "slab", "a1 r0", "a1 r0").play("decline, decline")
    game.play("choose plate, choose nine, pick nine, place a1 r0")
    assert not game.position.is_over
    game.play("place a1 r0")
    assert game.position.is_over
    assert game.points == (5 - 8, 7)
    assert game.events[-1] == "overflow by one"


# The end and the points.


def test_the_passive_player_places_before_the_game_ends() -> None:
    game = Beside(blocks=PLATES)
    game.turn("slab", "slab", "a1 r0", "a1 r0").play("decline, decline")
    game.play("choose slab, choose slab, pick slab, place a1 r0")
    assert not game.position.is_over
    assert game.points == (5, 5 - 63)  # counted as at the end
    game.play("place a1 r0")
    assert game.events[-2:] == ["overflow by both", "draw"]
    assert game.position.outcome == DRAW
    assert game.points == (5 - 63, 5 - 63)


def test_over_the_top_by_both_topple_goes_to_the_points() -> None:
    game = Beside(blocks=RICH, scoring="topple")
    game.turn("slab", "slab", "a1 r0", "a1 r0").play("decline, decline")
    game.turn("four", "two", "a1 r0", "a1 r0")
    assert game.points == (5 - 1, 5 - 3)
    assert game.events[-1] == "overflow by both"
    assert game.position.rewards == (1, -1)


def test_topple_needs_no_points() -> None:
    game_of = {}
    for scoring in ("points", "topple"):
        game = Beside(blocks=PLATES, scoring=scoring)
        game.turn("slab", "cube", "a1 r0", "a1 r0").play("decline")
        game.turn("cube", "plate", "b1 r0", "a1 r0").play("decline")
        game.turn("cube", "cube", "a1 r0", "c1 r0")
        assert game.points == (5 + 2 - 1, 3)
        game_of[scoring] = game
    assert game_of["points"].position.rewards == (1, -1)
    assert game_of["topple"].position.rewards == (-1, 1)
    assert game_of["topple"].events[-1] == "topple decided"


def test_a_block_over_the_top_costs_its_cubes_above_and_not_its_value() -> None:
    for orientation, above in (("r0", 1), ("r0f", 2)):
        game = Beside(blocks=RICH)
        game.turn("slab", "cube", "a1 r0", "a1 r0").play("decline")
        game.turn("cube", "foot", "b1 r0", f"a1 {orientation}")
        assert game.points == (5 - above, 2)
        assert game.position.state.over.tolist() == [1, 0]


def example_of_the_source() -> Beside:
    """Tower of player_0: 1 black, 1 yellow, 2 red, 7 green, 5 blue; 8 high at a1 and b1."""
    game = Beside(blocks=RICH)
    game.turn("blue", "plate", "a1 r0", "a1 r0").play("black a1")
    own = ["blue"] * 4 + ["green"] * 7 + ["red"] * 2 + ["yellow"]
    for number, name in enumerate(own):
        mine, theirs = "a1 r0" if number < 6 else "b1 r0", f"{'abc'[number % 3]}{number % 2 + 1} r0"
        if game.position.state.active == 0:
            game.turn(name, "other", mine, theirs)
        else:
            game.turn("other", name, theirs, mine)
    return game


def test_the_scoring_example_of_the_source_also_with_a_block_three_cubes_over_the_top() -> None:
    game = example_of_the_source()
    assert not game.position.is_over
    assert game.heights[0][:2] == [8, 8]
    assert game.points[0] == -2 + 0 + 2 + 14 + 15 == 29
    assert game.position.state.active == 1
    game.turn("cube", "four", "a3 r0", "a1 r0")
    assert game.position.is_over
    assert game.points[0] == 26


def test_the_game_ends_when_fewer_than_two_blocks_are_left() -> None:
    game = Beside(blocks=FEW)  # five blocks
    game.turn("cube", "l", "a1 r0", "a1 r0")
    assert not game.position.is_over
    game.turn("domino", "hook", "a3 r0", "b2 r0")
    assert game.position.is_over
    assert game.events[-1] == "empty pile"
    assert game.points == (0 - 1, 2 + 3)
    assert game.position.rewards == (-1, 1)


# The hourglass.


def test_timeout_returns_the_block_to_the_pile() -> None:
    game = Beside("choose blue-x, timeout", hourglass=True)
    assert game.events == ["timeout", "timeout with a block in the zone"]
    fresh = make_game("obelisk", hourglass=True).start()
    assert snapshot_of_position(game.position) == {**snapshot_of_position(fresh), "active": 1}
    assert game.position.mover == 1
    game.play("choose blue-x")


def test_timeout_only_while_choosing_and_only_with_the_hourglass() -> None:
    game = Beside("choose blue-x", hourglass=True)
    assert game.texts[-1] == "timeout"
    game.play("choose blue-f")
    for text in ("", "pick blue-x", "place a1 r0"):
        game.play(text)
        assert "timeout" not in game.texts
        with pytest.raises(ValueError, match=r"'timeout' is not legal now: player_\d has to"):
            game.position.text_to_action("timeout")
    with pytest.raises(ValueError, match=r"'timeout'.*without the hourglass"):
        make_game("obelisk").start().text_to_action("timeout")


def test_the_cap_draws() -> None:
    game, may_end = Beside(hourglass=True, max_plies=3), []
    for _ in range(3):
        may_end.append(bool(rules.may_end(game.game.tables[0], game.position.states[0])))
        game.play("timeout")
    assert may_end == [False, False, True]
    assert game.position.outcome == TRUNCATED
    assert game.position.rewards == (0, 0)
    assert make_game("obelisk", hourglass=True).max_plies == 400
    assert make_game("obelisk", hourglass=True, max_plies=1000).max_plies == 1000
    assert make_game("obelisk", max_plies=1000).max_plies == 119
    assert make_game("obelisk", max_plies=10).max_plies == 10


def test_a_game_may_end_where_a_block_could_go_over_the_top_by_one() -> None:
    five = block("five", [[0, 0, z] for z in range(5)], count=12)
    others = [block(f"cube-{n}", [[0, 0, 0]], count=4) for n in range(2)]
    game = Beside(blocks=blocks_file(five, *others)).turn("five", "five", "a1 r0", "a1 r0")
    game.play("choose five, choose five, pick five, place b1 r0")
    assert rules.may_end(game.game.tables[0], game.position.states[0])
    assert game.play("place a1 r0").position.is_over


def test_a_game_that_ends_on_the_last_ply_of_the_cap_has_its_result() -> None:
    assert plates("black a1", blocks=ONE_TURN, max_plies=6).position.rewards == (1, -1)
    assert plates("", blocks=ONE_TURN, max_plies=5).position.is_truncated


# Properties of every game.


def some_game(seed: int, number: int) -> Position:
    """A position of a random game in one of the option sets."""
    game = make_game("obelisk", **[{}, *OPTION_SETS][number])
    random = np.random.default_rng(seed)
    position, plies = game.start(), int(random.integers(0, 120))
    while not position.is_over and position.ply < plies:
        position.play(int(random.choice(position.legal_actions)))
    return position


positions = st.builds(some_game, st.integers(0, 2**32), st.integers(0, len(OPTION_SETS)))
many_positions = settings(max_examples=30)


def towers_of_the_log(position: Position) -> list[Tower]:
    """The towers built anew by the reference, block by block of the log."""
    state, everything = position.state, position.game.catalogue.everything  # type: ignore[attr-defined]
    towers = [Tower(), Tower()]
    for entry in state.log[: state.logged].tolist():
        number, owner = divmod(entry, 2)
        kind, place = divmod(number, 72)
        each = everything[kind]
        cubes = frozenset(placements(each.cubes)[place])
        towers[owner].drop(each.id, each.value, cubes)
    return towers


@many_positions
@given(positions)
def test_heights_and_points_are_those_of_the_cubes(position: Position) -> None:
    towers = towers_of_the_log(position)
    assert position.state.heights.tolist() == [tower.heights() for tower in towers]
    assert position.state.points.tolist() == [tower.points() for tower in towers]
    higher = [[[h > k for h in tower.heights()] for k in range(10)] for tower in towers]
    assert position.state.levels.tolist() == [np.ravel(tower).tolist() for tower in higher]
    assert position.state.over.tolist() == [tower.is_over_the_top() for tower in towers]
    assert not position.state.log[position.state.logged :].any()


def where_it_rests(position: Position, owner: int, cubes: frozenset[Cube]) -> dict[str, Any]:
    """Where a block comes to rest on a tower of the reference, and what is below and above it."""
    tower = towers_of_the_log(position)[owner]
    heights = tower.heights()
    placed = tower.drop("it", 0, cubes)
    lowest = {
        3 * y + x: min(c for a, b, c in placed.cubes if (a, b) == (x, y)) for x, y, _ in cubes
    }
    return {
        "cubes": placed.cubes,
        "high": 1 + max(z for _, _, z in placed.cubes),
        "lost": sum(z - heights[column] for column, z in lowest.items()),
        "is_above": placed.cubes_above > 0,
    }


def slots_of_cubes(position: Position, action: int | None = None) -> np.ndarray:
    """What the picture shows of each cube, and its edges, int32[2, levels, 9, 2]."""
    game = position.game
    ranks = game.view_tables[0].rank
    slots = position.slots(action)[view.CUBES :][: 2 * ranks.size * view.CUBE_SLOTS]
    return slots.reshape(2, ranks.size, view.CUBE_SLOTS)[:, ranks]


def beyond(cube: Cube, step: Cube) -> Cube:
    return cube[0] + step[0], cube[1] + step[1], cube[2] + step[2]


#: The sides of a cube that are seen, each with those that it meets.
SEEN: dict[Cube, tuple[Cube, ...]] = {
    (0, 0, 1): ((0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0)),
    (-1, 0, 0): ((0, 0, -1), (0, 1, 0), (0, 0, 1), (0, -1, 0)),
    (0, -1, 0): ((0, 0, -1), (1, 0, 0), (0, 0, 1), (-1, 0, 0)),
}


def seen_outline(cubes: dict[Cube, int], cube: Cube) -> set[frozenset[Cube]]:
    """The edges where a visible side of a cube's block ends; ``cubes`` has their blocks."""
    return {
        frozenset((side, other))
        for side, others in SEEN.items()
        for other in others
        if beyond(cube, side) not in cubes and cubes.get(beyond(cube, other)) != cubes[cube]
    }


@pytest.mark.slow
@many_positions
@given(positions)
def test_the_picture_has_the_cubes_and_outlines_of_the_towers(position: Position) -> None:
    tables, state = position.game.view_tables[0], position.state
    sides = [tuple(step) for step in tables.step.tolist()]
    logged = state.log[: state.logged].tolist()
    placing = len(state.pile) + rules.PLACE
    slots, shown = slots_of_cubes(position, placing), position.slots()
    for player, tower in enumerate(towers_of_the_log(position)):
        numbers = [number for number, entry in enumerate(logged) if entry % 2 == player]
        blocks = zip(numbers, tower.blocks, strict=True)
        cubes = {cube: number for number, each in blocks for cube in each.cubes}
        shades: dict[int, dict[int, int]] = {}  # by colour, then by block
        for column, height in enumerate(tower.heights()):
            top = cubes.get((column % 3, column // 3, height - 1), -1)
            colour = int(tables.colour[logged[top] // 2 // 72]) if height else -1
            light = slots.shape[1] + 1 if height and tables.is_dark[colour] else 0  # letters
            assert shown[view.HEIGHTS + 9 * player + column] == height + light
            assert shown[view.HIGHEST + 9 * player + column] == 1 + colour
        assert max((z for _, _, z in cubes), default=0) < slots.shape[1]
        for level, column in np.ndindex(slots.shape[1:3]):
            cube = column % 3, column // 3, level
            body, edges = slots[player, level, column].tolist()
            if cube not in cubes:
                assert (body, edges) == (view.ROD if level < 9 else 0, 0)
                continue
            number = cubes[cube]
            colour = int(tables.colour[logged[number] // 2 // 72])
            shade = body - view.FIRST_COLOUR - view.SHADES * colour
            assert shade in range(view.SHADES)
            assert shades.setdefault(colour, {}).setdefault(number, shade) == shade
            first = view.EDGES if number == len(logged) - 1 else 0
            assert {
                frozenset((sides[one], sides[other]))
                for edge, (one, other) in enumerate(tables.edge.tolist(), first)
                if edges >> edge & 1
            } == seen_outline(cubes, cube)
            assert edges.bit_count() == len(seen_outline(cubes, cube))
        for of_blocks in shades.values():  # one block after the other looks different
            in_order = [of_blocks[number] for number in sorted(of_blocks)]
            assert all(one != other for one, other in pairwise(in_order))
    assert (slots_of_cubes(position, placing - 1)[..., 1] < 1 << view.EDGES).all()  # none placed


@many_positions
@given(positions)
def test_the_picture_has_the_places_where_a_block_can_land(position: Position) -> None:
    game, state = position.game, position.state
    assert isinstance(game, Obelisk)
    shown = position.slots()
    blocks, owner, first = len(state.pile), int(state.mover), len(state.pile) + rules.PLACE
    if state.phase >= rules.BLACK_ACTIVE:
        owner, first = 1 - owner, blocks + rules.BLACK
    elif state.phase >= rules.PLACE_ACTIVE:
        blocks = int(state.hand[owner])
    is_placing = state.phase >= rules.PLACE_ACTIVE and not position.is_over
    assert shown[view.BAND] == (1 + owner if is_placing else 0)
    legal = {int(action) - first for action in position.legal_actions if is_placing}
    for place in range(72):
        told = shown[view.REACHED + place], shown[view.LANDING + place]
        if place not in legal or place not in game.placements[blocks]:
            assert told == (0, 0)
            continue
        rest = where_it_rests(position, owner, game.placements[blocks][place])
        below = 1 + min(rest["lost"], view.MOST_HOLES)
        assert told == (rest["high"], view.OVER_THE_TOP if rest["is_above"] else below)
        assert shown[view.TILE + place // 9] == 1 + blocks


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("pink-tetrapod-x", ["pink", "tetrapod-x"]),
        ("parallelepiped-x", ["parallelepiped", "x"]),
        ("a--b", ["a--b"]),
        ("-", ["-"]),
    ],
)
def test_the_picture_has_the_name_of_a_block_in_lines(name: str, lines: list[str]) -> None:
    svg = make_game("obelisk", blocks=with_block(id=name)).start().svg()
    texts = re.findall(r">([^<>]*)</text>", svg)
    first = texts.index(lines[0])
    assert texts[first : first + len(lines)] == lines
    assert texts[first - 1] != ""


@pytest.mark.parametrize(
    ("phase", "words", "rest"),
    [
        (rules.BLACK_ACTIVE, "where", "4-5"),
        (rules.BLACK_ACTIVE, "where black", "4-5"),
        (rules.PLACE_ACTIVE, "where black", "4-5"),
        (rules.PLACE_ACTIVE, "where cube", "0-1"),
    ],
)
def test_black_blocks_come_to_rest_on_the_other_tower(phase: int, words: str, rest: str) -> None:
    game = make_game("obelisk", blocks=FEW)
    state = game.start().state
    state.phase, state.heights[1] = phase, 4
    told = game.terminal.answer(Position.of_state(game, state), words.split())
    assert told is not None
    assert told.splitlines()[-1].split() == ["r0", *[rest] * 9]


def block_in_hand(position: Position) -> tuple[int, int, int] | None:
    """The block that the mover has to put down, on whose tower, and the first action of it."""
    state, types = position.state, len(position.state.pile)
    if position.is_over or state.phase < rules.PLACE_ACTIVE:
        return None
    if state.phase >= rules.BLACK_ACTIVE:
        return types, 1 - int(state.mover), types + rules.BLACK
    return int(state.hand[state.mover]), int(state.mover), types + rules.PLACE


def turned_by_hand(cubes: tuple[Cube, ...], way: int) -> tuple[Cube, ...]:
    """Cubes after a quarter turn or a flip, from the corner of the space on."""
    moved = [(-y, x, z) if way == ROTATE else (x, -y, -z) for x, y, z in cubes]
    least = [min(cube[axis] for cube in moved) for axis in range(3)]
    return tuple(sorted((x - least[0], y - least[1], z - least[2]) for x, y, z in moved))


@many_positions
@given(positions)
def test_a_block_in_hand_is_turned_and_flipped(position: Position) -> None:
    game = position.game
    assert isinstance(game, Obelisk)
    handling = game.drawn_scene.handling
    assert handling is not None
    legal = handling.pose_of[position.legal_actions]
    held = block_in_hand(position)
    if held is None:
        assert (legal == -1).all()
        assert position.is_over or position.next_pose(3, ROTATE) == 3
        return
    cubes = game.catalogue.everything[held[0]].cubes
    for pose in set(legal[legal >= 0].tolist()):
        for way in (ROTATE, FLIP):
            after = position.next_pose(pose, way)
            assert after in legal
            assert oriented(cubes, after) == turned_by_hand(oriented(cubes, pose), way)


@many_positions
@given(positions)
def test_a_preview_shows_where_a_block_comes_to_rest(position: Position) -> None:
    game, held = position.game, block_in_hand(position)
    assert isinstance(game, Obelisk)
    handling = game.drawn_scene.handling
    assert handling is not None
    if held is None:
        return
    block, owner, first = held
    shown, corners = position.slots(), np.array(handling.stands)
    for action in position.legal_actions.tolist():
        if handling.pose_of[action] < 0:
            continue
        cubes = game.placements[block][action - first]
        rest = where_it_rests(position, owner, cubes)
        after = position.copy()
        after.play(action)
        changed = after.slots(action, position) != shown
        from_above, from_a_corner = (
            {slot: place for slot, place in drawing.items() if changed[slot]}
            for drawing in handling.drawings
        )
        columns = {3 * y + x for x, y, _ in cubes}
        assert set(from_above) == {view.HEIGHTS + 9 * owner + column for column in columns}
        ranks = game.view_tables[0].rank
        stands = {9 * len(ranks) * owner + int(ranks[z, 3 * y + x]) for x, y, z in rest["cubes"]}
        assert set(from_a_corner) == {view.CUBES + view.CUBE_SLOTS * rank for rank in stands}
        left, top, width, height = corners[owner]
        for x, y in (*from_above.values(), *from_a_corner.values()):
            assert left < x < left + width
            assert top < y < top + height
        height_told, holes_told = (
            texts[shown[slots[action]]] for slots, texts in handling.told if slots[action] >= 0
        )
        assert height_told == (
            "over the top" if rest["is_above"] else f"reaches {rest['high']} of 9"
        )
        if not rest["is_above"]:
            lost = rest["lost"]
            number = {0: "no hole", 1: "1 hole"}.get(lost, f"{min(lost, 4)} holes")
            assert holes_told == f"leaves {number}{' or more' if lost >= 4 else ''}"


@many_positions
@given(positions)
def test_no_block_is_ever_lost(position: Position) -> None:
    state, catalogue = position.state, position.game.catalogue  # type: ignore[attr-defined]
    stock = [block.count for block in catalogue.types]
    numbers = Counter({kind: int(left) for kind, left in enumerate(state.pile)})
    numbers.update(kind for kind in [*state.zone.tolist(), *state.hand.tolist()] if kind >= 0)
    numbers.update(entry // 2 // 72 for entry in state.log[: state.logged].tolist())
    numbers[len(catalogue.types)] += int(state.black_left)
    assert numbers == {kind: each.count for kind, each in enumerate(catalogue.everything)}
    assert state.pile_blocks == state.pile.sum()
    left = [n < kept for kind, kept in enumerate(state.pile) for n in range(stock[kind])]
    assert state.slots.tolist() == left
    assert abs(position.score) <= position.game.max_score


# What the players see.


def features(position: Position, player: int) -> set[str]:
    """The names of what is shown to a player."""
    names = position.game.observation_names
    return {names[feature] for feature in np.flatnonzero(position.observation(player))}


def test_observation_by_example() -> None:
    game = Beside("choose green-t-flat, choose blue-i-upright, pick blue-i-upright, place a1 r2")
    in_the_pile = {name for name in game.game.observation_names if name.startswith("pile ")}
    common = {
        "phase place passive",
        *(f"black left > {count}" for count in range(4)),
        *(in_the_pile - {"pile green-t-flat > 0", "pile blue-i-upright > 0"}),
    }
    # The T lies on player_0's tower for two points; 39 is the most that a lead can be.
    assert features(game.position, 0) == common | {
        *(f"own column {column} > 0" for column in ("a1", "b1", "c1", "b2")),
        *(f"lead > {points}" for points in range(-20, 2)),
        *("lead digit 0", "lead digit 3", "lead digit 5"),  # 39 + 2
        *("is active", "other hand blue-i-upright"),
    }
    assert features(game.position, 1) == common | {
        *(f"other column {column} > 0" for column in ("a1", "b1", "c1", "b2")),
        *(f"lead > {points}" for points in range(-20, -2)),
        *("lead digit 0", "lead digit 2", "lead digit 5"),  # 39 - 2
        "own hand blue-i-upright",
    }


def test_observation_shows_flats_and_what_is_over_the_top() -> None:
    marks = {f"{whose} tower {what}" for whose in ("own", "other") for what in ("flat", "over")}
    game = plates("decline, decline").turn("slab", "cube", "a1 r0", "a1 r0")
    # player_1 has put a slab on its plate: flat at 9; player_0 has a cube on its own.
    assert features(game.position, 1) & marks == {"own tower flat"}
    assert features(game.position, 0) & marks == {"other tower flat"}
    game.play("black a1, choose cube, choose plate, pick plate, place a1 r0, place a1 r0")
    assert features(game.position, 1) & marks == {"own tower flat", "own tower over"}
    assert features(game.position, 0) & marks == {"other tower flat", "other tower over"}
    columns = {name for name in game.game.observation_names if name.startswith("own column ")}
    assert columns < features(game.position, 1)  # ten high


@pytest.mark.parametrize(("blocks", "mirrors"), [(FEW, (0, 1)), (ONE_SCREW, (0,))])
def test_each_tower_turns_by_itself_and_both_are_mirrored_together(
    blocks: dict[str, Any], mirrors: tuple[int, ...]
) -> None:
    game = make_game("obelisk", blocks=blocks, hourglass=True, max_plies=60)
    symmetries = game.symmetries()
    assert len(symmetries) == 16 * len(mirrors)
    for mirrored, *turns in product(mirrors, range(4), range(4)):
        # A row tells of one's own tower first, so the players know a symmetry by two numbers.
        numbers = [16 * mirrored + 4 * turns[p] + turns[1 - p] for p in (0, 1)]
        image = game.start()
        for position, action in random_game(game, seed=numbers[0]):
            assert image.mover == position.mover
            seen_as = symmetries.actions_of(position.states, numbers[position.mover])[0]
            np.testing.assert_array_equal(image.mask, position.mask[seen_as])
            for viewer in (0, 1):
                gather = symmetries.observation[numbers[viewer]]
                np.testing.assert_array_equal(
                    image.observation(viewer), position.observation(viewer)[gather]
                )
            assert (image.outcome, image.score) == (position.outcome, position.score)
            if action is not None:
                image.play(int(np.argsort(seen_as)[action]))


def test_a_mirrored_screw_is_the_other_screw() -> None:
    game = make_game("obelisk")
    ids = [each.id for each in game.catalogue.types]  # type: ignore[attr-defined]
    image_of = np.argsort(game.symmetries().actions[0, 16])
    images = {ids[i]: ids[image_of[i]] for i in range(len(ids)) if image_of[i] != i}
    assert set(images) == {name for name in ids if "screw" in name}


@pytest.mark.slow
def test_pictures_on_one_page_define_nothing_in_two_ways() -> None:
    known: dict[str, bytes] = {}
    for blocks in (None, FEW, ONE_SCREW, RICH):
        svg = ElementTree.fromstring(make_game("obelisk", blocks=blocks).start().svg())
        defined = {
            each.attrib["id"]: ElementTree.tostring(each) for each in svg.findall(".//*[@id]")
        }
        used = {each.attrib["href"].removeprefix("#") for each in svg.findall(".//*[@href]")}
        assert used <= defined.keys()
        assert all(known.setdefault(name, content) == content for name, content in defined.items())


# Texts.


@pytest.mark.parametrize(
    ("moves", "text", "words"),
    [
        ("", "choose", ["'choose'", "malformed"]),
        ("", "choose green", ["'choose green'", "malformed", "green-t-flat"]),
        ("", "choose black", ["'choose black'", "malformed"]),
        ("", "Choose GREEN", ["'Choose GREEN'", "malformed"]),
        ("", "pick blue-x", ["'pick blue-x'", "not legal", "choose the first block"]),
        ("", "pick nothing", ["'pick nothing'", "malformed"]),
        ("", "place a1 r0", ["'place a1 r0'", "not legal", "choose the first block"]),
        ("", "place a1", ["'place a1'", "malformed", "place a1 r0"]),
        ("", "place a1 r4", ["'place a1 r4'", "malformed"]),
        ("", "place d1 r0", ["'place d1 r0'", "a1 to c3"]),
        ("", "place a1  r0", ["'place a1  r0'", "malformed"]),
        ("", "place a1 f", ["'place a1 f'", "malformed"]),
        ("", "black d4", ["'black d4'", "a1 to c3"]),
        ("", "black a1", ["'black a1'", "not legal", "player_0 has to choose"]),
        ("", "decline", ["'decline'", "not legal", "player_0 has to choose"]),
        ("", "", ["''", "malformed"]),
        ("", "pass", ["'pass'", "malformed"]),
        ("choose blue-x", "choose blue-x", ["not legal", "no blue-x is left"]),
        ("choose blue-x, choose blue-f", "choose blue-p", ["not legal", "player_1 has to pick"]),
        ("choose blue-x, choose blue-f", "pick blue-p", ["'pick blue-p'", "blue-x and blue-f"]),
        ("choose blue-x, choose blue-f", "pick first", ["'pick first'", "malformed"]),
        ("choose blue-x, choose blue-f, pick blue-x", "pick blue-f", ["player_0 has to place"]),
    ],
)
def test_refused_text_is_named_with_the_reason(moves: str, text: str, words: list[str]) -> None:
    message = refusal(Beside(moves).position, text)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("moves", "text", "action"),
    [
        ("", "choose yellow-flat", 0),
        ("", "choose blue-y-tall", 31),
        ("choose blue-x, choose blue-f", "pick blue-x", 32),
        ("choose blue-x, choose blue-f", "pick blue-f", 33),
        ("choose green-l-tall, choose blue-f, pick blue-f", "place a1 r0", 34),
        ("choose green-l-tall, choose blue-f, pick blue-f", "place b2 r3f", 34 + 9 * 7 + 4),
    ],
)
def test_numbers_of_texts(moves: str, text: str, action: int) -> None:
    position = Beside(moves).position
    assert position.text_to_action(text) == action
    assert position.action_to_text(action) == text


def test_numbers_of_answers_to_flats() -> None:
    position = plates("").position  # three types
    assert position.text_to_action("black a1") == 3 + 74
    assert position.text_to_action("black b2") == 3 + 78
    assert position.text_to_action("decline") == 3 + 83
    assert position.game.num_actions == 3 + 85


# Options.


def test_another_catalogue_by_path_and_by_dict(tmp_path: Path) -> None:
    path = tmp_path / "few.json"
    path.write_text(json.dumps(FEW), encoding="utf-8")
    games = [make_game("obelisk", blocks=given) for given in (FEW, str(path), path)]
    assert games[0] == games[1] == games[2]
    assert hash(games[0]) == hash(games[1])
    assert games[0] != make_game("obelisk")
    assert games[0].num_actions == 4 + 85
    options = json.loads(json.dumps(games[1].options))
    assert make_game("obelisk", **options) == games[0]


def test_the_default_catalogue_written_out_is_the_default() -> None:
    assert make_game("obelisk", blocks=DEFAULT_BLOCKS) == make_game("obelisk")
    assert (
        make_game("obelisk", blocks=Path(room).with_name("blocks.json")).options["blocks"] is None
    )


def test_cubes_may_come_in_any_order_and_anywhere() -> None:
    moved = copy.deepcopy(FEW)
    for each in moved["blocks"]:
        each["cubes"] = [[x + 3, y - 1, z + 7] for x, y, z in reversed(each["cubes"])]
    assert make_game("obelisk", blocks=moved) == make_game("obelisk", blocks=FEW)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    catalogue = copy.deepcopy(FEW)
    change(catalogue)
    return catalogue


def with_block(**entries: Any) -> dict[str, Any]:
    return changed(lambda catalogue: catalogue["blocks"][1].update(entries))


@pytest.mark.parametrize(
    ("catalogue", "words"),
    [
        ([], ["accepted: an object"]),
        (changed(lambda c: c.pop("black")), ["field `black`"]),
        (changed(lambda c: c["tower"].update(height=0)), ["tower.height is 0"]),
        (changed(lambda c: c["black"].update(cubes=[[0, 0, 0], [0, 0, 1]])), ["has 2 cubes"]),
        (changed(lambda c: c.update(blocks=[])), ["blocks is []", "length >= 1"]),
        (changed(lambda c: c["blocks"].append(c["blocks"][0])), ["two blocks", "'cube'"]),
        (with_block(id="black"), ["two blocks", "'black'"]),
        (with_block(id="a block"), ["blocks[1].id is 'a block'", "a-z0-9-"]),
        (with_block(id="domino\n"), ["blocks[1].id is"]),
        (with_block(colour="mauve"), ["'domino'", "yellow, green, blue"]),
        (with_block(value=1.0), ["blocks[1].value is 1.0"]),
        (with_block(value=51), ["blocks[1].value is 51", "<= 50"]),
        (with_block(count=0), ["blocks[1].count is 0", ">= 1"]),
        (with_block(volume=2), ["blocks[1]", "unknown field `volume`"]),
        (with_block(cubes=[[0, 0]]), ["blocks[1].cubes[0] is [0, 0]", "length 3"]),
        (with_block(cubes=[[0, 0, 0], [0, 0, 0]]), ["'domino'", "twice"]),
        (with_block(cubes=[[0, 0, 0], [1, 1, 0]]), ["'domino'", "not connected"]),
        (with_block(cubes=[[x, 0, 0] for x in range(4)]), ["'domino'", "4 x 1 cubes"]),
        (with_block(cubes=[[0, 0, z] for z in range(10)]), ["'domino'", "10 high"]),
        (blocks_file(block("alone", [[0, 0, 0]])), ["'alone' is alone"]),
        (with_block(cubes=[[0, 0, 0]] * 20_000), ["length <= 81"]),
        (with_block(count=10**100_000), ["count is <an integer of 332193 bits>"]),
        (changed(lambda c: c.update({"x" * 10**6: 1})), ["unknown field `xxx"]),
    ],
)
def test_a_bad_catalogue_is_refused_with_block_and_reason(catalogue: Any, words: list[str]) -> None:
    with pytest.raises(ValueError, match="option 'blocks' is") as refusal:
        make_game("obelisk", blocks=catalogue)
    assert len(str(refusal.value)) <= 400
    assert str(refusal.value).isprintable()
    reason = str(refusal.value).split("its content as a dict")[1]
    for word in words:
        assert word in reason


def test_the_largest_catalogue_is_read() -> None:
    whole = [[x, y, z] for x in range(3) for y in range(3) for z in range(9)]
    full = blocks_file(*[block(f"b{n}", whole[: 81 - n // 2], count=50) for n in range(100)])
    assert make_game("obelisk", blocks=full).catalogue.pile_size == 5000


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.json to read a catalogue of blocks"):
        make_game("obelisk", blocks=tmp_path / "nothing.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.json is not valid JSON"):
        make_game("obelisk", blocks=str(tmp_path / "bad.json"))


@pytest.mark.slow
def test_games_with_large_catalogues_can_be_played() -> None:
    """Counts, values and heights at their limits, to see that nothing runs over."""
    cube, plate = [[0, 0, 0]], PLATE
    for value in (-50, 50):
        many = [block(f"cube-{n}", cube, count=50, value=value) for n in range(99)]
        catalogue = blocks_file(*many, block("plate", plate, value=-value), black=50)
        game = make_game("obelisk", blocks=catalogue)
        position, reference = game.start(), reference_of(game)(game.start())
        column = 0
        while not position.is_over:  # as many cubes as fit, row by row
            if position.state.phase in (rules.PLACE_ACTIVE, rules.PLACE_PASSIVE):
                heights = position.state.heights[position.mover]
                column = int(heights.argmin())
                action = position.text_to_action(f"place {'abc'[column % 3]}{column // 3 + 1} r0")
            else:
                action = int(position.legal_actions[-1])
                if position.state.phase <= rules.CHOOSE_SECOND:
                    action = int(position.legal_actions[0])
            position.play(action)
            reference.play(action)
            assert position.state.points.tolist() == list(reference.points())
            assert abs(position.score) <= game.max_score
        assert position.outcome == DRAW
        assert position.state.logged == 2 * 82
