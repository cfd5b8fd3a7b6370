"""The picture of Obelisk: both towers from a corner and from above, what is in play, the pile.

In the middle are the blocks to choose from, or where the mover's block would come to rest. The
cubes of the towers are rebuilt from the position's log. A cube ``(x, y, z)`` is seen from
the corner of column a1: x goes to the right and back, y to the left and back, z upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..board.picture import (
    DARK,
    FAINT,
    HEAD,
    INK,
    LIGHT,
    LINE,
    PAPER,
    SMALL_TEXT,
    WIDTH,
    file_letter,
    fitted_text,
    game_document,
    last_mark,
    svg_text,
)
from ..engine.rule import ONGOING
from .blocks import COLOURS, HEIGHT, SIDE, Block, Cube
from .placements import COLUMNS, ORIENTATIONS, PLACEMENTS, orientation_text, oriented
from .rest import come_to_rest
from .rules import (
    BLACK,
    BLACK_ACTIVE,
    BLACK_PASSIVE,
    DECLINE,
    NO_BLOCK,
    PICK_FIRST,
    PLACE,
    PLACE_ACTIVE,
    PLACE_PASSIVE,
)

if TYPE_CHECKING:
    from .board import Obelisk

_PANEL = "#faf7ef"
_ROD = "#b5ae9d"
# What a step in x and in y moves to the side and up, where a step in z moves by 1. Not quite
# from the corner: seen straight from there, near and far edges would fall into one line.
_X_ASIDE, _X_UP = 0.95, 0.37
_Y_ASIDE, _Y_UP = -0.70, 0.50

_GAP = 8.0
_HALF = WIDTH / 2 - 1.5 * _GAP  # width of the panel of a tower
_TOWER_UNIT = 30.0  # side of a cube
_MAP_UNIT = 46.0
_BAND = 322.0  # height of what is in play
_TILE_HEIGHT = 136.0  # of an orientation
_REST_UNIT = 36.0  # side of a landing place
_PILE_COLUMNS, _PILE_ROW = 8, 134.0


@dataclass(frozen=True)
class _Placed:
    """A block on a tower: its place in the log, and where its cubes are."""

    number: int
    block: Block
    owner: int
    cubes: frozenset[Cube]


def placed_blocks(game: Obelisk, state: np.record) -> list[_Placed]:
    """All blocks on the towers in the order in which they were put there."""
    blocks: list[_Placed] = []
    heights = {(owner, x, y): 0 for owner in (0, 1) for x in range(SIDE) for y in range(SIDE)}
    for number in range(int(state.logged)):
        rest, owner = divmod(int(state.log[number]), 2)
        kind, placement = divmod(rest, PLACEMENTS)
        cubes = game.placements[kind][placement]
        low = max(heights[owner, x, y] - z for x, y, z in cubes)
        there = frozenset((x, y, z + low) for x, y, z in cubes)
        for x, y, z in there:
            heights[owner, x, y] = max(heights[owner, x, y], z + 1)
        blocks.append(_Placed(number, game.catalogue.everything[kind], owner, there))
    return blocks


def draw(game: Obelisk, state: np.record, last_action: int | None, before: np.record | None) -> str:
    """The SVG document of a position, as for `Game.svg`."""
    blocks = placed_blocks(game, state)
    types = len(game.catalogue.types)
    newest = None
    if last_action is not None and types + PLACE <= last_action < types + DECLINE:
        newest = len(blocks) - 1
    bottom = _pile_top(game) + _pile_height(game) + _GAP
    elements: list[str] = []
    for player in (0, 1):
        left = _GAP + player * (_HALF + _GAP)
        tower = [block for block in blocks if block.owner == player]
        elements += _panel(left, HEAD, _HALF, _tower_height(game))
        elements += _tower(left + 128, HEAD + _tower_height(game) - 42, tower, newest)
        elements += _seen_from_above(left + 240, HEAD + 62, tower)
        elements += _facts(game, state, player, left + 240 + 1.5 * _MAP_UNIT, last_action)
    elements += _in_play(game, state, last_action)
    elements += _pile(game, state)
    roles = ["active" if state.active == player else "passive" for player in (0, 1)]
    if state.outcome != ONGOING:
        roles = ["", ""]
    return game_document(
        *(game, state, elements, bottom),
        pieces=(_sample(0), _sample(1)),
        roles=(roles[0], roles[1]),
        last_action=last_action,
        before=before,
    )


def action_spots(game: Obelisk) -> np.ndarray:
    """As `Game.action_spots`: on the pile, in the building zone, and at the landing places."""
    types = len(game.catalogue.types)
    spots = np.full((game.num_actions, 2), np.nan)
    spots[:types] = [_pile_place(game, number) for number in range(types)]
    for place in (0, 1):
        x, y = _zone_place(game, place)
        spots[types + PICK_FIRST + place] = x + _HALF / 2 - 30, y - 30
    for place in range(PLACEMENTS):
        spots[types + PLACE + place] = _landing_place(game, place)
    spots[types + BLACK : types + DECLINE] = spots[types + PLACE : types + PLACE + COLUMNS]
    return spots


# Where things are.


def _tower_height(game: Obelisk) -> float:
    levels = HEIGHT + max(3, max(block.height for block in game.catalogue.types) - 2)
    return 66 + (levels + SIDE * (_X_UP + _Y_UP)) * _TOWER_UNIT


def _band_top(game: Obelisk) -> float:
    return HEAD + _tower_height(game) + _GAP


def _zone_place(game: Obelisk, place: int) -> tuple[float, float]:
    """The foot of a block in the building zone."""
    return _GAP + (place + 0.5) * (_HALF + _GAP), _band_top(game) + 236


def _tile(game: Obelisk, orientation: int) -> tuple[float, float]:
    """The upper left corner of what is told of an orientation."""
    row, column = divmod(orientation, 4)
    left = _GAP + column * (WIDTH - 2 * _GAP) / 4
    return left, _band_top(game) + 48 + row * _TILE_HEIGHT


def _landing_place(game: Obelisk, place: int) -> tuple[float, float]:
    """The centre of what is told of a placement."""
    orientation, column = divmod(place, COLUMNS)
    y, x = divmod(column, SIDE)
    left, top = _tile(game, orientation)
    return left + 80 + (x + 0.5) * _REST_UNIT, top + (SIDE - y - 0.5) * _REST_UNIT + 8


def _pile_top(game: Obelisk) -> float:
    return _band_top(game) + _BAND + _GAP


def _pile_height(game: Obelisk) -> float:
    return 44 + -(-len(game.catalogue.types) // _PILE_COLUMNS) * _PILE_ROW


def _pile_place(game: Obelisk, number: int) -> tuple[float, float]:
    """The centre of the drawing of a type in the pile."""
    row, column = divmod(number, _PILE_COLUMNS)
    width = (WIDTH - 2 * _GAP) / _PILE_COLUMNS
    return _GAP + (column + 0.5) * width, _pile_top(game) + 44 + row * _PILE_ROW + 42


# The parts.


def _sample(player: int) -> str:
    """A tower about the origin: the left or the right one of two."""
    towers = [
        f'<rect x="{x}" y="-22" width="14" height="44" fill="{fill}" stroke="{INK}" '
        'stroke-width="2"/>'
        for x, fill in ((-20, (INK, "none")[player]), (6, ("none", INK)[player]))
    ]
    return "".join(towers)


def _panel(left: float, top: float, width: float, height: float) -> list[str]:
    return [
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="10" '
        f'fill="{_PANEL}" stroke="{LINE}"/>'
    ]


def _facts(
    game: Obelisk, state: np.record, player: int, centre: float, last_action: int | None
) -> Iterator[str]:
    """What is known of a player besides the tower: the block in hand, the end of the tower."""
    top = HEAD + 62 + SIDE * _MAP_UNIT
    heights = set(state.heights[player].tolist())
    if state.over[player]:
        yield svg_text(centre, top + 60, "over the top", 24, INK)
    elif len(heights) == 1 and heights != {0}:
        yield svg_text(centre, top + 60, "flat", 24, INK)
    if state.hand[player] != NO_BLOCK:
        block = game.catalogue.types[state.hand[player]]
        yield svg_text(centre, top + 96, "to be placed:", SMALL_TEXT, INK)
        yield from _alone(centre, top + 236, block.cubes, block.colour, 18, 116)
        yield _value(centre + 56, top + 138, block)
        yield fitted_text(centre, top + 254, block.id, 20, INK, 136)
        picks = range(len(game.catalogue.types) + PICK_FIRST, len(game.catalogue.types) + PLACE)
        if last_action in picks and state.active != player:
            slot = f'<rect x="{centre - 76:g}" y="{top + 112:g}" width="152" height="160" rx="8"'
            yield from last_mark(slot)


def _in_play(game: Obelisk, state: np.record, last_action: int | None) -> Iterator[str]:
    """The band between towers and pile: the building zone, or landing places."""
    phase = int(state.phase)
    yield from _panel(_GAP, _band_top(game), WIDTH - 2 * _GAP, _BAND)
    ongoing = state.outcome == ONGOING
    if ongoing and phase in (PLACE_ACTIVE, PLACE_PASSIVE):
        block = game.catalogue.types[state.hand[state.mover]]
        yield from _landing_places(game, state, int(state.mover), block)
    elif ongoing and phase in (BLACK_ACTIVE, BLACK_PASSIVE):
        black = game.catalogue.black
        yield from _landing_places(game, state, 1 - int(state.mover), black)
    else:
        yield from _zone(game, state, last_action)


def _zone(game: Obelisk, state: np.record, last_action: int | None) -> Iterator[str]:
    """The two blocks in the building zone, and the black ones beside."""
    top, types = _band_top(game), game.catalogue.types
    yield svg_text(_GAP + 14, top + 24, "building zone", 24, INK, "start")
    left = f"black blocks left: {int(state.black_left)}"
    yield svg_text(WIDTH - _GAP - 14, top + 24, left, SMALL_TEXT, INK, "end")
    chosen = [int(number) for number in state.zone if number != NO_BLOCK]
    for place in (0, 1):
        x, y = _zone_place(game, place)
        slot = f'<rect x="{x - _HALF / 2 + 10:g}" y="{top + 48:g}" '
        slot += f'width="{_HALF - 20:g}" height="{_BAND - 60:g}" rx="10"'
        yield f'{slot} fill="none" stroke="{LINE}" stroke-dasharray="6 6"/>'
        if place < len(chosen):
            block = types[chosen[place]]
            yield from _alone(x, y, block.cubes, block.colour, 34, 160)
            yield _value(x + _HALF / 2 - 34, top + 74, block)
            points = f"{block.id}, {len(block.cubes)} cubes"
            yield fitted_text(x, y + 32, points, 24, INK, _HALF - 40)
            if last_action is not None and last_action < len(types) and place == len(chosen) - 1:
                yield from last_mark(slot)


def _landing_places(game: Obelisk, state: np.record, owner: int, block: Block) -> Iterator[str]:
    """Each orientation of a block, and how high it would reach wherever it can be put."""
    number = game.catalogue.everything.index(block)
    top = _band_top(game)
    title = f"heights reached (player_{owner}'s tower)"
    yield svg_text(_GAP + 14, top + 24, title, SMALL_TEXT, INK, "start")
    legend = WIDTH - _GAP - 14
    yield svg_text(legend, top + 24, "shaded: holes, black: over", SMALL_TEXT, FAINT, "end")
    found = game.placements[number]
    for orientation in range(ORIENTATIONS):
        places = [place for place in found if place // COLUMNS == orientation]
        left, tile_top = _tile(game, orientation)
        if not places:
            continue
        cubes = oriented(block.cubes, orientation)
        yield from _alone(left + 42, tile_top + 84, cubes, block.colour, 18, 62)
        name = orientation_text(orientation) if block.id != game.catalogue.black.id else "black"
        yield svg_text(left + 42, tile_top + 104, name, SMALL_TEXT, INK)
        for place in places:
            x, y = _landing_place(game, place)
            yield from _landing(x, y, state.heights[owner], found[place])


def _landing(x: float, y: float, heights: np.ndarray, cubes: frozenset[Cube]) -> Iterator[str]:
    """One landing place: the height reached; dark where it is too high, shaded over holes."""
    rest = come_to_rest(heights, cubes)
    fill = DARK if rest.above else "#ffffff" if not rest.lost else _HOLES[min(rest.lost, 4) - 1]
    yield (
        f'<rect x="{x - _REST_UNIT / 2:g}" y="{y - _REST_UNIT / 2:g}" width="{_REST_UNIT:g}" '
        f'height="{_REST_UNIT:g}" fill="{fill}" stroke="{FAINT}"/>'
    )
    yield svg_text(x, y, str(rest.high), 24, LIGHT if rest.above else INK)


_HOLES = ("#e9dfc6", "#d9c9a2", "#c8b27e", "#b79c60")


def _pile(game: Obelisk, state: np.record) -> Iterator[str]:
    """The common pile: each type with its value and how many are left of it."""
    top, width = _pile_top(game), (WIDTH - 2 * _GAP) / _PILE_COLUMNS
    yield from _panel(_GAP, top, WIDTH - 2 * _GAP, _pile_height(game))
    title = f"common pile: {int(state.pile_blocks)} blocks"
    yield svg_text(_GAP + 14, top + 22, title, 24, INK, "start")
    yield svg_text(WIDTH - _GAP - 14, top + 22, "in circles: points", 20, FAINT, "end")
    for number, block in enumerate(game.catalogue.types):
        x, y = _pile_place(game, number)
        left = int(state.pile[number])
        ink = INK if left else LINE
        for line, words in enumerate(_in_lines(block.id)):
            yield fitted_text(x, y + 46 + 17 * line, words, 17, ink, width - 4)
        if left:
            yield from _alone(x - 4, y + 30, block.cubes, block.colour, 15, 58)
            yield _value(x + width / 2 - 18, y - 22, block)
        if left > 1:
            yield svg_text(x - width / 2 + 4, y - 24, f"{left}x", SMALL_TEXT, INK, "start")


def _in_lines(name: str) -> list[str]:
    """A block's name in up to three lines, broken at hyphens."""
    lines = [""]
    for word in name.split("-"):
        joined = f"{lines[-1]}-{word}".strip("-")
        if len(lines) < 3 and len(joined) > 11:
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _value(x: float, y: float, block: Block) -> str:
    """What a block is worth, in a circle."""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="15" fill="{PAPER}" stroke="{INK}" stroke-width="2"/>'
        + svg_text(x, y, str(block.value), SMALL_TEXT, INK)
    )


def _seen_from_above(left: float, top: float, tower: Sequence[_Placed]) -> Iterator[str]:
    """The heights of the columns, each in the colour of its highest cube."""
    unit = _MAP_UNIT
    highest: dict[tuple[int, int], tuple[int, Block]] = {}
    for placed in tower:
        for x, y, z in placed.cubes:
            if z + 1 > highest.get((x, y), (0, None))[0]:
                highest[x, y] = z + 1, placed.block
    yield svg_text(left + 1.5 * unit, top - 28, "from above", SMALL_TEXT, FAINT)
    for x in range(SIDE):
        below = top + SIDE * unit + 14
        yield svg_text(left + (x + 0.5) * unit, below, file_letter(x), SMALL_TEXT, FAINT)
        for y in range(SIDE):
            height, block = highest.get((x, y), (0, None))
            fill = COLOURS[block.colour] if block else PAPER
            ink = DARK if block is None or _lightness(fill) > 120 else "#ffffff"
            corner = top + (SIDE - 1 - y) * unit
            yield (
                f'<rect x="{left + x * unit:g}" y="{corner:g}" width="{unit:g}" '
                f'height="{unit:g}" fill="{fill}" stroke="{INK}"/>'
            )
            yield svg_text(left + (x + 0.5) * unit, corner + unit / 2, str(height), 28, ink)
    for y in range(SIDE):
        corner = top + (SIDE - 0.5 - y) * unit
        yield svg_text(left - 12, corner, str(y + 1), SMALL_TEXT, FAINT)


def _lightness(colour: str) -> float:
    """From 0 (black) to 255 (white)."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue


# Cubes seen from a corner.


@dataclass(frozen=True)
class _View:
    """Where the corner under column a1 is drawn, and how large a cube is."""

    x: float
    y: float
    unit: float

    def point(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Where a point of space is drawn."""
        return (
            self.x + (x * _X_ASIDE + y * _Y_ASIDE) * self.unit,
            self.y - (x * _X_UP + y * _Y_UP + z) * self.unit,
        )

    def line(
        self,
        begin: tuple[float, float, float],
        end: tuple[float, float, float],
        colour: str,
        width: float,
        more: str = "",
    ) -> str:
        """A line between two points of space."""
        (x1, y1), (x2, y2) = self.point(*begin), self.point(*end)
        return (
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width:g}" stroke-linecap="round"{more}/>'
        )


# The faces that can be seen: which way the face looks, how light it is, its corners in a
# circle, and for each side of that circle the step to the cube beyond that side.
_FACES: tuple[tuple[Cube, float, tuple[Cube, ...], tuple[Cube, ...]], ...] = (
    (
        (0, 0, 1),
        1.0,
        ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)),
        ((0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0)),
    ),
    (
        (-1, 0, 0),
        0.82,
        ((0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1)),
        ((0, 0, -1), (0, 1, 0), (0, 0, 1), (0, -1, 0)),
    ),
    (
        (0, -1, 0),
        0.64,
        ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1)),
        ((0, 0, -1), (1, 0, 0), (0, 0, 1), (-1, 0, 0)),
    ),
)


def _tower(x: float, y: float, tower: Sequence[_Placed], newest: int | None) -> Iterator[str]:
    """A tower with its rods, the column names at its foot and a scale of heights."""
    view = _View(x, y, _TOWER_UNIT)
    corners = [view.point(i, j, 0) for i, j in ((0, 0), (SIDE, 0), (SIDE, SIDE), (0, SIDE))]
    yield f'<polygon points="{_points(corners)}" fill="#d6cfbe" stroke="{FAINT}"/>'
    for step in range(1, SIDE):
        yield view.line((step, 0, 0), (step, SIDE, 0), FAINT, 0.7)
        yield view.line((0, step, 0), (SIDE, step, 0), FAINT, 0.7)
    for step in range(SIDE):
        yield svg_text(*view.point(step + 0.5, -0.6, 0), file_letter(step), SMALL_TEXT, FAINT)
        yield svg_text(*view.point(-0.6, step + 0.5, 0), str(step + 1), SMALL_TEXT, FAINT)
    for level in range(1, HEIGHT + 1):
        tick_x, tick_y = view.point(0, SIDE, level)
        colour = INK if level == HEIGHT else FAINT
        yield (
            f'<line x1="{tick_x - 14:g}" y1="{tick_y:g}" x2="{tick_x - 8:g}" y2="{tick_y:g}" '
            f'stroke="{colour}"/>'
        )
        yield svg_text(tick_x - 26, tick_y, str(level), SMALL_TEXT, colour)
    dashed = ' stroke-dasharray="4 5"'
    limit = [(0, SIDE, HEIGHT), (SIDE, SIDE, HEIGHT), (SIDE, 0, HEIGHT), (0, 0, HEIGHT)]
    for begin, end in ((0, 1), (1, 2)):
        yield view.line(limit[begin], limit[end], INK, 1.5, dashed)
    cubes = {cube: placed for placed in tower for cube in placed.cubes}
    empty = {
        (i, j, k) for i in range(SIDE) for j in range(SIDE) for k in range(HEIGHT)
    } - cubes.keys()
    for cube in sorted(cubes.keys() | empty, key=_nearness):
        if cube in empty:
            i, j, k = cube
            yield view.line((i + 0.5, j + 0.5, k), (i + 0.5, j + 0.5, k + 1), _ROD, 2)
        else:
            yield from _cube(view, cube, cubes, cubes[cube].number == newest)
    for begin, end in ((2, 3), (3, 0)):
        yield view.line(limit[begin], limit[end], INK, 1.5, dashed)


@lru_cache(maxsize=2048)  # most of a picture: the blocks of the pile stay where they are
def _alone(
    x: float, y: float, block_cubes: tuple[Cube, ...], colour: str, unit: float, room: float
) -> tuple[str, ...]:
    """Cubes by themselves, standing at y and centred on x; smaller if they would not fit."""
    width, depth, height = (1 + max(cube[axis] for cube in block_cubes) for axis in range(3))
    aside = width * _X_ASIDE - depth * _Y_ASIDE
    unit = min(unit, room / (height + width * _X_UP + depth * _Y_UP), 1.2 * room / aside)
    view = _View(x - (width * _X_ASIDE + depth * _Y_ASIDE) / 2 * unit, y, unit)
    block = Block("", colour, 0, 1, block_cubes)
    cubes = dict.fromkeys(block_cubes, _Placed(0, block, 0, frozenset(block_cubes)))
    nearest_last = sorted(block_cubes, key=_nearness)
    return tuple(part for cube in nearest_last for part in _cube(view, cube, cubes, False))


def _nearness(cube: Cube) -> tuple[int, Cube]:
    """Larger for cubes that may cover others; equally near ones never overlap.

    A line of sight goes on to larger x and y and smaller z.
    """
    x, y, z = cube
    return z - x - y, cube


def _cube(view: _View, cube: Cube, cubes: Mapping[Cube, _Placed], is_marked: bool) -> Iterator[str]:
    """The faces of a cube that no neighbour hides, with lines where its block ends."""
    placed = cubes[cube]
    colour = _shade(COLOURS[placed.block.colour], 1 - 0.07 * (placed.number % 3))
    for way, light, corners, steps in _FACES:
        if _next_to(cube, way) in cubes:
            continue
        at = [_next_to(cube, corner) for corner in corners]
        fill = _shade(colour, light)
        points = _points([view.point(*corner) for corner in at])
        inner = _shade(fill, 0.86)
        yield f'<polygon points="{points}" fill="{fill}" stroke="{inner}" stroke-width="0.6"/>'
        for side, step in enumerate(steps):
            if cubes.get(_next_to(cube, step)) is not placed:
                ends = at[side], at[(side + 1) % 4]
                if is_marked:
                    yield view.line(*ends, DARK, view.unit / 4)
                    yield view.line(*ends, LIGHT, view.unit / 8)
                else:
                    yield view.line(*ends, INK, view.unit / 22)


def _next_to(cube: Cube, step: Cube) -> Cube:
    return cube[0] + step[0], cube[1] + step[1], cube[2] + step[2]


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _shade(colour: str, light: float) -> str:
    """A colour made darker."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(light * part):02x}" for part in parts)
