"""A game's picture as data: its parts, for any program that draws it.

The ``ground`` is always drawn, then the slots in their order: places at which shapes can be drawn.
A rule function ``show`` chooses the shapes, see `hooks`; so Python, and a page with the game's
WebAssembly module, draw the same from one source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from ..rule import DRAW, ONGOING, PLAYER_0_WINS, RESULTS, TRUNCATED
from ..views import ROLE
from .layers import LOOK, SYMBOLS, cell_spots, star
from .picture import (
    FAINT,
    FOOT,
    GOLD,
    HEAD,
    INK,
    LINE,
    PAPER,
    SMALL_TEXT,
    WIDE,
    WIDTH,
    fitted_text,
    moved,
    svg_document,
    svg_text,
)

if TYPE_CHECKING:
    from ..game import Game
    from ..position import Position


@dataclass(frozen=True)
class Slot:
    """A place in the picture, and the shapes that it can show.

    Attributes:
        x, y: the place, in user units.
        shapes: SVG elements about the origin; an empty text shows nothing.
        several: whether the slot can show several shapes at once. If so, the view writes a number
            in which bit ``k`` stands for shape ``k``, otherwise the number of the one shape.
    """

    x: float
    y: float
    shapes: Sequence[str]
    several: bool = False

    @property
    def choices(self) -> int:
        """How many numbers the view can write for the slot; they count from 0."""
        return 2 ** len(self.shapes) if self.several else len(self.shapes)

    def drawn(self, number: int) -> str:
        """The SVG of the slot when the view has written ``number``."""
        if not self.several:
            shapes = self.shapes[number]
        else:
            shapes = "".join(s for bit, s in enumerate(self.shapes) if number >> bit & 1)
        return moved(self.x, self.y, shapes) if shapes else ""


def slots_at(
    places: Iterable[tuple[float, float]], shapes: Sequence[str], several: bool = False
) -> list[Slot]:
    """A slot for each place, all with the same shapes."""
    return [Slot(x, y, shapes, several) for x, y in places]


@dataclass(frozen=True)
class Role:
    """A role that players can have in a game, such as the owner of the black stones.

    Attributes:
        words: a few words that describe it; empty for none.
        piece: SVG about the origin, within 26 units.
    """

    words: str
    piece: str


@dataclass(frozen=True)
class Handling:
    """How people take a piece in hand, turn it, and see in advance where it comes to rest.

    A preview of an action is the picture with some slots as they are after it. People move the
    piece to where these slots change, turn it and put it down.
    So a program needs to know nothing of how pieces lie, stand or fall.

    Attributes:
        next_pose: the rule function that says how a piece lies after a turn or a flip.
        piece: what people call a piece, such as ``block``.
        poses: the ways in which a piece can lie, in a few words each.
        pose_of: int[num_actions], the pose of the piece that an action puts down; -1 for an action
            that puts nothing down.
        slots: the slots that a preview draws as they are after the action.
        drawings: for each way in which the board is drawn, such as from above, the slots that
            people point at, with x and y. They point at the middle of those that an action changes.
        stands: left, top, width and height of the parts of the picture where pieces come to rest.
        told: what slots say of an action before it is played, as pairs: int[num_actions], the
            slot, -1 for none; and a text for each of its choices, empty for nothing.
    """

    next_pose: Callable
    piece: str
    poses: Sequence[str]
    pose_of: np.ndarray
    slots: Sequence[int]
    drawings: Sequence[Mapping[int, tuple[float, float]]]
    stands: Sequence[tuple[float, float, float, float]]
    told: Sequence[tuple[np.ndarray, Sequence[str]]] = ()


@dataclass(frozen=True)
class Diagram:
    """A start that people agree on: an option whose value has one letter for each place.

    A program that has the game with some diagram can play any other.

    Attributes:
        set_up: the rule function that writes the start.
        option: name of the option.
        letters: two letters; the value has as many of each.
        names: what lies on a place with each letter, such as ``light``.
        places: name of each place.
        spots: float[places, 2], x and y of the places in the picture, in order.
        start: the letters at the start of the game with its options; empty if there is none yet.
    """

    set_up: Callable
    option: str
    letters: str
    names: tuple[str, str]
    places: Sequence[str]
    spots: np.ndarray
    start: str


@dataclass(frozen=True)
class Row:
    """A row of the picture in words, for people who do not see it.

    Attributes:
        name: what people call it, such as ``rank 5``.
        places: name of each of its places, with the number of its slot.
        words: what each choice of these slots says; an empty text says nothing.
    """

    name: str
    places: Sequence[tuple[str, int]]
    words: Sequence[str]


@dataclass(frozen=True)
class Aside:
    """The lower part of a tall picture, which a program with a wide window may put at the right.

    Attributes:
        top: the y at which it begins, in user units; all slots with this y or more belong to it.
        ground: SVG elements that are always there.
    """

    top: float
    ground: Sequence[str]


def ranks(names: Sequence[str], words: Sequence[str], first: int = 0) -> list[Row]:
    """The ranks of a board in words, the highest first; a place has a name such as ``c5``.

    Args:
        names: names of the places, in the order of their slots.
        words: what each choice of a slot says.
        first: number of the first slot.
    """
    rows: dict[int, list[tuple[str, int]]] = {}
    for slot, name in enumerate(names, first):
        rows.setdefault(int(name.split()[0].lstrip(ascii_lowercase)), []).append((name, slot))
    return [Row(f"rank {rank}", rows[rank], words) for rank in sorted(rows, reverse=True)]


@dataclass(frozen=True)
class Scene:
    """What the picture of a game is made of.

    Attributes:
        bottom: where the board ends, in user units; it begins at `HEAD`, and is `WIDTH` wide.
        ground: SVG elements that are always there.
        slots: the places at which shapes can be shown, in the order in which they are drawn.
        roles: the roles by number.
        show: the rule function that writes the shapes of the slots; None for the planes of the
            observation, which the default scene shows.
        role: the rule function that gives a player's role, if players may swap roles.
        note: a few words below the board; empty for none.
        ends: float[num_actions, 2, 2], x and y of two things that each action joins, such as the
            pieces that it exchanges, for programs in which a person points at one and then at
            the other; or None.
        handling: how pieces are taken in hand and put down, for such programs; or None.
        diagram: how people set up a start of their own, in games that have that; or None.
        rows: the position in words; empty if nobody has written them.
        aside: the lower part of a tall picture; or None.
    """

    bottom: float
    ground: Sequence[str]
    slots: Sequence[Slot]
    roles: Sequence[Role]
    show: Callable | None
    role: Callable | None = None
    note: str = ""
    ends: np.ndarray | None = None
    handling: Handling | None = None
    diagram: Diagram | None = None
    rows: Sequence[Row] = ()
    aside: Aside | None = None


def scene_document(position: Position, last_action: int | None, before: Position | None) -> str:
    """The picture of a position, as for `Position.svg`: players, board, a line on the last action.

    Raises:
        ValueError: see `Position.slots`.
    """
    game, scene = position.game, position.game.drawn_scene
    slots = position.slots(last_action, before).tolist()
    drawn = [slot.drawn(number) for slot, number in zip(scene.slots, slots, strict=True)]
    height = scene.bottom + FOOT
    elements = [f'<rect width="{WIDTH:g}" height="{height:g}" fill="{PAPER}"/>']
    for player, number in enumerate(position.facts()[ROLE : ROLE + 2]):
        elements += _side(position, player, scene.roles[number])
    beside = () if scene.aside is None else scene.aside.ground
    elements += [*scene.ground, *beside, *filter(None, drawn)]
    line = scene.bottom + FOOT / 2
    told = "" if last_action is None else _last_ply(position, last_action, before)
    # Both get smaller where they must; the note has room for half of the line at least.
    told_width, note_width = (WIDE * SMALL_TEXT * len(text) for text in (told, scene.note))
    note_room = max(WIDTH - 40 - told_width, WIDTH / 2 - 20)
    told_room = WIDTH - 40 - min(note_width, note_room)
    elements.append(fitted_text(16, line, told, SMALL_TEXT, INK, told_room, "start"))
    elements.append(fitted_text(WIDTH - 16, line, scene.note, SMALL_TEXT, FAINT, note_room, "end"))
    return svg_document(WIDTH, height, game.title, elements, position.standing())


def _side(position: Position, player: int, role: Role) -> list[str]:
    """A player's panel: piece, name, role and points, and what there is to do, or the result."""
    width, height = WIDTH / 2 - 12, HEAD - 16
    left = 8 + player * (width + 8)
    outcome, points = position.outcome, position.points
    acts = outcome == ONGOING and position.mover == player
    won = outcome == PLAYER_0_WINS + player
    border = f'stroke="{INK}" stroke-width="4"' if acts or won else f'stroke="{LINE}"'
    fill = GOLD if won else "#ffffff" if acts else "none"
    tally = "" if points is None else str(points[player])
    room = width - 84 - 0.6 * 44 * len(tally)
    if outcome == ONGOING:
        doing = f"to {position.to_do()}" if acts else ""
    elif outcome in (DRAW, TRUNCATED):
        doing = RESULTS[outcome]
    else:
        doing = "has won" if won else ""
    name = f"player_{player}" + (f", {role.words}" if role.words else "")
    elements = [
        f'<rect x="{left:g}" y="8" width="{width:g}" height="{height:g}" rx="10" fill="{fill}" '
        f"{border}/>",
        f'<g transform="translate({left + 38:g} {8 + height / 2:g})">{role.piece}</g>',
        fitted_text(left + 74, 34, name, 26, INK, room, "start"),
        svg_text(left + width - 12, 8 + height / 2, tally, 44, INK, "end"),
    ]
    if doing:
        indent = 30 if acts or won else 0
        elements.append(fitted_text(left + 74 + indent, 70, doing, 24, INK, room - indent, "start"))
        if acts:
            elements.append(f'<path d="M{left + 76:g} 58l20 12l-20 12z" fill="{INK}"/>')
        if won:
            elements.append(moved(left + 86, 70, f'<path d="{star(14)}" fill="{INK}"/>'))
    return elements


def _last_ply(position: Position, action: int, before: Position | None) -> str:
    """The last action in words; by whom, if the position before it is known."""
    if before is None:
        return f"ply {position.ply}: {position.game.action_names[action]}"
    return f"ply {position.ply}: player_{before.mover} {before.action_to_text(action)}"


def describe_scene(game: Game) -> dict[str, Any]:
    """The scene and the texts of a game with its options, as JSON values, for other programs.

    Returns:
        - ``box``: left, top, width and height of the board in user units;
        - ``ground``: SVG that is always there;
        - ``shapes``: pieces of SVG; ``kinds``: the kinds of slots, each with the numbers of the
            ``shapes`` that it can show, and ``several`` as a `Slot` has it; ``slots``: x, y and the
            number of the kind of each;
        - ``roles``: ``words`` and ``piece`` of each;
        - ``note``, ``words``, ``tasks``, ``reasons``, ``has_points``: of the `Scene` or the `Game`;
        - ``spots``: x and y of each action on the board, null where it has no place;
        - ``ends``: the two places that each action joins, or null;
        - ``clock``: where the game is played with its `Clock`: ``name``, ``seconds``, ``task``, and
            the number of its ``action``; or null;
        - ``handling``: a `Handling`, or null; the slots are runs, first and last; drawings are
            lists of slot, x and y;
        - ``diagram``: a `Diagram`, or null;
        - ``rows``: each `Row`, with the slots of its ``places`` as ``[name, slot]``;
        - ``cells``: x and y of each cell of the board, null where it has no place; ``has_owners``;
        - ``layers``: how layers are drawn: ``symbols``, see `layers.SYMBOLS`, and the entries of
            `layers.LOOK`;
        - ``aside``: the ``top`` and the ``ground`` of an `Aside`; absent without one.
    """
    scene = game.drawn_scene
    kinds: dict[tuple[tuple[str, ...], bool], int] = {}
    slots = [
        [round(slot.x, 2), round(slot.y, 2)]
        + [kinds.setdefault((tuple(slot.shapes), slot.several), len(kinds))]
        for slot in scene.slots
    ]
    shapes = list(dict.fromkeys(shape for each, _ in kinds for shape in each))
    number = {shape: place for place, shape in enumerate(shapes)}
    spots, clock, diagram = game.action_spots(), game.running_clock, scene.diagram
    return {
        "box": [0, HEAD, WIDTH, scene.bottom - HEAD],
        "ground": "".join(scene.ground),
        "shapes": shapes,
        "kinds": [
            {"shapes": [number[shape] for shape in each], "several": several}
            for each, several in kinds
        ],
        "slots": slots,
        "roles": [{"words": role.words, "piece": role.piece} for role in scene.roles],
        "note": scene.note,
        "words": list(game.words),
        "tasks": list(game.tasks),
        "reasons": list(game.reasons),
        "has_points": game.has_points,
        "spots": [None] * game.num_actions if spots is None else _spots(spots),
        "ends": None if scene.ends is None else scene.ends.round(1).tolist(),
        "clock": None
        if clock is None
        else {
            "name": clock.name,
            "seconds": clock.seconds,
            "task": clock.task,
            "action": list(game.action_names).index(clock.action),
        },
        "handling": None if scene.handling is None else _describe_handling(scene.handling),
        "diagram": None
        if diagram is None
        else {
            "option": diagram.option,
            "letters": diagram.letters,
            "names": list(diagram.names),
            "places": diagram.places,
            "spots": diagram.spots.round(1).tolist(),
            "start": diagram.start,
        },
        "rows": [asdict(row) for row in scene.rows],
        "cells": _spots(cell_spots(game)),
        "has_owners": game.has_owners,
        "layers": {"symbols": SYMBOLS, **LOOK},
        **(
            {}
            if scene.aside is None
            else {"aside": {"top": scene.aside.top, "ground": "".join(scene.aside.ground)}}
        ),
    }


def _describe_handling(handling: Handling) -> dict[str, Any]:
    return {
        "piece": handling.piece,
        "poses": list(handling.poses),
        "pose_of": handling.pose_of.tolist(),
        "slots": _runs(sorted(handling.slots)),
        "drawings": [
            [[slot, round(x, 1), round(y, 1)] for slot, (x, y) in drawing.items()]
            for drawing in handling.drawings
        ],
        "stands": [list(stand) for stand in handling.stands],
        "told": [[slots.tolist(), list(texts)] for slots, texts in handling.told],
    }


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """The runs of consecutive numbers among ascending ones: first and last of each."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _spots(places: np.ndarray) -> list[list[float] | None]:
    return [None if np.isnan(x) else [round(x, 1), round(y, 1)] for x, y in places.tolist()]
