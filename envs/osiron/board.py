"""Osiron's board: geometry and tables, text notation, symmetries, picture.

The triangles lie in four rows and, by the middle of their base, in seven files: two that share
a horizontal side are in the same file. Where a corner lies is written in half side lengths from
the centre to the right, and in rows from the centre upwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from ..board.picture import (
    DARK,
    GOLD,
    HEAD,
    LIGHT,
    SMALL_TEXT,
    WIDTH,
    last_mark,
    outlined,
    svg_gradients,
    svg_text,
)
from ..board.scene import Role, Scene
from ..engine.codec import CanonicalTurn
from ..engine.game import Game, Symmetries
from ..engine.messages import quoted
from ..engine.options import Option
from ..engine.rule import DRAW, table_record
from . import rules, view
from .rules import ALL_SPACES, CELLS, CIRCLES, NUM_PLANES, PAIRS, SPACES

Point = tuple[int, int]

_WIDTH, _HEIGHT = 7, 4
_FIRST_FILE = (1, 0, 0, 1)  # of each row
#: Row and file of each space, from 0; a row is as long as it can be between its first files.
PLACES = [
    (row, file) for row, first in enumerate(_FIRST_FILE) for file in range(first, _WIDTH - first)
]
#: Cell of each space in the observation.
SPACE_CELLS = [row * _WIDTH + file for row, file in PLACES]
#: Name of each space: the letter of its row, and its number within the row.
NAMES = [f"{'abcd'[row]}{file - _FIRST_FILE[row] + 1}" for row, file in PLACES]


def _points_up(row: int, file: int) -> bool:
    return (row + file) % 2 == 0


def _corners(row: int, file: int) -> frozenset[Point]:
    """Corners of a triangle: the two of its base, then its tip."""
    base, tip = (row, row + 1) if _points_up(row, file) else (row + 1, row)
    x, middle = file - _WIDTH // 2, _HEIGHT // 2
    return frozenset([(x - 1, base - middle), (x + 1, base - middle), (x, tip - middle)])


CORNERS = [_corners(row, file) for row, file in PLACES]
#: The lower and the higher space of each action.
PAIR_ENDS = [
    (lower, higher)
    for lower, higher in combinations(range(SPACES), 2)
    if len(CORNERS[lower] & CORNERS[higher]) == 2
]


def _circle_centres() -> list[Point]:
    """The lattice points with six triangles around them, upwards and rightwards."""
    points = sorted(set().union(*CORNERS), key=lambda point: (point[1], point[0]))
    return [point for point in points if sum(point in corners for corners in CORNERS) == 6]


#: The centre of each circle.
CENTRES = _circle_centres()
#: The spaces of each circle.
CIRCLE_SPACES = [
    {space for space, corners in enumerate(CORNERS) if centre in corners} for centre in CENTRES
]


def _hexagon_symmetries() -> np.ndarray:
    """Where the 12 symmetries of the hexagon put each space, int[12, 24], the identity first."""
    space_with = {corners: space for space, corners in enumerate(CORNERS)}

    def turned(point: Point) -> Point:  # by a sixth
        x, y = point
        return (x - 3 * y) // 2, (x + y) // 2

    def mirrored(point: Point) -> Point:  # left to right
        return -point[0], point[1]

    turn = np.array([space_with[frozenset(map(turned, corners))] for corners in CORNERS])
    mirror = np.array([space_with[frozenset(map(mirrored, corners))] for corners in CORNERS])
    turns = [np.arange(SPACES)]
    for _ in range(5):
        turns.append(turn[turns[-1]])
    return np.array([image for row in turns for image in (row, row[mirror])])


#: Where each symmetry of the hexagon puts each space, int[12, 24].
HEXAGON = _hexagon_symmetries()
#: The turn by half: the canonical view of the dark player.
HALF_TURN = np.arange(SPACES)[::-1]


def set_of(spaces: Iterable[int]) -> int:
    """A set of spaces, or of pairs, as the rules write it."""
    return sum(1 << int(space) for space in spaces)


def _pair_images(spaces: np.ndarray) -> np.ndarray:
    """Where a symmetry that puts each space at ``spaces[space]`` puts each pair."""
    pair_with = {ends: pair for pair, ends in enumerate(PAIR_ENDS)}
    images = [sorted((int(spaces[lower]), int(spaces[higher]))) for lower, higher in PAIR_ENDS]
    return np.array([pair_with[lower, higher] for lower, higher in images])


def _cell_images(spaces: np.ndarray) -> np.ndarray:
    """The same for cells of the observation; those beside the board stay where they are."""
    images = np.arange(CELLS)
    cells = np.array(SPACE_CELLS)
    images[cells] = cells[spaces]
    return images


#: The light spaces at the start, by setup; "random" draws them.
_STARTS = {
    "beginner": [space for space, (row, _) in enumerate(PLACES) if row < _HEIGHT // 2],
    "alternating": [space for space, place in enumerate(PLACES) if _points_up(*place)],
    "random": [],
}
_PLANE_NAMES = (
    *("own pieces", "other pieces", "own three", "own four", "own five"),
    *("other three", "other four", "other five", "forbidden", "own excluded", "other excluded"),
    *("board", "is light"),
)
_EVENTS = (
    *("position repeated", "draw by repetition", "own circle filled", "opponent's circle filled"),
    "circles of both filled at once",
)
_MOST_REPETITIONS = 10_000


def _repetition(value: Any) -> int:
    """Accepts 0, or a number of occurrences that the start alone does not reach."""
    if type(value) is not int or not (value == 0 or 2 <= value <= _MOST_REPETITIONS):
        raise ValueError
    return value


class Osiron(Game):
    """Osiron (David Huffman, 2009): exchange bordering pieces, occupy a whole circle."""

    name = "osiron"
    title = "Osiron"
    summary = "exchange neighbouring pieces, fill one of seven interlocked circles"
    credit = "David Huffman, 2009"
    option_list = (
        Option("setup", "beginner", tuple(_STARTS), "how the pieces lie at the start"),
        Option("max_plies", 200, range(1, 10_001), "plies after which the game is a draw"),
        Option(
            *("repetition", 3, _repetition, "occurrences of a position that make a draw, or 0"),
            accepted=f"0 (never) or an integer from 2 to {_MOST_REPETITIONS}",
        ),
    )
    notation = "with the mover's own space first"
    upright = "is light"
    rules: ClassVar = rules
    view: ClassVar = view

    def setup(self) -> None:
        self.max_plies = self.options["max_plies"]
        repetition: int = self.options["repetition"]
        start = set_of(_STARTS[self.options["setup"]])
        self.random_start = self.options["setup"] == "random"
        #: For each player the circles that do not count: those that they hold at the start.
        self.excluded_circles = [
            [] if self.random_start else _circles_of(start, player) for player in (0, 1)
        ]
        counting = [set(range(CIRCLES)) - set(circles) for circles in self.excluded_circles]
        self.excluded_spaces = [
            set[int]().union(*(CIRCLE_SPACES[circle] for circle in circles))
            for circles in self.excluded_circles
        ]
        self.state_dtype = rules.state_dtype(self.max_plies // 2 + 1 if repetition else 1)
        self.tables = table_record(
            ends=np.array(PAIR_ENDS, np.uint8),
            exchange=np.array([*map(set_of, PAIR_ENDS), 0], np.int32),
            beside=np.array([set_of(_pairs_beside(pair)) for pair in range(PAIRS)], np.int32),
            ones_around=np.array([_ones_around(space) for space in range(SPACES)], np.int32),
            gained=np.array(
                [_ones_around(higher) - _ones_around(lower) for lower, higher in PAIR_ENDS],
                np.int32,
            ),
            counting=np.array([_set_of_circles(circles) for circles in counting], np.int32),
            excluded=np.array([set_of(spaces) for spaces in self.excluded_spaces], np.int32),
            start=start,
            is_random=self.random_start,
            repetition=repetition,
            max_plies=self.max_plies,
            space_at=_on_cells([1 << space for space in range(SPACES)]),
            counting_around=np.stack([_on_cells(_circles_around(circles)) for circles in counting]),
        )
        self.num_actions = PAIRS
        self.canonical_turn = CanonicalTurn(_cell_images(HALF_TURN), _pair_images(HALF_TURN))
        self.action_names = [f"{NAMES[lower]}-{NAMES[higher]}" for lower, higher in PAIR_ENDS]
        self.observation_shape = (NUM_PLANES, _HEIGHT, _WIDTH)
        self.observation_names = _PLANE_NAMES
        self.action_places = _action_places()
        self.binary_observation = True
        self.event_names = _EVENTS
        backwards = [f"{NAMES[higher]}-{NAMES[lower]}" for lower, higher in PAIR_ENDS]
        self.words = [*self.action_names, *backwards]
        self.tasks = [*(f"move, but not {name}" for name in self.action_names), "move"]

    def text_to_action(self, state: np.record, text: str) -> int:
        names = text.split("-")
        if len(names) != 2:
            raise ValueError(
                f"{quoted(text)} is malformed: write two bordering spaces with a hyphen between "
                "them, one's own first (b5-c5)"
            )
        lower, higher = sorted(_read_space(name) for name in names)
        if (lower, higher) not in PAIR_ENDS:
            near = " and ".join(NAMES[space] for space in _spaces_beside(lower))
            raise ValueError(
                f"{quoted(text)} is malformed: {NAMES[lower]} and {NAMES[higher]} do not share a "
                f"side; {NAMES[lower]} borders {near}"
            )
        return PAIR_ENDS.index((lower, higher))

    def why_illegal(self, state: np.record, action: int) -> str:
        if action == state.forbidden:
            return "it would undo the exchange that the opponent has just made"
        lower, higher = PAIR_ENDS[action]
        colour = "light" if int(state.light) >> lower & 1 else "dark"
        return f"the pieces on {NAMES[lower]} and {NAMES[higher]} are both {colour}"

    def board_text(self, state: np.record) -> str:
        letters = _letters(int(state.light))
        lines = []
        for row in reversed(range(_HEIGHT)):
            in_row = [
                letter for letter, place in zip(letters, PLACES, strict=True) if place[0] == row
            ]
            lines.append(f"{'abcd'[row]}  {'  ' * _FIRST_FILE[row]}{' '.join(in_row)}")
        return "\n".join([*lines, self.standing(state), letters])

    def marks(self, state: np.record, player: int) -> str:
        return ("light: L", "dark: D")[player]

    def symmetries(self) -> Symmetries:
        """The symmetries of the hexagon that keep each player's excluded circles in place."""
        images = [
            image
            for image in HEXAGON
            if all(set(image[list(spaces)].tolist()) == spaces for spaces in self.excluded_spaces)
        ]
        planes = CELLS * np.arange(NUM_PLANES)[:, None]
        return Symmetries(
            actions=np.array([_pair_images(image) for image in images], np.int32),
            observation=np.array(
                [(planes + _cell_images(image)).ravel() for image in images], np.int32
            ),
        )

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        own, other = (self._has_circle(after, before["mover"] ^ side) for side in (0, 1))
        drawn = after["outcome"] == DRAW
        counts = [self._is_repeated(after), drawn, own, other, own & other]
        return np.stack(counts, axis=1, dtype=np.int32)

    def _has_circle(self, states: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Whether the players [N] fully occupy a circle that counts for them, bool[N]."""
        light = states["light"].astype(np.int64)
        own = np.where(players == 0, light, light ^ ALL_SPACES)
        full = [own & set_of(spaces) == set_of(spaces) for spaces in CIRCLE_SPACES]
        counting = [
            [circle not in self.excluded_circles[player] for player in (0, 1)]
            for circle in range(CIRCLES)
        ]
        return (np.array(full) & np.array(counting)[:, players]).any(axis=0)

    def _is_repeated(self, states: np.ndarray) -> np.ndarray:
        """Whether the position has been there before, where the game keeps count, bool[N]."""
        rows, turns = np.arange(len(states)), states["ply"] >> 1
        if not self.options["repetition"]:
            return np.zeros(len(states), bool)
        seen = states["history"][rows, states["ply"] & 1]  # of the mover: int32[N, turns kept]
        now = seen[rows, turns]
        before = np.arange(seen.shape[1]) < turns[:, None]
        repeated: np.ndarray = ((seen == now[:, None]) & before).any(axis=1) & (now != 0)
        return repeated

    def action_spots(self) -> np.ndarray:
        middles = np.array([_middle(space) for space in range(SPACES)])
        return middles[np.array(PAIR_ENDS)].mean(axis=1)

    def scene(self) -> Scene:
        studs = [
            _stud(CENTRES[circle], player)
            for player, circles in enumerate(self.excluded_circles)
            for circle in circles
        ]
        return Scene(
            bottom=_BOTTOM,
            ground=_ground(),
            slots=[
                *(_gilded(circle) for circle in range(CIRCLES)),
                *(_pieces(space) for space in range(SPACES)),
                ["".join(studs)],
                *(_ring(circle) for circle in range(CIRCLES)),
                [*(_no_entry(*ends) for ends in PAIR_ENDS), ""],
            ],
            roles=[Role(name, _sample(player)) for player, name in enumerate(("light", "dark"))],
            note="crossed: circle does not count" if studs else "",
            ends=np.array([_middle(space) for space in range(SPACES)])[np.array(PAIR_ENDS)],
        )


def _circles_of(light: int, player: int) -> list[int]:
    """The circles that a player fully occupies, where ``light`` is the set of player 0's spaces."""
    own = light ^ ALL_SPACES if player else light
    return [circle for circle in range(CIRCLES) if not set_of(CIRCLE_SPACES[circle]) & ~own]


def _set_of_circles(circles: Iterable[int]) -> int:
    """A set of circles, as the rules write it."""
    return sum(8 << 4 * circle for circle in circles)


def _circles_around(circles: set[int]) -> list[int]:
    """For each space, the circles among ``circles`` that contain it, as a set."""
    return [
        _set_of_circles(circle for circle in circles if space in CIRCLE_SPACES[circle])
        for space in range(SPACES)
    ]


def _ones_around(space: int) -> int:
    """Counts with a one for each circle that a space lies in."""
    return sum(1 << 4 * circle for circle in range(CIRCLES) if space in CIRCLE_SPACES[circle])


def _pairs_beside(pair: int) -> list[int]:
    """The other pairs that have a space in common with a pair."""
    ends = set(PAIR_ENDS[pair])
    return [other for other, spaces in enumerate(PAIR_ENDS) if other != pair and ends & set(spaces)]


def _spaces_beside(space: int) -> list[int]:
    """The spaces that border a space."""
    return [sum(ends) - space for ends in PAIR_ENDS if space in ends]


def _on_cells(values: list[int]) -> np.ndarray:
    """What belongs to the spaces, on the observation's cells, int32[28]; 0 beside the board."""
    cells = np.zeros(CELLS, np.int32)
    cells[SPACE_CELLS] = values
    return cells


def _action_places() -> np.ndarray:
    """Where on two planes over the observation's board each pair is read off.

    A pair within a row is at its left cell on plane 0, one across rows at its lower cell on
    plane 1; either is the cell of its lower space.
    """
    return np.array(
        [
            CELLS * (PLACES[lower][0] != PLACES[higher][0]) + SPACE_CELLS[lower]
            for lower, higher in PAIR_ENDS
        ],
        np.int32,
    )


def _read_space(name: str) -> int:
    if name not in NAMES:
        raise ValueError(
            f"{quoted(name)} is malformed: the spaces are a1 to a5, b1 to b7, c1 to c7 and d1 to d5"
        )
    return NAMES.index(name)


def _letters(light: int) -> str:
    """What lies on each space, in index order."""
    return "".join("L" if light >> space & 1 else "D" for space in range(SPACES))


# The picture.

_MARGIN = 32.0
_UNIT = (WIDTH - 2 * _MARGIN) / 4  # length of a triangle's side, and so the radius of a circle
_BOTTOM = HEAD + (2 + sqrt(3)) * _UNIT + 2 * _MARGIN
_RIM = "#6f4e2c"
_DISC, _PETAL, _LINE = "#a87b48", "#dcb878", "#7a5733"
_PIECES = (("#ffffff", "#e2d6b9", "#a8966c"), ("#5d6878", "#232a35", "#10141a"))
_GRADIENTS = svg_gradients(
    "piece", ((light, dark) for light, dark, _ in _PIECES), centre=(0.45, 0.4), radius=0.6
)
_LABELS = ("#6d5f3d", "#c3cad5")
_WIN = "#f7cf45"
_INSET = 0.9  # size of a piece beside that of its space


def _place(point: tuple[float, float]) -> tuple[float, float]:
    """A point of the lattice in the picture."""
    x, y = point
    return _MARGIN + (2 + x / 2) * _UNIT, HEAD + _MARGIN + (1 + (1 - y) * sqrt(3) / 2) * _UNIT


def _arcs(corners: list[tuple[float, float]], radius: float, sweep: int) -> str:
    """A closed path of arcs from corner to corner, bent outwards or (sweep 0) inwards.

    The corners are in clockwise order.
    """
    (x, y), *others = [*corners, corners[0]]
    arcs = [f"A{radius:.1f} {radius:.1f} 0 0 {sweep} {x:.1f} {y:.1f}" for x, y in others]
    return f"M{x:.1f} {y:.1f}" + "".join(arcs) + "Z"


def _middle(space: int) -> tuple[float, float]:
    xs, ys = zip(*map(_place, CORNERS[space]), strict=True)
    return sum(xs) / 3, sum(ys) / 3


def _triangle(space: int, size: float) -> str:
    """The concave triangle of a space, ``size`` times as large, about its middle."""
    middle_x, middle_y = _middle(space)
    left, tip, right = sorted(map(_place, CORNERS[space]))
    clockwise = (left, tip, right) if _points_up(*PLACES[space]) else (left, right, tip)
    corners = [
        (middle_x + size * (x - middle_x), middle_y + size * (y - middle_y)) for x, y in clockwise
    ]
    return _arcs(corners, size * _UNIT, sweep=0)


def _ground() -> list[str]:
    """The board without its pieces."""
    return [
        _GRADIENTS,
        *(_circle(centre, _UNIT + 12, f'fill="{_RIM}"') for centre in CENTRES),
        *(_circle(centre, _UNIT, f'fill="{_DISC}"') for centre in CENTRES),
        *(_petal(side, _PETAL) for side in _sides(CORNERS)),
        *_circle_lines(),
    ]


def _circle_lines() -> list[str]:
    line = f'fill="none" stroke="{_LINE}" stroke-width="2"'
    return [_circle(centre, _UNIT, line) for centre in CENTRES]


def _gilded(circle: int) -> list[str]:
    """Nothing, or the petals of a circle in gold, and on them again the lines."""
    sides = _sides(CORNERS[space] for space in CIRCLE_SPACES[circle])
    return ["", "".join([*(_petal(side, _WIN) for side in sides), *_circle_lines()])]


def _ring(circle: int) -> list[str]:
    """Nothing, or a gold ring."""
    x, y = _place(CENTRES[circle])
    ring = outlined(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_UNIT:g}"', GOLD, 7)
    return ["", "".join(ring)]


def _no_entry(lower: int, higher: int) -> str:
    """A crossed-out circle between two pieces that must not be exchanged back."""
    (x1, y1), (x2, y2) = _middle(lower), _middle(higher)
    x, y, radius = (x1 + x2) / 2, (y1 + y2) / 2, 15
    slant = 0.7 * radius
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{LIGHT}" stroke="{DARK}" '
        'stroke-width="4"/>'
        f'<path d="M{x - slant:.1f} {y - slant:.1f}l{2 * slant:.1f} {2 * slant:.1f}" '
        f'stroke="{DARK}" stroke-width="4"/>'
    )


def _sample(player: int) -> str:
    """A piece about the origin."""
    return (
        f'<path d="M-24 16A48 48 0 0 0 0 -24A48 48 0 0 0 24 16A48 48 0 0 0 -24 16Z" '
        f'fill="url(#piece{player})" stroke="{_PIECES[player][2]}" stroke-width="2"/>'
    )


def _circle(centre: tuple[float, float], radius: float, style: str) -> str:
    x, y = _place(centre)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {style}/>'


def _sides(triangles: Iterable[frozenset[Point]]) -> list[list[Point]]:
    """The sides of triangles, each once."""
    sides = {side for corners in triangles for side in combinations(sorted(corners), 2)}
    return [list(side) for side in sorted(sides)]


def _petal(side: list[Point], fill: str) -> str:
    """The lens that two circles cut out about a side."""
    path = _arcs([_place(end) for end in side], _UNIT, sweep=1)
    return f'<path d="{path}" fill="{fill}"/>'


def _stud(centre: Point, player: int) -> str:
    """A crossed stud in the middle of a circle that does not count for a player."""
    x, y = _place(centre)
    fill, _, edge = _PIECES[player]
    arm = 8
    cross = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm:g} {2 * arm:g}m0 {-2 * arm:g}"
    return _circle(centre, 14, f'fill="{fill}" stroke="{edge}" stroke-width="2"') + (
        f'<path d="{cross}l{-2 * arm:g} {2 * arm:g}" stroke="{(DARK, LIGHT)[player]}" '
        'stroke-width="3.4"/>'
    )


def _pieces(space: int) -> list[str]:
    """What a space can show, as the view numbers it."""
    return [_piece(space, player, is_marked) for is_marked in (False, True) for player in (0, 1)]


def _piece(space: int, player: int, is_marked: bool) -> str:
    x, y = _middle(space)
    shape = f'<path d="{_triangle(space, _INSET)}"'
    mark = "".join(last_mark(shape)) if is_marked else ""
    label = svg_text(round(x, 1), round(y, 1), NAMES[space], SMALL_TEXT, _LABELS[player])
    return (
        f'{shape} fill="url(#piece{player})" stroke="{_PIECES[player][2]}" stroke-width="1.5" '
        f'stroke-linejoin="round"/>{mark}{label}'
    )
