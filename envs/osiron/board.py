"""Osiron's board: geometry and tables, text notation, symmetries, picture.

The triangles lie in four rows and, by the middle of their base, in seven files: two that share
a horizontal side are in the same file. The coordinates of a corner count from the centre: half
side lengths to the right, and rows upwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np

from ludarium.base.messages import quoted

from ..engine.draw.picture import (
    DARK,
    GOLD,
    HEAD,
    LIGHT,
    SMALL_TEXT,
    WIDTH,
    last_mark,
    moved,
    outlined,
    svg_gradients,
    svg_text,
)
from ..engine.draw.scene import Diagram, Role, Row, Scene, Slot, slots_at
from ..engine.game import Game, Symmetries
from ..engine.options import Option
from ..engine.position import Position
from ..engine.position_text import Field, PositionFormat, from_the_top
from ..engine.rule import DRAW, table_record
from ..engine.spec import BoardTurn, Spec, Texts
from . import rules, view
from .rules import (
    ALL_CIRCLES,
    BORDERING,
    BORDERING_PAIRS,
    CELLS,
    CIRCLE_SIZE,
    CIRCLES,
    NUM_PLANES,
    ONES,
    PAIRS,
    POINTING,
    SPACES,
)

Point = tuple[int, int]

_WIDTH, _HEIGHT = 7, 4
_FIRST_FILE = (1, 0, 0, 1)  # first file of each row
#: Row and file of each space, from 0; the lengths of the rows follow from their first files.
PLACES = [
    (row, file) for row, first in enumerate(_FIRST_FILE) for file in range(first, _WIDTH - first)
]
#: Cell of each space in the observation.
SPACE_CELLS = [row * _WIDTH + file for row, file in PLACES]
#: How many spaces each row has, from the bottom.
_ROWS = [_WIDTH - 2 * first for first in _FIRST_FILE]
#: Name of each space: the letter of its row, and its number within the row.
NAMES = [f"{'abcd'[row]}{file - _FIRST_FILE[row] + 1}" for row, file in PLACES]


def _points_up(row: int, file: int) -> bool:
    return (row + file) % 2 == 0


def _corners(row: int, file: int) -> frozenset[Point]:
    """The set of a triangle's corners: the two of its base, and its tip."""
    base, tip = (row, row + 1) if _points_up(row, file) else (row + 1, row)
    x, middle = file - _WIDTH // 2, _HEIGHT // 2
    return frozenset([(x - 1, base - middle), (x + 1, base - middle), (x, tip - middle)])


CORNERS = [_corners(row, file) for row, file in PLACES]


def _do_point(one: frozenset[Point], other: frozenset[Point]) -> bool:
    """Whether one triangle is the image of the other across one of its corners."""
    return any({(2 * x - i, 2 * y - j) for i, j in one} == other for x, y in one)


def _all_pairs() -> list[tuple[int, int]]:
    pairs = list(combinations(range(SPACES), 2))
    bordering = [pair for pair in pairs if len(CORNERS[pair[0]] & CORNERS[pair[1]]) == 2]
    pointing = [pair for pair in pairs if _do_point(*(CORNERS[space] for space in pair))]
    return bordering + pointing


#: The lower and the higher space of each pair: bordering pairs, then pointing ones.
PAIR_ENDS = _all_pairs()
#: The pairs of each kind of exchange.
_KINDS = (range(BORDERING_PAIRS), range(BORDERING_PAIRS, PAIRS))
_PAIR_NAMES = [f"{NAMES[lower]}-{NAMES[higher]}" for lower, higher in PAIR_ENDS]


def _circle_centres() -> list[Point]:
    """The lattice points with six triangles around them, in rows from the bottom, left to right."""
    points = sorted(set().union(*CORNERS), key=lambda point: (point[1], point[0]))
    return [point for point in points if sum(point in corners for corners in CORNERS) == 6]


#: The centre of each circle.
CENTRES = _circle_centres()
#: The spaces of each circle.
CIRCLE_SPACES = [
    {space for space, corners in enumerate(CORNERS) if centre in corners} for centre in CENTRES
]


def _hexagon_symmetries() -> np.ndarray:
    """The images of each space under the 12 symmetries, int[12, 24], the identity first."""
    space_with = {corners: space for space, corners in enumerate(CORNERS)}

    def turned(point: Point) -> Point:  # by a sixth of a turn
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


#: The image of each space under each symmetry of the hexagon, int[12, 24].
HEXAGON = _hexagon_symmetries()
#: Half a turn, which gives the canonical view of the dark player.
HALF_TURN = np.arange(SPACES)[::-1]


def bits_of(spaces: Iterable[int]) -> int:
    """A set of spaces, or of pairs, in the form of the rules."""
    return sum(1 << int(space) for space in spaces)


def _pair_images(spaces: np.ndarray) -> np.ndarray:
    """The image of each pair under a symmetry that puts each space at ``spaces[space]``."""
    pair_with = {ends: pair for pair, ends in enumerate(PAIR_ENDS)}
    images = [sorted((int(spaces[lower]), int(spaces[higher]))) for lower, higher in PAIR_ENDS]
    return np.array([pair_with[lower, higher] for lower, higher in images])


def _cell_images(spaces: np.ndarray) -> np.ndarray:
    """The images of the observation's cells; those beside the board stay where they are."""
    images = np.arange(CELLS)
    cells = np.array(SPACE_CELLS)
    images[cells] = cells[spaces]
    return images


_UPWARDS = bits_of(space for space, place in enumerate(PLACES) if _points_up(*place))

#: The owner of each space at the start, in index order, by setup.
_DIAGRAMS = {
    "beginner": "".join("LD"[row >= _HEIGHT // 2] for row, _ in PLACES),
    "alternating": "".join("DL"[_points_up(*place)] for place in PLACES),
}
_SETUPS = (*_DIAGRAMS, "random", "empty")
_PLANE_NAMES = (
    *("own pieces", "other pieces", "own three", "own four", "own five"),
    *("other three", "other four", "other five", "forbidden", "own excluded", "other excluded"),
    *("board", "is light", "is advanced", "is pointing", "is new round", "is placing", "empty"),
)
#: Reasons, numbered as in the view.
_REASONS = (
    "there is a piece on {0} already",
    "all pieces are placed before any is exchanged",
    "in this round pieces that border are exchanged",
    "in this round pieces that point at each other are exchanged",
    "it would undo the exchange that the opponent has just made",
    "the pieces of {0} are both light",
    "the pieces of {0} are both dark",
)

#: Faults of a position's text, numbered as in the view.
_FAULTS = (
    "{0} pieces are placed, so that player_{1} is to move",
    "the board has {0} L and {1} D, not {2} and {3}",
    "exchanges in even number lead to such a board, so that player_0 is to move",
    "exchanges in odd number lead to such a board, so that player_1 is to move",
    "forbidden is the pair that was exchanged last, if it could be exchanged back now: not "
    "{0:forbidden}",
    "excluded circles follow from the board before the first exchange",
    "excluded has more circles than could be complete at the same time",
    "seen{0} has a position without 12 light spaces",
    "seen{0} has more positions than player_{0} has had turns of that kind",
    "seen{0} has a position {1} times, and the game ends with repetition {2}",
    "no field is needed before all pieces are placed",
)

_EVENTS = (
    *("circles of both filled at once", "draw without a legal exchange", "position repeated"),
    *("draw by repetition", "own circle filled", "opponent's circle filled"),
)
_MOST_REPETITIONS = 10_000


def _setup(value: Any) -> str:
    """Accepts a name, or a diagram, which becomes a name if it has one."""
    if not isinstance(value, str):
        raise ValueError
    if value in _SETUPS:
        return value
    for name, diagram in _DIAGRAMS.items():
        if value == diagram:
            return name
    if set(value) <= set("LD") or len(value) == SPACES:
        _check_diagram(value)
        return value
    raise ValueError


def _check_diagram(letters: str) -> None:
    if len(letters) != SPACES:
        raise ValueError(f"it has {len(letters)} letters, not {SPACES}")
    for space, letter in enumerate(letters):
        if letter not in "LD":
            raise ValueError(f"its letter for {NAMES[space]} is {quoted(letter)}, not L or D")
    light = letters.count("L")
    if light != SPACES // 2:
        raise ValueError(f"it has {light} L and {SPACES - light} D, not {SPACES // 2} of each")


def _repetition(value: Any) -> int:
    """Accepts 0, or 2 to 10,000 occurrences; 1 would end a game at its start."""
    if type(value) is not int or not (value == 0 or 2 <= value <= _MOST_REPETITIONS):
        raise ValueError
    return value


class Osiron(Game):
    """Osiron (David Huffman, 2009): exchange pieces with the opponent, occupy a whole circle."""

    name = "osiron"
    version = 1
    title = "Osiron"
    summary = "exchange neighbouring pieces, fill one of seven interlocked circles"
    credit = "David Huffman, 2009"
    option_list = (
        Option(
            *("setup", "beginner", _setup, "how the pieces lie at the start"),
            accepted=f"one of {', '.join(map(repr, _SETUPS))}, or {SPACES} letters L and D, one "
            "for each space from a1 to d5",
        ),
        Option("movement", "basic", ("basic", "advanced"), "which pieces can be exchanged"),
        Option(
            *("max_plies", 200, range(1, 10_001)),
            "plies after which the game is truncated, as a draw",
        ),
        Option(
            *("repetition", 3, _repetition, "occurrences of a position that make a draw, or 0"),
            accepted=f"0 (never) or an integer from 2 to {_MOST_REPETITIONS}",
        ),
    )
    featured_options = tuple(
        {"setup": setup, "movement": movement}
        for movement in ("basic", "advanced")
        for setup in _SETUPS
    )
    notation = "with the mover's own space first"
    rules: ClassVar = rules

    def setup(self) -> Spec:
        max_plies: int = self.options["max_plies"]
        repetition: int = self.options["repetition"]
        setup: str = self.options["setup"]
        is_advanced = self.options["movement"] == "advanced"
        #: How many actions place a piece: one for each space, or none.
        self.placements = placements = SPACES if setup == "empty" else 0
        letters = self.diagram = _DIAGRAMS.get(setup, setup if len(setup) == SPACES else "")
        #: For each player the circles that they hold in the setup, which never count for them.
        self.excluded_circles = [_circles_of(letters, letter) for letter in "LD"]
        turns = max(0, max_plies - placements) // 2 + 1 if repetition else 1
        #: The number of pairs in this movement; they are the first actions.
        self.num_pairs = PAIRS if is_advanced else BORDERING_PAIRS
        backwards = [f"{NAMES[higher]}-{NAMES[lower]}" for lower, higher in PAIR_ENDS]
        action_names = [*_PAIR_NAMES[: self.num_pairs], *NAMES[:placements]]
        kept = [*range(self.num_pairs), *range(PAIRS, PAIRS + placements)]
        tables = table_record(
            ends=np.array(PAIR_ENDS, np.uint8),
            exchange=np.array([*map(bits_of, PAIR_ENDS), 0], np.int32),
            beside=np.array([bits_of(_pairs_beside(pair)) for pair in range(PAIRS)], np.int64),
            kinds=np.array([bits_of(pairs) for pairs in _KINDS], np.int64),
            ones_around=np.array([_ones_around(space) for space in range(SPACES)], np.int32),
            gained=np.array(
                [_ones_around(higher) - _ones_around(lower) for lower, higher in PAIR_ENDS],
                np.int32,
            ),
            start=bits_of(space for space, letter in enumerate(letters) if letter == "L"),
            is_random=setup == "random",
            upwards=_UPWARDS,
            placements=placements,
            is_advanced=is_advanced,
            first_placement=self.num_pairs,
            num_actions=len(action_names),
            repetition=repetition,
            max_plies=max_plies,
            space_at=_on_cells([1 << space for space in range(SPACES)]),
            circles_at=_on_cells([_circles_around(space) for space in range(SPACES)]),
        )
        return Spec(
            state_dtype=rules.state_dtype(turns),
            tables=tables,
            action_names=action_names,
            observation_names=_PLANE_NAMES,
            board=(_HEIGHT, _WIDTH),
            max_plies=max_plies,
            random_start=setup == "random",
            action_places=_action_places()[kept],
            canonical_turn=BoardTurn(
                _cell_images(HALF_TURN), self._action_images(HALF_TURN), rules.is_turned
            ),
            words=Texts([*action_names, *backwards[: self.num_pairs]], view.word),
            tasks=Texts(_tasks(is_advanced), view.task),
            reasons=Texts(_REASONS, view.reason),
            event_names=_EVENTS,
            give_turn=view.give_turn,
            position_format=self._position_format(turns),
        )

    def _position_format(self, turns: int) -> PositionFormat:
        pairs = _PAIR_NAMES[: self.num_pairs]
        backwards = ["-".join(reversed(name.split("-"))) for name in pairs]
        seen = [name.replace("-", "") for name in pairs] + [""]
        is_advanced, hint = self.num_pairs > BORDERING_PAIRS, ""
        if is_advanced:
            seen += [f"{name}p" for name in seen]
            hint = ", then p before a move by a corner"
        wrong = (
            f"write the set of {SPACES // 2} light spaces as six hexadecimal digits, then the "
            f"forbidden pair, such as 000fffb4c4{hint}"
        )
        fields = [
            Field("plies"),
            Field("forbidden", pairs + backwards, wrong="write a pair, such as b4-c4"),
        ]
        if self.placements:
            circles = [f"{letter}{circle + 1}" for letter in "LD" for circle in range(CIRCLES)]
            wrong_circle = (
                f"write L or D and a circle, 1 to {CIRCLES} in rows from the bottom, such as L1"
            )
            fields.append(Field("excluded", circles, len(circles), wrong_circle))
        if self.options["repetition"]:
            fields += [Field(f"seen{k}", seen, turns, wrong, counts=True, digits=6) for k in (0, 1)]
        return PositionFormat(
            letters=".LD",
            rows=from_the_top(_ROWS),
            fields=fields,
            faults=_FAULTS,
            write=view.write_text,
            read=view.read_text,
        )

    def _action_images(self, spaces: np.ndarray) -> np.ndarray:
        """The image of each action under a symmetry that puts each space at ``spaces[space]``."""
        places = self.num_pairs + spaces[: self.placements]
        return np.concatenate([_pair_images(spaces)[: self.num_pairs], places])

    def text_to_action(self, position: Position, text: str) -> int:
        return self._action_of(text)

    def _action_of(self, text: str) -> int:
        names = text.split("-")
        has_placements = self.num_actions > self.num_pairs
        if len(names) == 1 and names[0] in NAMES and has_placements:
            return self.num_pairs + NAMES.index(text)
        if len(names) != 2:
            or_place = ", or the space to place a piece on (b5)" if has_placements else ""
            beside = f"; {self._beside(NAMES.index(text))}" if text in NAMES else ""
            raise ValueError(
                f"{quoted(text)} is malformed: write two spaces with a hyphen between them, one's "
                f"own first (b5-c5){or_place}{beside}"
            )
        lower, higher = sorted(_read_space(name) for name in names)
        pairs = PAIR_ENDS[: self.num_pairs]
        if (lower, higher) not in pairs:
            neither = ", nor point at each other" if self.num_pairs > BORDERING_PAIRS else ""
            raise ValueError(
                f"{quoted(text)} is malformed: {NAMES[lower]} and {NAMES[higher]} do not share a "
                f"side{neither}; {self._beside(lower)}"
            )
        return pairs.index((lower, higher))

    def _beside(self, space: int) -> str:
        """The spaces that a space borders, and in advanced movement points at, in words."""
        near, far = (
            " and ".join(NAMES[other] for other in _spaces_beside(space, kind))
            for kind in (BORDERING, POINTING)
        )
        points = f" and points at {far}" if far and self.num_pairs > BORDERING_PAIRS else ""
        return f"{NAMES[space]} borders {near}{points}"

    def board_text(self, position: Position) -> str:
        state = position.state
        letters = _letters(state)
        lines = []
        for row in reversed(range(_HEIGHT)):
            in_row = [
                letter for letter, place in zip(letters, PLACES, strict=True) if place[0] == row
            ]
            lines.append(f"{'abcd'[row]}  {'  ' * _FIRST_FILE[row]}{' '.join(in_row)}")
            centres = self._centre_line(state, row)
            if centres:
                lines.append(centres)
        return "\n".join([*lines, position.standing(), letters])

    def _centre_line(self, state: np.record, row: int) -> str:
        """The line below a row, with marks in the middles of circles that do not count."""
        line = [" "] * (3 + 2 * _WIDTH)
        for circle, (x, y) in enumerate(CENTRES):
            for player, mark in enumerate("ld"):
                if y == row - _HEIGHT // 2 and not state.counting[player] & 8 << 4 * circle:
                    line[3 + 2 * (x + _WIDTH // 2)] = mark
        return "".join(line).rstrip()

    def marks(self, position: Position, player: int) -> str:
        marks = ("light: L", "dark: D")[player]
        if int(position.state.counting[player]) == ALL_CIRCLES:
            return marks
        return f"{marks}, circles that do not count: {'ld'[player]}"

    def symmetries(self) -> Symmetries:
        """The symmetries of the hexagon that permute each player's excluded circles."""
        excluded = [
            [CIRCLE_SPACES[circle] for circle in circles] for circles in self.excluded_circles
        ]
        images = [
            image
            for image in HEXAGON
            if all(
                set(image[list(spaces)].tolist()) in circles
                for circles in excluded
                for spaces in circles
            )
        ]
        planes = CELLS * np.arange(NUM_PLANES)[:, None]
        return Symmetries(
            actions=np.array([self._action_images(image) for image in images], np.int32),
            observation=np.array(
                [(planes + _cell_images(image)).ravel() for image in images], np.int32
            ),
        )

    def events(self, before: np.ndarray, actions: np.ndarray, after: np.ndarray) -> np.ndarray:
        mover = before["mover"]
        own, other = self._has_circle(after, mover), self._has_circle(after, 1 - mover)
        drawn, both = after["outcome"] == DRAW, own & other
        repeated = self._is_repeated(after)
        counts = [both, drawn & ~both & ~repeated, repeated, drawn & repeated, own, other]
        return np.stack(counts, axis=1, dtype=np.int32)

    def _has_circle(self, states: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Whether the players [N] fully occupy a circle that counts for them, bool[N]."""
        rows = np.arange(len(states))
        around = states["around"][rows, players].astype(np.int64)
        complete = around + (8 - CIRCLE_SIZE) * ONES  # as in `rules.at_least`
        found: np.ndarray = complete & states["counting"][rows, players] != 0
        return found

    def _is_repeated(self, states: np.ndarray) -> np.ndarray:
        """Whether the position has occurred before, if the game keeps count, bool[N].

        After an exchange that wins or draws otherwise, the position does not count.
        """
        if not self.options["repetition"]:
            return np.zeros(len(states), bool)
        exchanges = states["ply"] - int(self.tables[0].placements)
        rows, turns = np.arange(len(states)), np.maximum(exchanges, 0) >> 1
        seen = states["history"][rows, states["mover"]]  # int32[N, turns kept]
        now = seen[rows, turns]
        before = np.arange(seen.shape[1]) < turns[:, None]
        repeated: np.ndarray = ((seen == now[:, None]) & before).any(axis=1) & (now != 0)
        return repeated

    def action_spots(self) -> np.ndarray:
        """Points between the two spaces; for pointing pairs nearer to the lower one.

        Three such pairs have the same middle. A placement's point is the middle of its space.
        """
        ends = self._ends()
        spots: np.ndarray = ends.mean(axis=1)
        pointing = slice(BORDERING_PAIRS, self.num_pairs)
        spots[pointing] = (ends[pointing, 0] + spots[pointing]) / 2
        return spots

    def _ends(self) -> np.ndarray:
        """The middles of each action's two spaces, alike for a placement; float[A, 2, 2]."""
        middles = _middles()
        alone = [(space, space) for space in range(self.num_actions - self.num_pairs)]
        ends: np.ndarray = middles[np.array([*PAIR_ENDS[: self.num_pairs], *alone])]
        return ends

    def scene(self) -> Scene:
        may_exclude = self.num_actions > self.num_pairs or any(self.excluded_circles)
        centres, middles = [_place(centre) for centre in CENTRES], _middles().tolist()
        pieces = {is_up: _pieces(is_up) for is_up in (True, False)}
        return Scene(
            bottom=_BOTTOM,
            ground=_ground(),
            slots=[
                *slots_at(centres, ["", _gilded_petals()]),
                Slot(0, 0, ["".join(_circle(centre, _UNIT, _LINES) for centre in CENTRES)]),
                *(
                    Slot(x, y, pieces[_points_up(*place)])
                    for (x, y), place in zip(middles, PLACES, strict=True)
                ),
                *(
                    Slot(x, y, _labels(name, _points_up(*place)))
                    for (x, y), name, place in zip(middles, NAMES, PLACES, strict=True)
                ),
                *slots_at(centres, ["", *(_stud(player) for player in (0, 1))]),
                *slots_at(centres, ["", outlined(f'<circle r="{_UNIT:g}"', GOLD, 7)]),
                *slots_at(_middles()[np.array(PAIR_ENDS)].mean(axis=1).tolist(), ["", _no_entry()]),
                Slot(56, _BOTTOM - 66, ["", *(_kind_sign(k) for k in (BORDERING, POINTING))]),
                *_stock(),
            ],
            roles=[Role(name, _sample(player)) for player, name in enumerate(("light", "dark"))],
            show=view.show,
            note="a cross: the circle does not count for that colour" if may_exclude else "",
            ends=self._ends(),
            diagram=Diagram(
                rules.set_up, "setup", "LD", ("light", "dark"), NAMES, _middles(), self.diagram
            ),
            rows=_rows(),
        )


def _rows() -> list[Row]:
    """The pieces by row, then the circles that do not count for a colour."""
    first = len(CENTRES) + 1
    pieces = ("light", "dark", "light, just moved", "dark, just moved", "empty")
    rows = [
        Row(
            f"row {row}",
            [(name, first + space) for space, name in enumerate(NAMES) if name[0] == row],
            pieces,
        )
        for row in "dcba"
    ]
    studs = range(first + 2 * len(NAMES), first + 2 * len(NAMES) + len(CENTRES))
    circles = [
        ("circle of " + " ".join(NAMES[space] for space in sorted(spaces)), slot)
        for spaces, slot in zip(CIRCLE_SPACES, studs, strict=True)
    ]
    words = ("", "does not count for light", "does not count for dark")
    return [*rows, Row("circles", circles, words)]


def _circles_of(letters: str, letter: str) -> list[int]:
    """The circles whose six spaces all have ``letter``; ``letters`` may be empty."""
    return [
        circle
        for circle, spaces in enumerate(CIRCLE_SPACES)
        if letters and all(letters[space] == letter for space in spaces)
    ]


def _circles_around(space: int) -> int:
    """The circles that contain a space, as a set of circles."""
    return sum(8 << 4 * circle for circle in range(CIRCLES) if space in CIRCLE_SPACES[circle])


def _ones_around(space: int) -> int:
    """A number with the hexadecimal digit 1 for each circle that contains a space."""
    return _circles_around(space) >> 3


def _pairs_beside(pair: int) -> list[int]:
    """The other pairs that have a space in common with a pair."""
    ends = set(PAIR_ENDS[pair])
    return [other for other, spaces in enumerate(PAIR_ENDS) if other != pair and ends & set(spaces)]


def _spaces_beside(space: int, kind: int) -> list[int]:
    """The spaces that border a space, or that it points at, by the kind of exchange."""
    pairs = (PAIR_ENDS[pair] for pair in _KINDS[kind])
    return [sum(ends) - space for ends in pairs if space in ends]


def _tasks(is_advanced: bool) -> list[str]:
    """The tasks of a mover, numbered as in the view."""
    if is_advanced:
        kinds = ["move by a side", "move by a corner"]
        kind_of = [kinds[pair in _KINDS[POINTING]] for pair in range(PAIRS)]
    else:
        kinds, kind_of = ["move", "move"], ["move"] * PAIRS
    exchanges = [f"{kind}, not {name}" for kind, name in zip(kind_of, _PAIR_NAMES, strict=True)]
    left = [f"place a piece, {number} left" for number in range(1, SPACES // 2 + 1)]
    return [*exchanges, *kinds, *left]


def _on_cells(values: list[int]) -> np.ndarray:
    """Values of the spaces on the observation's cells, int32[28]; 0 beside the board."""
    cells = np.zeros(CELLS, np.int32)
    cells[SPACE_CELLS] = values
    return cells


def _action_places() -> np.ndarray:
    """The place of each pair, then of each space, on six planes over the observation's board.

    A pair is at the cell of its lower space, on a plane for each direction of the higher one
    from there. Bordering pairs: to the right (plane 0) or above (1). Pointing pairs, upwards: to
    the left (2), straight (3), or to the right (4). Placements are on plane 5.
    """
    ways = [(0, 1), (1, 0), (1, -2), (1, 0), (1, 2)]
    places = []
    for pair, (lower, higher) in enumerate(PAIR_ENDS):
        (row, file), (other_row, other_file) = PLACES[lower], PLACES[higher]
        way = ways.index(
            (other_row - row, other_file - file), 0 if pair in _KINDS[BORDERING] else 2
        )
        places.append(CELLS * way + SPACE_CELLS[lower])
    return np.array([*places, *(CELLS * len(ways) + cell for cell in SPACE_CELLS)], np.int32)


def _read_space(name: str) -> int:
    if name not in NAMES:
        raise ValueError(
            f"{quoted(name)} is malformed: the spaces are a1 to a5, b1 to b7, c1 to c7 and d1 to d5"
        )
    return NAMES.index(name)


def _letters(state: np.record) -> str:
    """The letter of each space's piece, in index order."""
    light, empty = int(state.light), int(state.empty)
    return "".join(
        "." if empty >> space & 1 else "DL"[light >> space & 1] for space in range(SPACES)
    )


# The picture.

_MARGIN = 32.0
_UNIT = (WIDTH - 2 * _MARGIN) / 4  # length of a triangle's side, and so the radius of a circle
_BOTTOM = 2.0 * ceil(HEAD / 2 + (1 + sqrt(3) / 2) * _UNIT + _MARGIN)  # even, for video encoders
_RIM = "#6f4e2c"
_DISC, _PETAL = "#a87b48", "#dcb878"
_LINES = 'fill="none" stroke="#7a5733" stroke-width="2"'
_PIECES = (("#ffffff", "#e2d6b9", "#a8966c"), ("#5d6878", "#232a35", "#10141a"))
_GRADIENTS = svg_gradients(
    "piece", ((light, dark) for light, dark, _ in _PIECES), centre=(0.45, 0.4), radius=0.6
)
_LABELS = ("#6d5f3d", "#c3cad5")
_EMPTY_LABEL = "#3d2814"
_LABEL_OFFSET = 34  # shift of an empty space's name towards the tip
_WIN = "#f7cf45"
_INSET = 0.9  # size of a piece relative to its space


def _place(point: tuple[float, float]) -> tuple[float, float]:
    """The place of a point of the lattice in the picture."""
    x, y = point
    return _MARGIN + (2 + x / 2) * _UNIT, HEAD + _MARGIN + (1 + (1 - y) * sqrt(3) / 2) * _UNIT


def _arcs(corners: list[tuple[float, float]], radius: float, sweep: int) -> str:
    """A closed path of arcs from corner to corner, bent outwards or (sweep 0) inwards.

    The corners are in clockwise order.
    """
    (x, y), *others = [*corners, corners[0]]
    arcs = [f"A{radius:.1f} {radius:.1f} 0 0 {sweep} {x:.1f} {y:.1f}" for x, y in others]
    return f"M{x:.1f} {y:.1f}" + "".join(arcs) + "Z"


def _middles() -> np.ndarray:
    """The middle of each space in the picture, float[24, 2]."""
    return np.array(
        [np.mean([_place(corner) for corner in corners], axis=0) for corners in CORNERS]
    )


def _ground() -> list[str]:
    """The board without its lines and pieces."""
    return [
        _GRADIENTS,
        *(_circle(centre, _UNIT + 12, f'fill="{_RIM}"') for centre in CENTRES),
        *(_circle(centre, _UNIT, f'fill="{_DISC}"') for centre in CENTRES),
        *(_petal(side, _PETAL) for side in _sides(CORNERS)),
    ]


def _circle(centre: Point, radius: float, style: str) -> str:
    x, y = _place(centre)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {style}/>'


def _sides(triangles: Iterable[frozenset[Point]]) -> list[list[Point]]:
    """The sides of triangles, each once."""
    sides = {side for corners in triangles for side in combinations(sorted(corners), 2)}
    return [list(side) for side in sorted(sides)]


def _petal(side: list[Point], fill: str) -> str:
    """The lens about a side that two circles cut out."""
    path = _arcs([_place(end) for end in side], _UNIT, sweep=1)
    return f'<path d="{path}" fill="{fill}"/>'


# Shapes about the origin.


def _gilded_petals() -> str:
    """The petals of a circle in gold."""
    x, y = _place(CENTRES[0])
    petals = [_petal(side, _WIN) for side in _sides(CORNERS[each] for each in CIRCLE_SPACES[0])]
    return moved(-x, -y, "".join(petals))


def _triangle(points_up: bool, size: float) -> str:
    """The concave triangle of a space, ``size`` times as large, about its middle."""
    side = size * _UNIT
    height = (1 if points_up else -1) * side * sqrt(3) / 2
    left, tip, right = (-side / 2, height / 3), (0.0, -2 * height / 3), (side / 2, height / 3)
    return _arcs([left, tip, right] if points_up else [left, right, tip], side, sweep=0)


def _pieces(points_up: bool) -> list[str]:
    """The pictures of a piece on a space, numbered as in the view; the last shows no piece."""
    shape = f'<path d="{_triangle(points_up, _INSET)}"'
    pieces = [
        f'{shape} fill="url(#piece{player})" stroke="{edge}" stroke-width="1.5" '
        'stroke-linejoin="round"/>'
        for player, (_, _, edge) in enumerate(_PIECES)
    ]
    return [*pieces, *(piece + last_mark(shape) for piece in pieces), ""]


def _labels(name: str, points_up: bool) -> list[str]:
    """The name of a space on a light piece, on a dark one, and on none.

    Without a piece, the name leaves the middle free for the mark of a placement.
    """
    offset = -_LABEL_OFFSET if points_up else _LABEL_OFFSET
    empty = svg_text(0, offset, name, SMALL_TEXT, _EMPTY_LABEL)
    return [*(svg_text(0, 0, name, SMALL_TEXT, ink) for ink in _LABELS), empty]


def _no_entry() -> str:
    """A crossed-out circle between two pieces that must not be exchanged back."""
    return (
        f'<circle r="15" fill="{LIGHT}" stroke="{DARK}" stroke-width="4"/>'
        f'<path d="M-10.5 -10.5l21 21" stroke="{DARK}" stroke-width="4"/>'
    )


def _kind_sign(kind: int) -> str:
    """A sign for a kind of exchange: two spaces and an arrow between them."""
    side, height = 56.0, 28.0 * sqrt(3)
    if kind == BORDERING:  # base to base, the arrow across it
        above = f"M{-side / 2:g} 0h{side:g}L0 {-height:.1f}Z"
        below = f"M{-side / 2:g} 0h{side:g}L0 {height:.1f}Z"
        arrow = "M0 -22V22M-7 -14L0 -22L7 -14M-7 14L0 22L7 14"
    else:  # tip to tip, the arrow through it
        above = f"M0 0L{-side / 2:g} {-height:.1f}h{side:g}Z"
        below = f"M0 0L{-side / 2:g} {height:.1f}h{side:g}Z"
        arrow = "M0 -34V34M-7 -26L0 -34L7 -26M-7 26L0 34L7 26"
    spaces = "".join(
        f'<path d="{shape}" fill="{_PIECES[player][1]}" stroke="{_PIECES[player][2]}" '
        'stroke-width="2" stroke-linejoin="round"/>'
        for player, shape in enumerate((above, below))
    )
    lines = "".join(
        f'<path d="{arrow}" fill="none" stroke="{colour}" stroke-width="{width}" '
        'stroke-linecap="round" stroke-linejoin="round"/>'
        for colour, width in ((DARK, 8), (GOLD, 4))
    )
    return spaces + lines


def _stock() -> list[Slot]:
    """A slot for each piece that a player may have left to place, in a corner of the picture."""
    slots = []
    for player, (_, fill, edge) in enumerate(_PIECES):
        left, top = 18 + player * (WIDTH - 3 * 24 - 36), _BOTTOM - 100
        places = [(left + 24 * (k % 4), top + 28 * (k // 4)) for k in range(SPACES // 2)]
        piece = f'<path d="M-10 8h20l-10 -18Z" fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
        slots += slots_at(places, ["", piece])
    return slots


def _sample(player: int) -> str:
    """A player's piece, for the picture of their role."""
    return (
        f'<path d="M-24 16A48 48 0 0 0 0 -24A48 48 0 0 0 24 16A48 48 0 0 0 -24 16Z" '
        f'fill="url(#piece{player})" stroke="{_PIECES[player][2]}" stroke-width="2"/>'
    )


def _stud(player: int) -> str:
    """A crossed stud, for the middle of a circle that does not count for a player."""
    fill, _, edge = _PIECES[player]
    return (
        f'<circle r="14" fill="{fill}" stroke="{edge}" stroke-width="2"/>'
        f'<path d="M-8 -8l16 16m0 -16l-16 16" stroke="{(DARK, LIGHT)[player]}" '
        'stroke-width="3.4"/>'
    )
