"""The picture of Obelisk: both towers from a corner and from above, blocks in play, the pile.

The middle shows the building zone, or the places where the mover's block would come to rest. A
cube ``(x, y, z)`` is seen from the corner of column a1: x goes to the right and back, y to the left
and back, z upwards. Cubes are drawn whole, the nearest last, so they hide those behind.

A cube is defined once in each colour and shade, and is used wherever it is drawn. The name of a
definition encodes all that it contains, so several pictures on one page may share them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from operator import add

import numpy as np

from ..engine.draw.picture import (
    DARK,
    FAINT,
    HEAD,
    INK,
    LIGHT,
    LINE,
    PAPER,
    WIDTH,
    file_letter,
    fitted_text,
    is_light,
    last_mark,
    moved,
    rgb_of,
    square,
    svg_points,
    svg_text,
)
from ..engine.draw.scene import Aside, Handling, Role, Row, Scene, Slot, slots_at
from ..engine.rule import table_record
from . import view
from .blocks import COLOURS, Block, Catalogue
from .geometry import (
    COLUMNS,
    HEIGHT,
    ORIENTATIONS,
    PLACEMENTS,
    SIDE,
    Cube,
    after_flip,
    after_turn,
    orientation_text,
    oriented,
)
from .rules import ACTIONS_AFTER_TYPES, BLACK, DECLINE, PICK_FIRST, PLACE
from .view import (
    CUBE_SLOTS,
    CUBES,
    HAND,
    HEIGHTS,
    HIGHEST,
    LANDING,
    MOST_HOLES,
    REACHED,
    SHADES,
    STANDING,
    ZONE,
)

_PANEL = "#faf7ef"
_ROD = "#b5ae9d"
# Shifts to the side and up by a step in x and in y, where a step in z moves by 1. The view is not
# quite from the corner: straight from there, near and far edges would coincide.
_X_ASIDE, _X_UP = 0.95, 0.37
_Y_ASIDE, _Y_UP = -0.70, 0.50

_TEXT = 26.0  # 12 px where the board is 370 px wide, as on a phone
_GAP = 8.0
_HALF = WIDTH / 2 - 1.5 * _GAP  # width of the panel of a tower
_TOWER_UNIT = 30.0  # side of a cube
_MAP_UNIT = 46.0
_BAND = 322.0  # height of the band with the blocks in play
_FOOT = 236.0  # distance from the band's top to the foot of a block in the building zone
_TILE_HEIGHT = 136.0  # height of an orientation's tile
_REST_UNIT = 36.0  # side of a landing place
_PILE_COLUMNS, _PILE_ROW = 8, 134.0

# The sides of a cube: the step to the cube beyond each. The first three are visible; `_SEEN` has
# the lightness of each, and its corners in order.
_STEPS: tuple[Cube, ...] = (
    *((0, 0, 1), (-1, 0, 0), (0, -1, 0)),
    *((1, 0, 0), (0, 1, 0), (0, 0, -1)),
)
_SEEN: tuple[tuple[float, tuple[Cube, ...]], ...] = (
    (1.0, ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))),
    (0.82, ((0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1))),
    (0.64, ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1))),
)
# The visible edges of a cube: the sides that meet there, see `view`.
_EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (0, 4), (1, 4), (1, 5), (2, 3), (2, 5))

# The choices of a landing place in words; `_heights_in_words` says when it is over the top.
_HOLES_IN_WORDS = (
    *("", "leaves no hole", "leaves 1 hole"),
    *(f"leaves {holes} holes" for holes in range(2, MOST_HOLES)),
    *(f"leaves {MOST_HOLES} holes or more", ""),
)
_HOLES = ("#ffffff", "#e9dfc6", "#d9c9a2", "#c8b27e", "#b79c60")


def view_tables(blocks: Catalogue) -> np.ndarray:
    """The tables that `view` looks up."""
    colours = _colours(blocks)
    ranks = np.zeros((_levels(blocks), COLUMNS), np.int16)
    for rank, (x, y, z) in enumerate(_all_cubes(blocks)):
        ranks[z, SIDE * y + x] = rank
    filled = np.zeros((len(blocks.placements), PLACEMENTS, COLUMNS), np.int16)
    for block, places in enumerate(blocks.placements):
        for place, cubes in places.items():
            for x, y, z in cubes:
                filled[block, place, SIDE * y + x] |= 1 << z
    poses = np.zeros((2, len(blocks.placements), ORIENTATIONS), np.int8)
    for block, shape in enumerate(blocks.everything):
        for pose in range(ORIENTATIONS):
            poses[:, block, pose] = after_turn(shape.cubes, pose), after_flip(shape.cubes, pose)
    numbers = [colours.index(block.colour) for block in blocks.everything]
    return table_record(
        filled=filled,
        rank=ranks,
        colour=np.array(numbers, np.int8),
        is_dark=np.array([not is_light(*rgb_of(COLOURS[colour])) for colour in colours], np.int8),
        step=np.array(_STEPS, np.int8),
        edge=np.array(_EDGES, np.int8),
        turned=poses[0],
        flipped=poses[1],
    )


def scene(blocks: Catalogue) -> Scene:
    """The parts of the picture; the slots are in the order that `view` lists."""
    ground = [_definitions(blocks)]
    columns: list[tuple[float, float]] = []  # columns from above
    for player in (0, 1):
        left = _GAP + player * (_HALF + _GAP)
        ground.append(_panel(left, HEAD, _HALF, _tower_height(blocks)))
        ground += _behind_tower(_tower_corner(blocks, player))
        ground += _around_map(left + 240, HEAD + 62)
        columns += _map_places(left + 240, HEAD + 62)
    ground.append(_panel(_GAP, _band_top(blocks), WIDTH - 2 * _GAP, _BAND))
    pile = [
        _panel(_GAP, _pile_top(blocks), WIDTH - 2 * _GAP, _pile_height(blocks)),
        _text_at_right(_pile_top(blocks) + 22, "in circles: points", _TEXT, FAINT),
    ]
    words = ("active", "active", "passive", "passive", "", "")
    states = [svg_text(0, 60, state, _TEXT, INK) for state in ("above nine", "flat")]
    in_hand = last_mark('<rect x="-76" y="112" width="152" height="160" rx="8"')
    return Scene(
        bottom=_pile_top(blocks) + _pile_height(blocks) + _GAP,
        ground=ground,
        aside=Aside(_pile_top(blocks), pile),
        slots=[
            *_band(blocks),
            *_pile(blocks),
            *slots_at(map(_facts_place, (0, 1)), ["", *states]),
            *slots_at(map(_facts_place, (0, 1)), ["", *_hands(blocks)]),
            *slots_at(map(_facts_place, (0, 1)), ["", in_hand]),
            *slots_at(columns, _highest_cubes(blocks)),
            *slots_at(columns, _heights(blocks)),
            *_cubes(blocks, 0),
            *_cubes(blocks, 1),
            *slots_at((_tower_corner(blocks, player) for player in (0, 1)), [_limit((2, 3, 0))]),
            *_types_left(blocks),
        ],
        roles=[Role(word, _sample(number % 2)) for number, word in enumerate(words)],
        show=view.show,
        role=view.role,
        handling=_handling(blocks),
        rows=_rows(blocks),
    )


def _rows(blocks: Catalogue) -> list[Row]:
    """The heights of the towers, the building zone, and the blocks to place.

    The pile is left out: the moves that choose a block name its types.
    """
    ids = [block.id for block in blocks.types]
    heights = [str(height) for height in range(_levels(blocks) + 1)]
    rows = []
    for player, side in enumerate(("left", "right")):
        first = HEIGHTS + player * COLUMNS
        for rank in range(SIDE, 0, -1):
            columns = [
                (f"{file_letter(file)}{rank}", first + SIDE * (rank - 1) + file)
                for file in range(SIDE)
            ]
            rows.append(Row(f"heights of the {side} tower, row {rank}", columns, 2 * heights))
    zone = [("first", ZONE), ("second", ZONE + 1)]
    hands = [("left tower", HAND), ("right tower", HAND + 1)]
    return [
        *rows,
        Row("building zone", zone, ["", *ids]),
        Row("to be placed", hands, ["", *ids]),
    ]


def _handling(blocks: Catalogue) -> Handling:
    """How a block is turned and put on a tower, in the drawing from above or from a corner."""
    types = len(blocks.types)
    # Landing places, numbered as in the view.
    places = np.full(types + ACTIONS_AFTER_TYPES, -1, np.int16)
    places[types + PLACE : types + BLACK] = np.arange(PLACEMENTS)
    places[types + BLACK : types + DECLINE] = np.arange(COLUMNS)
    from_above: dict[int, tuple[float, float]] = {}
    cubes: dict[int, tuple[float, float]] = {}
    for player in (0, 1):
        left = _GAP + player * (_HALF + _GAP)
        for column, (x, y) in enumerate(_map_places(left + 240, HEAD + 62)):
            from_above[HEIGHTS + COLUMNS * player + column] = x, y
        corner = _tower_corner(blocks, player)
        for rank, (i, j, k) in enumerate(_all_cubes(blocks), player * COLUMNS * _levels(blocks)):
            aside, up = _point(i + 0.5, j + 0.5, k + 0.5)
            cubes[CUBES + CUBE_SLOTS * rank] = corner[0] + aside, corner[1] + up
    return Handling(
        next_pose=view.next_pose,
        piece="block",
        poses=[_pose_words(orientation) for orientation in range(ORIENTATIONS)],
        pose_of=np.where(places < 0, -1, places // COLUMNS),
        slots=[
            *range(STANDING, STANDING + 2),
            *range(HIGHEST, CUBES + 2 * COLUMNS * _levels(blocks) * CUBE_SLOTS),
        ],
        drawings=[from_above, cubes],
        stands=[
            (_GAP + side * (_HALF + _GAP), HEAD, _HALF, _tower_height(blocks)) for side in (0, 1)
        ],
        told=[
            (np.where(places < 0, -1, slot + places), texts)
            for slot, texts in ((REACHED, _heights_in_words(blocks)), (LANDING, _HOLES_IN_WORDS))
        ],
    )


def _pose_words(orientation: int) -> str:
    flipped, quarters = divmod(orientation, 4)
    turned = ("not turned", "a quarter turn", "half a turn", "three quarter turns")[quarters]
    return f"{turned}, upside down" if flipped else turned


def _heights_in_words(blocks: Catalogue) -> list[str]:
    """The texts for the height that a block reaches at a landing place."""
    reached = [f"reaches {height} of {HEIGHT}" for height in range(1, HEIGHT + 1)]
    return ["", *reached, *["over the top"] * (_levels(blocks) - HEIGHT)]


def action_spots(blocks: Catalogue) -> np.ndarray:
    """`Game.action_spots`: places on the pile, in the building zone, and at the landing places."""
    types = len(blocks.types)
    spots = np.full((types + ACTIONS_AFTER_TYPES, 2), np.nan)
    spots[:types] = [_pile_place(blocks, number) for number in range(types)]
    for place in (0, 1):
        x, y = _zone_place(blocks, place)
        spots[types + PICK_FIRST + place] = x, y - 66  # the middle of the block, as people press it
    for place in range(PLACEMENTS):
        spots[types + PLACE + place] = _landing_place(blocks, place)
    spots[types + BLACK : types + DECLINE] = spots[types + PLACE : types + PLACE + COLUMNS]
    return spots


# Places in the picture.


def _tower_height(blocks: Catalogue) -> float:
    levels = HEIGHT + max(3, max(block.height for block in blocks.types) - 2)
    return 66 + (levels + SIDE * (_X_UP + _Y_UP)) * _TOWER_UNIT


def _band_top(blocks: Catalogue) -> float:
    return HEAD + _tower_height(blocks) + _GAP


def _zone_place(blocks: Catalogue, place: int) -> tuple[float, float]:
    """The foot of a block in the building zone."""
    return _GAP + (place + 0.5) * (_HALF + _GAP), _band_top(blocks) + _FOOT


def _tile(blocks: Catalogue, orientation: int) -> tuple[float, float]:
    """The upper left corner of an orientation's tile."""
    row, column = divmod(orientation, 4)
    left = _GAP + column * (WIDTH - 2 * _GAP) / 4
    return left, _band_top(blocks) + 48 + row * _TILE_HEIGHT


def _landing_place(blocks: Catalogue, place: int) -> tuple[float, float]:
    """The centre of a placement's field."""
    orientation, column = divmod(place, COLUMNS)
    y, x = divmod(column, SIDE)
    left, top = _tile(blocks, orientation)
    return left + 80 + (x + 0.5) * _REST_UNIT, top + (SIDE - y - 0.5) * _REST_UNIT + 8


def _pile_top(blocks: Catalogue) -> float:
    return _band_top(blocks) + _BAND + _GAP


def _pile_height(blocks: Catalogue) -> float:
    return 44 + -(-len(blocks.types) // _PILE_COLUMNS) * _PILE_ROW


def _pile_place(blocks: Catalogue, number: int) -> tuple[float, float]:
    """The centre of the drawing of a type in the pile."""
    row, column = divmod(number, _PILE_COLUMNS)
    width = (WIDTH - 2 * _GAP) / _PILE_COLUMNS
    return _GAP + (column + 0.5) * width, _pile_top(blocks) + 44 + row * _PILE_ROW + 42


def _facts_place(player: int) -> tuple[float, float]:
    """The middle and the top of the player's facts, below the map of a tower."""
    left = _GAP + player * (_HALF + _GAP)
    return left + 240 + 1.5 * _MAP_UNIT, HEAD + 62 + SIDE * _MAP_UNIT


def _tower_corner(blocks: Catalogue, player: int) -> tuple[float, float]:
    """The point where the corner under column a1 of a tower is drawn."""
    return _GAP + player * (_HALF + _GAP) + 128, HEAD + _tower_height(blocks) - 42


def _levels(blocks: Catalogue) -> int:
    """The most levels that a tower can have: one block may rest on a full one."""
    return HEIGHT + max(block.height for block in blocks.everything)


def _colours(blocks: Catalogue) -> list[str]:
    """The colours of the blocks, numbered as in the view."""
    return list(dict.fromkeys(block.colour for block in blocks.everything))


# Parts of the picture.


def _sample(player: int) -> str:
    """A sign about the origin for the left or the right tower."""
    return "".join(
        f'<rect x="{x}" y="-22" width="14" height="44" fill="{fill}" stroke="{INK}" '
        'stroke-width="2"/>'
        for x, fill in ((-20, (INK, "none")[player]), (6, ("none", INK)[player]))
    )


def _panel(left: float, top: float, width: float, height: float) -> str:
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="10" '
        f'fill="{_PANEL}" stroke="{LINE}"/>'
    )


def _text_at_left(y: float, text: str, size: float) -> str:
    return svg_text(_GAP + 14, y, text, size, INK, "start")


def _text_at_right(y: float, text: str, size: float, fill: str) -> str:
    return svg_text(WIDTH - _GAP - 14, y, text, size, fill, "end")


def _hands(blocks: Catalogue) -> Iterator[str]:
    """The block that a player has to place, one drawing for each type."""
    for block in blocks.types:
        yield (
            svg_text(0, 88, "to place:", _TEXT, INK)
            + _defined(0, 236, block, 18, 116)
            + _value(56, 138, block)
            + _fine(fitted_text(0, 254, block.id, _TEXT, INK, 136))
        )


def _band(blocks: Catalogue) -> list[Slot]:
    """The band between towers and pile: the building zone, or landing places."""
    top, black = _band_top(blocks), blocks.black
    zone = [_zone_place(blocks, place) for place in (0, 1)]
    landing_places = [_landing_place(blocks, place) for place in range(PLACEMENTS)]
    left = [
        _text_at_right(top + 24, f"black blocks left: {count}", _TEXT, INK)
        for count in range(black.count + 1)
    ]
    return [
        Slot(0, 0, [_empty_zone(blocks), _legend(blocks, 0), _legend(blocks, 1)]),
        Slot(0, 0, ["", *left]),
        *slots_at(zone, ["", *_chosen_blocks(blocks)]),
        *slots_at(zone, ["", last_mark(_zone_frame())]),
        *(Slot(*_tile(blocks, each), ["", *_tiles(blocks, each)]) for each in range(ORIENTATIONS)),
        *slots_at(landing_places, ["", *_landings()]),
        *slots_at(landing_places, ["", *_reached(blocks)]),
    ]


def _zone_frame() -> str:
    """The beginning of the frame element around a block in the building zone, about its foot."""
    return (
        f'<rect x="{-_HALF / 2 + 10:g}" y="{48 - _FOOT:g}" '
        f'width="{_HALF - 20:g}" height="{_BAND - 60:g}" rx="10"'
    )


def _empty_zone(blocks: Catalogue) -> str:
    frame = f'{_zone_frame()} fill="none" stroke="{LINE}" stroke-dasharray="6 6"/>'
    frames = [moved(*_zone_place(blocks, place), frame) for place in (0, 1)]
    return "".join([_text_at_left(_band_top(blocks) + 24, "building zone", _TEXT), *frames])


def _chosen_blocks(blocks: Catalogue) -> Iterator[str]:
    """A block in the building zone standing at the origin, one drawing for each type."""
    for block in blocks.types:
        yield (
            _defined(0, 0, block, 34, 160)
            + _value(_HALF / 2 - 34, 74 - _FOOT, block)
            + fitted_text(0, 26, block.id, _TEXT, INK, _HALF - 40)
            + svg_text(0, 54, f"{len(block.cubes)} cubes", _TEXT, FAINT)
        )


def _legend(blocks: Catalogue, owner: int) -> str:
    """The legend above the landing places on a player's tower."""
    y = _band_top(blocks) + 24
    side = ("left", "right")[owner]
    return _text_at_left(y, f"heights on the {side} tower", _TEXT) + _text_at_right(
        y, "shaded: holes, black: over", _TEXT, FAINT
    )


def _tiles(blocks: Catalogue, orientation: int) -> Iterator[str]:
    """Each block in an orientation; an empty text if it looks the same in a lower one."""
    for block, found in zip(blocks.everything, blocks.placements, strict=True):
        if all(place // COLUMNS != orientation for place in found):
            yield ""
            continue
        cubes = oriented(block.cubes, orientation)
        name = orientation_text(orientation) if block != blocks.black else "black"
        yield (
            f"<g {_fitted(42, 84, cubes, 18, 62)}>{_drawn(cubes, block.colour)}</g>"
            + svg_text(42, 104, name, _TEXT, INK)
        )


def _landings() -> list[str]:
    """A landing place by what is below it: shaded over holes, dark where it is too high."""
    fills = (*_HOLES[: MOST_HOLES + 1], DARK)
    return [f'{square(_REST_UNIT)} fill="{fill}" stroke="{FAINT}"/>' for fill in fills]


def _reached(blocks: Catalogue) -> list[str]:
    """The height reached at a landing place."""
    return [
        svg_text(0, 0, str(height), _TEXT, LIGHT if height > HEIGHT else INK)
        for height in range(1, _levels(blocks) + 1)
    ]


def _pile(blocks: Catalogue) -> list[Slot]:
    """The number of blocks in the common pile."""
    texts = (f"common pile: {count} blocks" for count in range(blocks.pile_size + 1))
    counts = [_text_at_left(22, text, _TEXT) for text in texts]
    return [Slot(0, _pile_top(blocks), counts)]


def _types_left(blocks: Catalogue) -> list[Slot]:
    """Each type in the pile with its value, then how many of it are left."""
    width = (WIDTH - 2 * _GAP) / _PILE_COLUMNS
    shapes, counts = [], []
    for number, block in enumerate(blocks.types):
        place = _pile_place(blocks, number)
        none, some = (
            _fine(
                "".join(
                    fitted_text(0, 46 + 17 * line, words, 17, ink, width - 4)
                    for line, words in enumerate(_in_lines(block.id))
                )
            )
            for ink in (LINE, INK)
        )
        some += _defined(-4, 30, block, 15, 58) + _value(width / 2 - 18, -22, block)
        shapes.append(Slot(*place, [none, some]))
        several = [
            svg_text(4 - width / 2, -24, f"{left}x", _TEXT, INK, "start")
            for left in range(2, block.count + 1)
        ]
        counts.append(Slot(*place, ["", "", *several]))
    return [*shapes, *counts]


def _fine(text: str) -> str:
    """A text that a small picture may leave out."""
    return f'<g class="fine">{text}</g>'


def _in_lines(name: str) -> list[str]:
    """A block's name in up to three lines, broken at hyphens."""
    first, *words = re.split(r"\b-\b", name)
    lines = [first]
    for word in words:
        joined = f"{lines[-1]}-{word}"
        if len(lines) < 3 and len(joined) > 11:
            lines.append(word)
        else:
            lines[-1] = joined
    return lines


def _value(x: float, y: float, block: Block) -> str:
    """The value of a block, in a circle."""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="17" fill="{PAPER}" stroke="{INK}" stroke-width="2"/>'
        + svg_text(x, y, str(block.value), _TEXT, INK)
    )


# Towers seen from above.


def _around_map(left: float, top: float) -> Iterator[str]:
    """The names of the columns around a map."""
    unit = _MAP_UNIT
    yield svg_text(left + 1.5 * unit, top - 28, "from above", _TEXT, FAINT)
    for step in range(SIDE):
        below = top + SIDE * unit + 14
        yield svg_text(left + (step + 0.5) * unit, below, file_letter(step), _TEXT, FAINT)
        middle = top + (SIDE - 0.5 - step) * unit
        yield svg_text(left - 12, middle, str(step + 1), _TEXT, FAINT)


def _map_places(left: float, top: float) -> list[tuple[float, float]]:
    """The middles of the columns of a map."""
    columns = [divmod(column, SIDE) for column in range(COLUMNS)]
    return [(left + (x + 0.5) * _MAP_UNIT, top + (SIDE - 0.5 - y) * _MAP_UNIT) for y, x in columns]


def _highest_cubes(blocks: Catalogue) -> list[str]:
    """A column in the colour of its highest cube; an empty one comes first."""
    fills = [PAPER, *(COLOURS[colour] for colour in _colours(blocks))]
    return [f'{square(_MAP_UNIT)} fill="{fill}" stroke="{INK}"/>' for fill in fills]


def _heights(blocks: Catalogue) -> list[str]:
    """The height of a column in dark letters, then in light ones."""
    heights = range(_levels(blocks) + 1)
    return [svg_text(0, 0, str(h), 28, ink) for ink in (DARK, "#ffffff") for h in heights]


# Cubes seen from a corner.


def _point(x: float, y: float, z: float) -> tuple[float, float]:
    """The place in the picture of a point of space, from the corner under column a1."""
    aside, up = x * _X_ASIDE + y * _Y_ASIDE, x * _X_UP + y * _Y_UP + z
    return aside * _TOWER_UNIT, -up * _TOWER_UNIT


def _line(begin: Sequence[float], end: Sequence[float], colour: str, width: float) -> str:
    """A line between two points of space."""
    (x1, y1), (x2, y2) = _point(*begin), _point(*end)
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
        f'stroke-width="{width:g}" stroke-linecap="round"/>'
    )


def _nearness(cube: Cube) -> tuple[int, Cube]:
    """A sort key, larger for cubes that may cover others; equally near ones never overlap.

    A line of sight goes towards larger x and y and smaller z.
    """
    x, y, z = cube
    return z - x - y, cube


def _all_cubes(blocks: Catalogue) -> list[Cube]:
    """The places where a tower can have cubes, the nearest last."""
    levels = range(_levels(blocks))
    cubes = [(x, y, z) for x in range(SIDE) for y in range(SIDE) for z in levels]
    return sorted(cubes, key=_nearness)


def _edge(sides: tuple[int, int]) -> tuple[Cube, Cube]:
    """The ends of the edge in which two sides of a cube meet."""
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    for side in sides:
        for axis, way in enumerate(_STEPS[side]):
            if way:
                corners = [corner for corner in corners if corner[axis] == (way > 0)]
    begin, end = corners
    return begin, end


def _definitions(blocks: Catalogue) -> str:
    """The definitions used many times: cubes, their edges, a piece of rod, the types of blocks."""
    edges = list(enumerate(map(_edge, _EDGES)))
    parts = [
        *(_whole_cube(colour, shade) for colour in _colours(blocks) for shade in range(SHADES)),
        *(f'<g id="ob-e{n}">{_line(*ends, INK, _TOWER_UNIT / 22)}</g>' for n, ends in edges),
        *(
            f'<g id="ob-n{n}">{_line(*ends, DARK, _TOWER_UNIT / 4)}'
            f"{_line(*ends, 'currentColor', _TOWER_UNIT / 8)}</g>"
            for n, ends in edges
        ),
        *(
            _outlined_cube(name)
            for block, places in zip(blocks.everything, blocks.placements, strict=True)
            for turned in sorted({place // COLUMNS for place in places})
            for name in _outlined(oriented(block.cubes, turned), block.colour).values()
        ),
        f'<g id="ob-rod">{_line((0.5, 0.5, 0), (0.5, 0.5, 1), _ROD, 2)}</g>',
        *(
            f'<g id="{_shape_name(block)}">{_drawn(block.cubes, block.colour)}</g>'
            for block in blocks.types
        ),
    ]
    return f"<defs>{''.join(dict.fromkeys(parts))}</defs>"


def _whole_cube(colour: str, shade: int) -> str:
    """The definition of a cube in one of the shades of a colour."""
    sides = []
    for light, corners in _SEEN:
        fill = _shade(_shade(COLOURS[colour], 1 - 0.07 * shade), light)
        points = svg_points([_point(*corner) for corner in corners])
        inner = _shade(fill, 0.86)
        sides.append(
            f'<polygon points="{points}" fill="{fill}" stroke="{inner}" stroke-width="0.6"/>'
        )
    return f'<g id="ob-{colour}{shade}">{"".join(sides)}</g>'


def _use(name: str, more: str = "") -> str:
    return f'<use href="#ob-{name}"{more}/>'


def _cubes(blocks: Catalogue, player: int) -> Iterator[Slot]:
    """A slot for each cube of a tower and one for its edges, the nearest last."""
    left, bottom = _tower_corner(blocks, player)
    names = [f"{colour}{shade}" for colour in _colours(blocks) for shade in range(SHADES)]
    bodies = ["", *map(_use, ("rod", *names))]
    numbers, newest = range(len(_EDGES)), f' color="{LIGHT}"'
    edges = [
        *(_use(f"e{edge}") for edge in numbers),
        *(_use(f"n{edge}", newest) for edge in numbers),
    ]
    for cube in _all_cubes(blocks):
        aside, up = _point(*cube)
        yield Slot(left + aside, bottom + up, bodies)
        yield Slot(left + aside, bottom + up, edges, several=True)


def _shape_name(block: Block) -> str:
    """The name of a block's drawing, which encodes its cubes."""
    return f"ob-{block.colour}-" + "".join(f"{x}{y}{z}" for x, y, z in block.cubes)


def _outlined(cubes: Sequence[Cube], colour: str) -> dict[Cube, str]:
    """Names of the definitions of a lone block's cubes, with edges where the block's sides meet."""
    own, found = frozenset(cubes), {}
    for cube in sorted(cubes, key=_nearness):
        beyond = [tuple(map(add, cube, step)) for step in _STEPS]
        edges = [
            str(number)
            for number, sides in enumerate(_EDGES)
            if all(beyond[side] not in own for side in sides)
        ]
        found[cube] = f"{colour}0-{''.join(edges)}"
    return found


def _outlined_cube(name: str) -> str:
    """The definition of a cube with some of its edges; ``name`` encodes which."""
    cube, _, edges = name.partition("-")
    uses = "".join(map(_use, (cube, *(f"e{edge}" for edge in edges))))
    return f'<g id="ob-{name}">{uses}</g>'


def _drawn(cubes: Sequence[Cube], colour: str) -> str:
    """A lone block, with lines where two of its sides meet."""
    uses = []
    for cube, name in _outlined(cubes, colour).items():
        x, y = _point(*cube)
        uses.append(_use(name, f' x="{x:.1f}" y="{y:.1f}"'))
    return "".join(uses)


def _fitted(x: float, y: float, cubes: Sequence[Cube], unit: float, room: float) -> str:
    """A transformation that stands a drawing at y, centred on x, smaller if it would not fit."""
    width, depth, height = (1 + max(cube[axis] for cube in cubes) for axis in range(3))
    aside = width * _X_ASIDE - depth * _Y_ASIDE
    unit = min(unit, room / (height + width * _X_UP + depth * _Y_UP), 1.2 * room / aside)
    left = x - (width * _X_ASIDE + depth * _Y_ASIDE) / 2 * unit
    return f'transform="translate({left:.1f} {y:.1f}) scale({unit / _TOWER_UNIT:.3f})"'


def _defined(x: float, y: float, block: Block, unit: float, room: float) -> str:
    """A block of the pile in orientation 0, placed by `_fitted`."""
    return f'<use href="#{_shape_name(block)}" {_fitted(x, y, block.cubes, unit, room)}/>'


def _behind_tower(corner: tuple[float, float]) -> Iterator[str]:
    """The parts behind a tower: its foot, the column names, a scale of heights."""
    left, bottom = corner
    yield f'<g transform="translate({left:g} {bottom:g})">'
    corners = [_point(i, j, 0) for i, j in ((0, 0), (SIDE, 0), (SIDE, SIDE), (0, SIDE))]
    yield f'<polygon points="{svg_points(corners)}" fill="#d6cfbe" stroke="{FAINT}"/>'
    for step in range(1, SIDE):
        yield _line((step, 0, 0), (step, SIDE, 0), FAINT, 0.7)
        yield _line((0, step, 0), (SIDE, step, 0), FAINT, 0.7)
    for step in range(SIDE):
        yield svg_text(*_point(step + 0.5, -0.6, 0), file_letter(step), _TEXT, FAINT)
        yield svg_text(*_point(-0.6, step + 0.5, 0), str(step + 1), _TEXT, FAINT)
    for level in range(1, HEIGHT + 1):
        x, y = _point(0, SIDE, level)
        colour = INK if level == HEIGHT else FAINT
        yield f'<path d="M{x - 14:.1f} {y:.1f}h6" stroke="{colour}"/>'
        yield svg_text(round(x - 26, 1), round(y, 1), str(level), _TEXT, colour)
    yield _limit((0, 1, 2))
    yield "</g>"


def _limit(ends: Sequence[int]) -> str:
    """The height of the rods, a dashed line along these corners of a tower."""
    around = ((0, SIDE), (SIDE, SIDE), (SIDE, 0), (0, 0))
    points = [_point(*around[end], HEIGHT) for end in ends]
    return (
        f'<polyline points="{svg_points(points)}" fill="none" stroke="{INK}" stroke-width="1.5" '
        'stroke-linecap="round" stroke-dasharray="4 5"/>'
    )


def _shade(colour: str, light: float) -> str:
    """A colour made darker."""
    return "#" + "".join(f"{round(light * part):02x}" for part in rgb_of(colour))
