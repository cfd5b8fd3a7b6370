"""Onyx's board: sizes and tables, text notation, symmetries, picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import cos, radians, tan
from typing import ClassVar

import numpy as np

from ludarium.base.messages import quoted

from ..engine.draw.grid import Frame, cell_name, draw_frame, orthogonal_neighbours
from ..engine.draw.picture import (
    DARK,
    GOLD,
    file_letter,
    last_mark,
    open_mark,
    round_piece,
    svg_gradients,
    taken_mark,
)
from ..engine.draw.scene import Role, Row, Scene, Slot, ranks, slots_at
from ..engine.game import Game, Symmetries
from ..engine.options import Option, ply_cap
from ..engine.position import Position
from ..engine.position_text import Field, PositionFormat, from_the_top
from ..engine.rule import table_record
from ..engine.spec import BoardTurn, Spec, Texts
from . import rules, view
from .rules import EMPTY, FIRST, LAST, MAY_SWAP, STONE, STONES, H, V

_LETTERS = "VH"  # one for each colour
_STONE_LETTERS = "." + _LETTERS  # by what a place holds, without its connections
_NAMES = ("black", "white")
_CORNER_WORDS = ("empty", *_NAMES, *(f"empty, {name} captured" for name in _NAMES))
_MIDPOINT_WORDS = ("closed", *_NAMES, "", "", "open")
_FIRST_MOVE = 1  # plies played when swapping is offered
_PLANE_NAMES = (
    *("own corners", "other corners", "own midpoints", "other midpoints"),
    *("joined first", "joined last", "squares", "rising diagonals", "plays V", "may swap"),
)
#: Planes whose entries belong to unit cells rather than corners.
_PLANES_OF_CELLS = (
    *(rules.OWN_MIDPOINTS, rules.OTHER_MIDPOINTS),
    *(rules.SQUARES, rules.RISING_DIAGONALS),
)

#: Reasons, numbered as in the view.
_REASONS = (
    "{0} is taken",
    "a midpoint can be taken only while the four corners of its square are empty",
    "this game is played without the swap rule (option 'swap_rule')",
    "sides can be swapped only by player_1, in place of its first move",
)
#: Faults of a position's text, numbered as in the view; the first two have a text for each colour.
_FAULTS = (
    *(
        f"V has {{0}} stones, H has {{1}}, and {letter} is to move: stones are placed in turn and "
        "captured in pairs, so a stone is missing or too many, or the other player is to move"
        for letter in _LETTERS
    ),
    *(
        f"{letter} joins its sides, so the game is over, with the other player to move: write {{0}}"
        for letter in _LETTERS
    ),
    "V and H cross, and there is neither {0:midpoints} nor {1:midpoints}: the last of the four "
    "stones would have captured two",
)
#: The events that `events` counts; the last only under the swap rule.
_EVENTS = ("pair captured", "two pairs captured at once", "midpoint taken", "swap")

_GOALS = ("bottom to top", "left to right")  # one for each colour
_TILT = radians(15)  # the squares of the true board are turned by this
_STONE_COLOURS = (("#7a808c", "#15171b", "#000000"), ("#ffffff", "#d3cdbf", "#8a8475"))
_GRADIENTS = svg_gradients("stone", ((light, dark) for light, dark, _ in _STONE_COLOURS))
_EDGE_COLOURS = ("#15171b", "#fdfaf2")
_BOARD, _SQUARE, _TRIANGLE = "#b08d57", "#e3cc9c", "#d0b27c"
_LINE, _LIGHT_LINE = "#6f5227", "#c0a46c"


class Onyx(Game):
    """Onyx (Larry Back, 1995): join two sides over squares and triangles, capturing in squares."""

    name = "onyx"
    title = "Onyx"
    summary = "join your two sides over squares and triangles; opposite corners capture"
    credit = "Larry Back, 1995"
    option_list = (
        Option("size", 12, range(6, 21, 2), "corners on a side of the board"),
        Option("start", "standard", ("standard", "open"), "eight stones at the start, or none"),
        Option("swap_rule", False, (False, True), "player_1 may swap sides after the first move"),
        Option(
            *("max_plies", None, ply_cap, "plies after which the game is a draw"),
            accepted="a positive integer up to 1,000,000, or None for 4 times the number of points",
        ),
    )
    featured_options = ({"swap_rule": True},)
    rules: ClassVar = rules

    def setup(self) -> Spec:
        size: int = self.options["size"]
        corners = size**2
        self.size = size
        #: Cells (by their lower left corner) that are squares, in the order of their midpoints.
        self.squares = [
            cell for cell in range(corners) if _is_cell(cell, size) and not _diagonal(cell, size)
        ]
        #: Places of the points, numbered as in `rules`: corners, then midpoints.
        self.places = np.array([*range(corners), *(corners + cell for cell in self.squares)])
        self.points = len(self.places)
        self.swap = self.points
        exchanged = np.arange(corners).reshape(size, size).T.ravel()  # files and ranks
        max_plies = self.options["max_plies"] or 4 * self.points
        return Spec(
            state_dtype=rules.state_dtype(size, len(self.squares)),
            tables=table_record(
                places=self.places.astype(np.uint16),
                **_geometry(size, self.squares),
                **_start(size, self.squares, self.options["start"]),
                swap_ply=_FIRST_MOVE if self.options["swap_rule"] else -1,
                max_plies=max_plies,
            ),
            action_names=[
                *(cell_name(corner, size) for corner in range(corners)),
                *(_square_name(square, size) for square in self.squares),
                "swap",
            ],
            observation_names=_PLANE_NAMES[: MAY_SWAP + self.options["swap_rule"]],
            board=(size, size),
            max_plies=max_plies,
            action_places=np.append(self.places, -1).astype(np.int32),
            canonical_turn=BoardTurn(
                exchanged,
                self._actions_at(np.concatenate([exchanged, corners + exchanged])),
                rules.is_turned,
            ),
            tasks=Texts(("move", "move or swap"), view.task),
            reasons=Texts(_REASONS, view.reason),
            event_names=_EVENTS[: None if self.options["swap_rule"] else -1],
            takes=view.takes,
            give_turn=view.give_turn,
            position_format=self._position_format(),
        )

    def _position_format(self) -> PositionFormat:
        midpoints = [_square_name(square, self.size) for square in self.squares]
        wrong = f"write V or H and a midpoint, such as V{midpoints[0]}"
        fields = [
            Field(
                "midpoints",
                [letter + name for name in midpoints for letter in _LETTERS],
                len(midpoints),
                wrong,
            ),
            Field("plies"),
            *([Field("swapped", ["yes"])] if self.options["swap_rule"] else []),
        ]
        return PositionFormat(
            letters=_STONE_LETTERS,
            rows=from_the_top([self.size] * self.size),
            fields=fields,
            faults=_FAULTS,
            write=view.write_text,
            read=view.read_text,
        )

    # Text.

    def text_to_action(self, position: Position, text: str) -> int:
        if text == "swap":
            return self.swap
        point = re.fullmatch(r"([a-z]{1,2}[0-9]{1,4})\*{0,2}", text)
        if not point:
            raise ValueError(
                f"{quoted(text)} is malformed: write a corner (d10), a midpoint by its two files "
                "and two ranks (de910), or swap; a corner may have a * for each captured pair"
            )
        if point[1] not in self.action_names:
            raise ValueError(f"{quoted(text)} is malformed: {self._why_no_point(point[1])}")
        return self.action_names.index(point[1])

    def _why_no_point(self, text: str) -> str:
        """The reason why one or two letters and some digits name no point of this board."""
        files, digits = text.rstrip("0123456789"), text.lstrip("abcdefghijklmnopqrstuvwxyz")
        lower = [rank for rank in range(1, 99) if digits == f"{rank}{rank + 1}"]
        if len(files) == 2:
            if ord(files[1]) != ord(files[0]) + 1:
                return f"{files[0]} and {files[1]} are not two files side by side, as in de910"
            if not lower:
                return f"{digits} is not two ranks, the lower one first, as in de910"
            if files[1] <= file_letter(self.size - 1) and lower[0] < self.size:
                return f"a diagonal divides {text} into triangles, and only squares have midpoints"
        return f"the board's corners go from a1 to {cell_name(self.size**2 - 1, self.size)}"

    def board_text(self, position: Position) -> str:
        size = self.size
        stones = (position.state.board & STONES).tolist()  # STONE << colour, or EMPTY
        letters = "".join(f"   {file_letter(file)}" for file in range(size))
        lines = [letters]
        for rank in reversed(range(size)):
            first = rank * size
            corners = [_letter(stone, "+") for stone in stones[first : first + size]]
            lines.append(f"{rank + 1:>2} {'---'.join(corners)} {rank + 1}")
            if rank > 0:
                below = range(first - size, first - 1)
                cells = [
                    _diagonal(cell, size) or _letter(stones[size**2 + cell], " ") for cell in below
                ]
                lines.append(f"   | {' | '.join(cells)} |")
        return "\n".join([*lines, letters, position.standing()])

    def marks(self, position: Position, player: int) -> str:
        return _LETTERS[player ^ int(position.state.v_player)]

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        stones = [((states["board"] & STONES) != EMPTY).sum(1) for states in (before, after)]
        swaps = actions == self.swap
        pairs = (stones[0] + ~swaps - stones[1]) // 2
        midpoints = (actions >= self.size**2) & ~swaps
        counts = [pairs, pairs > 1, midpoints, swaps][: len(self.event_names)]
        return np.stack(counts, axis=1, dtype=np.int32)

    # Symmetries.

    def _actions_at(self, places: np.ndarray) -> np.ndarray:
        """For each action, the action at ``places[its place]``; the swap stays the same."""
        number = {place: point for point, place in enumerate(self.places)}
        return np.array([*(number[place] for place in places[self.places]), self.swap])

    def symmetries(self) -> Symmetries:
        """The identity and half a turn; the exchange of the sides is the canonical turn."""
        size, corners = self.size, self.size**2
        turned_corners = np.arange(corners)[::-1]
        turned_cells = np.array([_turned_cell(cell, size) for cell in range(corners)])
        planes = list(range(self.observation_shape[0]))
        first, last = rules.JOINED_FIRST, rules.JOINED_LAST
        planes[first], planes[last] = last, first
        observation = [
            plane * corners + (turned_cells if plane in _PLANES_OF_CELLS else turned_corners)
            for plane in planes
        ]
        actions = self._actions_at(np.concatenate([turned_corners, corners + turned_cells]))
        nothing = [np.arange(self.num_actions), np.arange(len(planes) * corners)]
        return Symmetries(
            actions=np.stack([nothing[0], actions]).astype(np.int32),
            observation=np.stack([nothing[1], np.concatenate(observation)]).astype(np.int32),
        )

    # Picture.

    def action_spots(self) -> np.ndarray:
        at = _coordinates(draw_frame(self.size, self.size, _BOARD))
        return np.vstack([at[self.places], [np.nan, np.nan]])

    def scene(self) -> Scene:
        frame = draw_frame(self.size, self.size, _BOARD)
        at, unit = _coordinates(frame), frame.unit / cos(_TILT)
        corners, midpoints = at[: self.size**2].tolist(), at[self.size**2 :].tolist()
        middles = [
            _midpoint(unit) if cell in self.squares else [""] for cell in range(len(corners))
        ]
        mark = ["", last_mark(f'<circle r="{0.3 * unit:g}"')]
        return Scene(
            bottom=frame.bottom,
            ground=[_GRADIENTS, *frame.elements, *self._drawn_board(frame)],
            slots=[
                *slots_at(corners, _corner(unit)),
                *(Slot(x, y, each) for (x, y), each in zip(midpoints, middles, strict=True)),
                *self._links(at, DARK, 0.2 * unit),
                *self._links(at, GOLD, 0.1 * unit),
                *slots_at(at[self.places].tolist(), mark),
            ],
            roles=[
                Role(f"{_NAMES[colour]}, {_GOALS[colour]}", _stone(24, colour)) for colour in (V, H)
            ],
            show=view.show,
            role=view.role,
            rows=self._rows(),
        )

    def _rows(self) -> list[Row]:
        """Each rank of corners, and below it the midpoints between it and the next."""
        corners = self.size**2
        rows = ranks(self.action_names[:corners], _CORNER_WORDS)
        for rank in range(self.size - 1, 0, -1):
            places = [
                (_square_name(square, self.size), corners + square)
                for square in self.squares
                if square // self.size == rank - 1
            ]
            name = f"midpoints of ranks {rank} and {rank + 1}"
            rows.insert(2 * (self.size - rank) - 1, Row(name, places, _MIDPOINT_WORDS))
        return rows

    def _links(self, at: np.ndarray, colour: str, width: float) -> list[Slot]:
        """For each place a slot with nothing, or a line to one of its neighbours."""
        return [
            Slot(x, y, ["", *(_link(way, colour, width) for way in ways)])
            for (x, y), ways in zip(
                at.tolist(), at[self.tables[0].neighbours] - at[:, None], strict=True
            )
        ]

    def _drawn_board(self, frame: Frame) -> list[str]:
        """Squares, triangles, lines, and the edges in their colours."""
        size, at, unit = self.size, _coordinates(frame), frame.unit / cos(_TILT)
        cells = [cell for cell in range(size**2) if _is_cell(cell, size)]
        triangles = [_around(cell, size) for cell in cells if _diagonal(cell, size)]
        squares = [_around(cell, size) for cell in self.squares]
        return [
            _area(at, squares, _SQUARE),
            _area(at, triangles, _TRIANGLE),
            _lines(at, _midpoint_lines(size, self.squares), _LIGHT_LINE, unit / 40),
            _lines(at, _corner_lines(size), _LINE, unit / 30),
            *(
                _lines(at, _edges(colour, size), _EDGE_COLOURS[colour], unit / 9)
                for colour in (V, H)
            ),
        ]


# The board by corners and unit cells: a cell has the number of its lower left corner.


def _is_cell(cell: int, size: int) -> bool:
    return cell % size < size - 1 and cell // size < size - 1


def _diagonal(cell: int, size: int) -> str:
    """``/`` or ``\\`` if a diagonal divides the cell into triangles, "" for a square."""
    rank, file = divmod(cell, size)
    return "" if (file + rank) % 2 else "\\" if rank % 2 else "/"


def _around(cell: int, size: int) -> list[int]:
    """The four corners of a cell, anticlockwise from the lower left."""
    return [cell, cell + 1, cell + size + 1, cell + size]


def _square_name(square: int, size: int) -> str:
    rank, file = divmod(square, size)
    return f"{file_letter(file)}{file_letter(file + 1)}{rank + 1}{rank + 2}"


def _edges(colour: int, size: int) -> tuple[range, range]:
    """The corners of the first and of the last edge of a colour."""
    if colour == V:
        return range(size), range(size * (size - 1), size**2)
    return range(0, size**2, size), range(size - 1, size**2, size)


def _turned_cell(cell: int, size: int) -> int:
    """The image of a cell under half a turn; a number that is no cell's stays."""
    return (size - 2) * (size + 1) - cell if _is_cell(cell, size) else cell


def _corner_lines(size: int) -> list[tuple[int, int]]:
    """The lines that join corners."""
    lines = [
        (corner, int(near))
        for corner, row in enumerate(orthogonal_neighbours(size, size))
        for near in row
        if corner < near
    ]
    for cell in range(size**2):
        if _is_cell(cell, size) and _diagonal(cell, size):
            lower_left, lower_right, upper_right, upper_left = _around(cell, size)
            rising = _diagonal(cell, size) == "/"
            lines.append((lower_left, upper_right) if rising else (lower_right, upper_left))
    return lines


def _midpoint_lines(size: int, squares: list[int]) -> list[tuple[int, int]]:
    """The lines from midpoints to the corners of their squares, by place."""
    return [(size**2 + square, corner) for square in squares for corner in _around(square, size)]


# Tables; `rules` describes them.


def _geometry(size: int, squares: list[int]) -> dict[str, np.ndarray]:
    corners = size**2
    joined: list[list[int]] = [[] for _ in range(2 * corners)]
    for one, other in _corner_lines(size) + _midpoint_lines(size, squares):
        joined[one].append(other)
        joined[other].append(one)
    neighbours = np.repeat(np.arange(2 * corners)[:, None], max(map(len, joined)), axis=1)
    for place, near in enumerate(joined):
        neighbours[place, : len(near)] = near

    square_count = np.zeros(corners, np.uint8)
    numbers, opposites = np.zeros((corners, 2), np.uint16), np.zeros((corners, 2), np.uint16)
    sides = np.zeros((corners, 2, 2), np.uint16)
    for number, square in enumerate(squares):
        around = _around(square, size)
        for k, corner in enumerate(around):
            entry = square_count[corner]
            numbers[corner, entry] = number
            opposites[corner, entry] = around[k - 2]
            sides[corner, entry] = around[k - 1], around[k - 3]
            square_count[corner] += 1

    edges = np.zeros((2, 2 * corners), np.uint8)
    rising = [_is_cell(cell, size) and _diagonal(cell, size) == "/" for cell in range(corners)]
    for colour in (V, H):
        for edge, flag in zip(_edges(colour, size), (FIRST, LAST), strict=True):
            edges[colour, edge] = flag
    return {
        "neighbours": neighbours.astype(np.uint16),
        "edges": edges,
        "rim": np.array([np.flatnonzero(row) for row in edges], np.uint16),
        "square_count": square_count,
        "squares": numbers,
        "opposites": opposites,
        "sides": sides,
        "middles": np.array(squares, np.uint16) + np.uint16(corners),
        "is_square": np.isin(np.arange(corners), squares).astype(np.uint8),
        "is_rising": np.array(rising, np.uint8),
    }


def _start(size: int, squares: list[int], start: str) -> dict[str, np.ndarray | int]:
    """The first position: the stones in the middle of the opponent's edges, or none."""
    corners, half = size**2, size // 2
    board = np.zeros(2 * corners, np.uint8)
    if start == "standard":
        for colour in (V, H):
            for edge in _edges(1 - colour, size):
                board[edge[half - 1 : half + 1]] = STONE << colour
    taken = board[:corners] != 0
    occupied = np.array([taken[_around(square, size)].sum() for square in squares], np.int8)
    return {
        "start_board": board,
        "start_open": np.concatenate([~taken, occupied == 0, [False]]).astype(np.int8),
        "start_occupied": occupied,
    }


# Parts of the text and the picture.


def _letter(stone: int, empty: str) -> str:
    return empty if stone == EMPTY else _LETTERS[stone >> 1]


def _coordinates(frame: Frame) -> np.ndarray:
    """The coordinates of each place in the picture, float[2 n, 2].

    Onyx is played on the snub square tiling, of squares turned to and fro by 15 degrees and
    equilateral triangles. If their sides are 1, the corners lie on a grid of width cos 15 degrees,
    each shifted by half of sin 15 degrees in both directions: right on ranks 1, 3, ... and left on
    the others, up on files a, c, ... and down on the others.
    """
    size = frame.width
    at = np.zeros((2 * size**2, 2))
    shift = frame.unit * tan(_TILT) / 2
    for corner in range(size**2):
        rank, file = divmod(corner, size)
        x, y = frame.place(corner)
        at[corner] = x + (-shift if rank % 2 else shift), y + (shift if file % 2 else -shift)
    for cell in filter(lambda cell: _is_cell(cell, size), range(size**2)):
        at[size**2 + cell] = at[_around(cell, size)].mean(axis=0)
    return at


def _path(at: np.ndarray, places: Sequence[int]) -> str:
    """A path from place to place, for the attribute ``d`` of an element."""
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in at[list(places)])


def _area(at: np.ndarray, outlines: Iterable[Sequence[int]], fill: str) -> str:
    return f'<path d="{"Z".join(_path(at, each) for each in outlines)}Z" fill="{fill}"/>'


def _lines(at: np.ndarray, lines: Iterable[Sequence[int]], colour: str, width: float) -> str:
    return _stroked("".join(_path(at, each) for each in lines), colour, width)


def _link(way: np.ndarray, colour: str, width: float) -> str:
    """A line from the origin; an empty text if it leads nowhere."""
    return _stroked(f"M0 0l{way[0]:.2f} {way[1]:.2f}", colour, width) if way.any() else ""


def _stroked(path: str, colour: str, width: float) -> str:
    style = f'fill="none" stroke="{colour}" stroke-width="{width:g}" stroke-linecap="round"'
    return f'<path d="{path}" {style}/>'


def _stone(radius: float, colour: int) -> str:
    return round_piece(radius, f"url(#stone{colour})", _STONE_COLOURS[colour][2])


def _corner(unit: float) -> list[str]:
    """Shapes of a corner, numbered as in the view: only corners lose stones."""
    stones = [_stone(0.3 * unit, colour) for colour in (V, H)]
    cross = taken_mark(0.14 * unit)
    return ["", *stones, *(f'<g opacity="0.4">{stone}</g>{cross}' for stone in stones)]


def _midpoint(unit: float) -> list[str]:
    """Shapes of the middle of a square."""
    stones = [_stone(0.3 * unit, colour) for colour in (V, H)]
    return ["", *stones, "", "", open_mark(0.06 * unit)]
