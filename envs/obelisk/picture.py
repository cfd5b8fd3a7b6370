"""The picture of Obelisk: both towers from a corner and from above, the pile, hands and zone.

The cubes of the towers are rebuilt from the position's log. A cube ``(x, y, z)`` is seen from
the corner of column a1: x goes to the right and back, y to the left and back, z upwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..board.picture import file_letter, svg_document, svg_text
from ..engine.rule import DRAW, ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from .blocks import COLOURS, HEIGHT, SIDE, Block, Cube
from .placements import PLACEMENTS
from .rules import BLACK, DECLINE, NO_BLOCK, PICK_FIRST, PLACE, TIMEOUT

if TYPE_CHECKING:
    from .board import Obelisk

_PAPER, _PANEL, _PANEL_TO_MOVE = "#e9e4d8", "#f7f4ec", "#fffbe0"
_INK, _FAINT, _ROD, _MARK = "#2b2b2b", "#8b8577", "#b5ae9d", "#e2007a"
_TOWER_UNIT, _PILE_UNIT, _HAND_UNIT = 33.0, 9.5, 15.0  # side of a cube
# What a step in x and in y moves to the side and up, where a step in z moves by 1. Not quite
# from the corner: seen straight from there, near and far edges would fall into one line.
_X_ASIDE, _X_UP = 0.95, 0.37
_Y_ASIDE, _Y_UP = -0.70, 0.50

_WIDTH, _GAP = 1200.0, 12.0
_PANEL_WIDTH = 440.0
_MIDDLE = _WIDTH - 2 * _PANEL_WIDTH - 4 * _GAP
_PILE_COLUMNS, _PILE_ROW = 8, 92.0
_RESULTS = {
    PLAYER_0_WINS: "player_0 wins",
    PLAYER_1_WINS: "player_1 wins",
    DRAW: "a draw",
    TRUNCATED: "a draw, at the ply cap",
}


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


def draw(game: Obelisk, state: np.record, last_action: int | None) -> str:
    """The SVG document of a position, the last action marked."""
    tallest = max(block.height for block in game.catalogue.types)
    levels = max(HEIGHT + 3, HEIGHT + tallest)
    panel_height = 96 + (levels + SIDE) * _TOWER_UNIT
    blocks = placed_blocks(game, state)
    kind = None if last_action is None else last_action - len(game.catalogue.types)
    elements = [f'<rect width="100%" height="100%" fill="{_PAPER}"/>']
    for player in (0, 1):
        left = _GAP if player == 0 else _WIDTH - _GAP - _PANEL_WIDTH
        elements += _panel(left, _GAP, _PANEL_WIDTH, panel_height, _acts(state, player))
        newest = len(blocks) - 1 if kind is not None and PLACE <= kind < DECLINE else None
        tower = [block for block in blocks if block.owner == player]
        elements += _tower(left + 145, _GAP + panel_height - 36, tower, newest)
        elements += _facts(game, state, player, left, kind)
        elements += _seen_from_above(left + 300, _GAP + 110, tower)
    elements += _middle(game, state, panel_height, last_action)
    pile_top = panel_height + 2 * _GAP
    rows = -(-len(game.catalogue.types) // _PILE_COLUMNS)
    pile_height = 34 + rows * _PILE_ROW
    elements += _panel(_GAP, pile_top, _WIDTH - 2 * _GAP, pile_height, False)
    elements += _pile(game, state, pile_top)
    return svg_document(_WIDTH, pile_top + pile_height + _GAP, game.title, elements)


def _acts(state: np.record, player: int) -> bool:
    return state.outcome == ONGOING and state.mover == player


def _panel(left: float, top: float, width: float, height: float, to_move: bool) -> list[str]:
    fill = _PANEL_TO_MOVE if to_move else _PANEL
    stroke = f'stroke="{_MARK}" stroke-width="3"' if to_move else f'stroke="{_ROD}"'
    return [
        f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="10" '
        f'fill="{fill}" {stroke}/>'
    ]


def _facts(
    game: Obelisk, state: np.record, player: int, left: float, kind: int | None
) -> Iterator[str]:
    """What is known of a player besides the tower: role, points, the block in hand."""
    role = "active" if state.active == player else "passive"
    yield svg_text(left + 16, _GAP + 26, f"player_{player}", 24, _INK, "start")
    yield svg_text(left + 140, _GAP + 27, role, 16, _FAINT, "start")
    points = f"{int(state.points[player])} points"
    yield svg_text(left + _PANEL_WIDTH - 16, _GAP + 26, points, 22, _INK, "end")
    if state.over[player]:
        yield svg_text(left + _PANEL_WIDTH - 16, _GAP + 54, "over the top", 16, _MARK, "end")
    elif len(set(state.heights[player].tolist())) == 1 and state.heights[player, 0] > 0:
        yield svg_text(left + _PANEL_WIDTH - 16, _GAP + 54, "flat", 16, _INK, "end")
    if state.hand[player] != NO_BLOCK:
        block = game.catalogue.types[state.hand[player]]
        was_picked = kind is not None and PICK_FIRST <= kind < PLACE and state.active != player
        yield svg_text(left + 300, _GAP + 318, "to be placed", 16, _INK, "start")
        yield from _alone(left + 360, _GAP + 450, block, _HAND_UNIT, 110, was_picked)
        yield svg_text(left + 360, _GAP + 482, block.id, 13, _INK)


def _middle(
    game: Obelisk, state: np.record, height: float, last_action: int | None
) -> Iterator[str]:
    """Between the towers: what is to be done, the building zone, the black blocks."""
    centre, types = _WIDTH / 2, game.catalogue.types
    yield svg_text(centre, _GAP + 26, "Obelisk", 26, _INK)
    yield from _wrapped(centre, _GAP + 64, _status(game, state), _INK)
    if last_action is not None:
        yield from _wrapped(centre, _GAP + 124, f"last: {_told(game, state, last_action)}", _MARK)
    yield svg_text(centre, _GAP + 196, "building zone", 16, _INK)
    chosen = [int(number) for number in state.zone if number != NO_BLOCK]
    for place in range(2):
        top = _GAP + 212 + 142 * place
        yield from _panel(centre - 85, top, 170, 134, False)
        if place < len(chosen):
            was_chosen = last_action is not None and last_action < len(types)
            is_last = was_chosen and place == len(chosen) - 1
            block = types[chosen[place]]
            yield from _alone(centre, top + 104, block, _HAND_UNIT, 96, is_last)
            yield svg_text(centre, top + 122, block.id, 13, _INK)
    black_left = int(state.black_left)
    top = height - 76
    yield svg_text(centre, top, f"black blocks left: {black_left}", 16, _INK)
    shown = min(black_left, 8)
    for number in range(shown):
        x = centre + 26 * (number - (shown - 1) / 2)
        yield from _alone(x, top + 50, game.catalogue.black, 13, 26)


def _status(game: Obelisk, state: np.record) -> str:
    if state.outcome != ONGOING:
        return f"the game is over: {_RESULTS[int(state.outcome)]}"
    return game.task(state)


def _told(game: Obelisk, state: np.record, action: int) -> str:
    """An action just played: a picked block is no longer in the building zone."""
    kind = action - len(game.catalogue.types)
    if PICK_FIRST <= kind < PLACE:
        picked = state.hand[1 - int(state.active)]
        return f"pick {game.catalogue.types[picked].id}"
    if PLACE <= kind < BLACK:
        block = game.catalogue.everything[int(state.log[int(state.logged) - 1]) // 2 // PLACEMENTS]
        return f"{game.action_to_text(state, action)}, {block.id}"
    if kind in (DECLINE, TIMEOUT):
        return {DECLINE: "decline the black block", TIMEOUT: "timeout, the turn is lost"}[kind]
    return game.action_to_text(state, action)


def _wrapped(x: float, y: float, text: str, fill: str) -> Iterator[str]:
    """Text in lines that fit between the towers."""
    size, line = 17, ""
    for word in text.split():
        if len(f"{line} {word}") * 0.55 * size > _MIDDLE:
            yield svg_text(x, y, line, size, fill)
            y, line = y + 1.25 * size, word
        else:
            line = f"{line} {word}".strip()
    yield svg_text(x, y, line, size, fill)


def _pile(game: Obelisk, state: np.record, top: float) -> Iterator[str]:
    """The common pile: each type with how many are left of it."""
    title = f"common pile: {int(state.pile_blocks)} blocks"
    yield svg_text(_GAP + 16, top + 20, title, 16, _INK, "start")
    width = (_WIDTH - 2 * _GAP) / _PILE_COLUMNS
    for number, block in enumerate(game.catalogue.types):
        row, column = divmod(number, _PILE_COLUMNS)
        x, y = _GAP + (column + 0.5) * width, top + 34 + (row + 1) * _PILE_ROW
        left = int(state.pile[number])
        size = min(11.0, 1.7 * width / len(block.id))
        if left == 0:
            yield svg_text(x, y - 12, block.id, size, _ROD)
            continue
        yield from _alone(x, y - 28, block, _PILE_UNIT, 62)
        yield svg_text(x, y - 12, block.id, size, _INK)
        if block.count > 1:
            yield svg_text(x + 0.4 * width, y - 48, f"{left} x", 14, _INK, "end")


def _seen_from_above(left: float, top: float, tower: Sequence[_Placed]) -> Iterator[str]:
    """The heights of the columns, each in the colour of its highest cube."""
    unit = 38.0
    highest: dict[tuple[int, int], tuple[int, Block]] = {}
    for placed in tower:
        for x, y, z in placed.cubes:
            if z + 1 > highest.get((x, y), (0, None))[0]:
                highest[x, y] = z + 1, placed.block
    yield svg_text(left, top - 20, "heights from above", 13, _FAINT, "start")
    for x in range(SIDE):
        yield svg_text(left + (x + 0.5) * unit, top + SIDE * unit + 12, file_letter(x), 14, _FAINT)
        for y in range(SIDE):
            height, block = highest.get((x, y), (0, None))
            fill = COLOURS[block.colour] if block else _PAPER
            ink = "#ffffff" if block and block.colour == "black" else _INK
            corner = top + (SIDE - 1 - y) * unit
            yield (
                f'<rect x="{left + x * unit:g}" y="{corner:g}" width="{unit:g}" '
                f'height="{unit:g}" fill="{fill}" stroke="{_INK}"/>'
            )
            yield svg_text(left + (x + 0.5) * unit, corner + unit / 2, str(height), 18, ink)
    for y in range(SIDE):
        corner = top + (SIDE - 0.5 - y) * unit
        yield svg_text(left - 12, corner, str(y + 1), 14, _FAINT)


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
    yield f'<polygon points="{_points(corners)}" fill="#d6cfbe" stroke="{_FAINT}"/>'
    for step in range(1, SIDE):
        yield view.line((step, 0, 0), (step, SIDE, 0), _FAINT, 0.7)
        yield view.line((0, step, 0), (SIDE, step, 0), _FAINT, 0.7)
    for step in range(SIDE):
        yield svg_text(*view.point(step + 0.5, -0.45, 0), file_letter(step), 15, _FAINT)
        yield svg_text(*view.point(-0.45, step + 0.5, 0), str(step + 1), 15, _FAINT)
    for level in range(1, HEIGHT + 1):
        tick_x, tick_y = view.point(0, SIDE, level)
        colour = _MARK if level == HEIGHT else _FAINT
        yield (
            f'<line x1="{tick_x - 14:g}" y1="{tick_y:g}" x2="{tick_x - 8:g}" y2="{tick_y:g}" '
            f'stroke="{colour}"/>'
        )
        yield svg_text(tick_x - 24, tick_y, str(level), 13, colour)
    dashed = ' stroke-dasharray="4 5"'
    limit = [(0, SIDE, HEIGHT), (SIDE, SIDE, HEIGHT), (SIDE, 0, HEIGHT), (0, 0, HEIGHT)]
    for begin, end in ((0, 1), (1, 2)):
        yield view.line(limit[begin], limit[end], _MARK, 1, dashed)
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
        yield view.line(limit[begin], limit[end], _MARK, 1, dashed)


def _alone(
    x: float, y: float, block: Block, unit: float, room: float, marked: bool = False
) -> Iterator[str]:
    """A block by itself, standing at y and centred on x; smaller if it would not fit the room."""
    width, depth = (1 + max(cube[axis] for cube in block.cubes) for axis in (0, 1))
    unit = min(unit, room / (block.height + width * _X_UP + depth * _Y_UP))
    view = _View(x - (width * _X_ASIDE + depth * _Y_ASIDE) / 2 * unit, y, unit)
    cubes = dict.fromkeys(block.cubes, _Placed(0, block, 0, frozenset(block.cubes)))
    for cube in sorted(block.cubes, key=_nearness):
        yield from _cube(view, cube, cubes, marked)


def _nearness(cube: Cube) -> tuple[int, Cube]:
    """Larger for cubes that may cover others; equally near ones never overlap.

    A line of sight goes on to larger x and y and smaller z.
    """
    x, y, z = cube
    return z - x - y, cube


def _cube(view: _View, cube: Cube, cubes: Mapping[Cube, _Placed], is_marked: bool) -> Iterator[str]:
    """The faces of a cube that no neighbour hides, with lines where its block ends."""
    line, width = (_MARK, view.unit / 9) if is_marked else (_INK, view.unit / 22)
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
                yield view.line(at[side], at[(side + 1) % 4], line, width)


def _next_to(cube: Cube, step: Cube) -> Cube:
    return cube[0] + step[0], cube[1] + step[1], cube[2] + step[2]


def _points(corners: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)


def _shade(colour: str, light: float) -> str:
    """A colour made darker."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(light * part):02x}" for part in parts)
