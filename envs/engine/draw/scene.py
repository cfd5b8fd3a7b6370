"""A game's picture as data: what it is made of, for any program that draws it.

What stays is the ``ground``. On it lie slots, one after the other: places at which shapes can be
drawn. Which ones are is up to the function ``show`` of the game's view, see `Game`; so Python, and
a page with the game's WebAssembly module, draw the same from one source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..views import ROLE
from .layers import SYMBOLS, cell_spots
from .picture import HEAD, WIDTH, game_document, moved

if TYPE_CHECKING:
    from ..game import Game


@dataclass(frozen=True)
class Slot:
    """A place in the picture, and the shapes that it can show.

    Attributes:
        x, y: the place, in user units.
        shapes: SVG elements about the origin; an empty text shows nothing.
        several: whether the slot can show several shapes at once. The view writes the number of
            the one shape, or else a number in which bit ``k`` stands for shape ``k``.
    """

    x: float
    y: float
    shapes: Sequence[str]
    several: bool = False

    @property
    def choices(self) -> int:
        """How many numbers the view can write for the slot, from 0 on."""
        return 2 ** len(self.shapes) if self.several else len(self.shapes)

    def drawn(self, number: int) -> str:
        """The SVG of what the slot shows by the number that the view has written."""
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
    """What a player may be in a game, such as the owner of the black stones.

    Attributes:
        words: a few words on it, or none.
        piece: SVG about the origin, within 26 units.
    """

    words: str
    piece: str


@dataclass(frozen=True)
class Handling:
    """How people take a piece in hand, turn it, and see beforehand where it comes to rest.

    A preview of an action is the picture with some slots as they are after it. People move the
    piece to where these slots change, turn it (``next_pose`` of the game's view) and put it down.
    So a program needs to know nothing of how pieces lie, stand or fall.

    Attributes:
        piece: what people call a piece, such as ``block``.
        poses: the ways in which a piece can lie, in a few words each.
        pose_of: int[num_actions], how the piece lies that an action puts down; -1 for an action
            that puts nothing down.
        slots: what a preview draws as it is after the action.
        drawings: of each drawing of the place, the slots that people point at, and their x and y.
            One points at the middle of those that the action changes.
        stands: left, top, width and height of the parts of the picture where pieces come to rest.
        told: what slots tell of an action before it is played: int[num_actions], the slot, -1 for
            none; and a text for each choice, or none.
    """

    piece: str
    poses: Sequence[str]
    pose_of: np.ndarray
    slots: Sequence[int]
    drawings: Sequence[Mapping[int, tuple[float, float]]]
    stands: Sequence[tuple[float, float, float, float]]
    told: Sequence[tuple[np.ndarray, Sequence[str]]] = ()


@dataclass(frozen=True)
class Diagram:
    """A start that people agree on: an option whose value has a letter for each place.

    The function ``set_up`` of the game's rules writes it, so a program that has the game with some
    diagram can play any other.

    Attributes:
        option: name of the option.
        letters: two, as many places having each.
        names: what a place has that has the letter, such as ``light``.
        places: what each place is called.
        spots: float[places, 2], x and y of the places in the picture, in order.
        start: the letters at the start of the game with its options; empty if there is none yet.
    """

    option: str
    letters: str
    names: tuple[str, str]
    places: Sequence[str]
    spots: np.ndarray
    start: str


@dataclass(frozen=True)
class Scene:
    """What the picture of a game is made of.

    Attributes:
        bottom: where the board ends, in user units; it begins at `HEAD`, and is `WIDTH` wide.
        ground: SVG elements that are always there.
        slots: the places at which shapes can be shown, in the order in which they are drawn.
        roles: by number, see ``role`` of a game's view.
        note: a few words below the board, or none.
        ends: float[num_actions, 2, 2], x and y of two things that each action joins, such as the
            pieces that it exchanges, for programs in which a person points at one and then at
            the other; or None.
        handling: how pieces are taken in hand and put down, for such programs; or None.
        diagram: how people set up a start of their own, in games that have that; or None.
    """

    bottom: float
    ground: Sequence[str]
    slots: Sequence[Slot]
    roles: Sequence[Role]
    note: str = ""
    ends: np.ndarray | None = None
    handling: Handling | None = None
    diagram: Diagram | None = None


def scene_document(
    game: Game, state: np.record, last_action: int | None, before: np.record | None
) -> str:
    """The picture of a position, as for `Game.svg`."""
    scene = game.drawn_scene
    shown = game.shown(state, last_action, before).tolist()
    drawn = [slot.drawn(number) for slot, number in zip(scene.slots, shown, strict=True)]
    roles = [scene.roles[number] for number in game.facts(state)[ROLE : ROLE + 2]]
    return game_document(
        *(game, state, [*scene.ground, *filter(None, drawn)], scene.bottom),
        pieces=(roles[0].piece, roles[1].piece),
        roles=(roles[0].words, roles[1].words),
        last_action=last_action,
        before=before,
        note=scene.note,
    )


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
            lists of slot, x and y.
        - ``diagram``: a `Diagram`, or null;
        - ``cells``: x and y of each cell of the board, null where it has no place; ``has_owners``;
        - ``symbols``: marks of layers, see `layers.SYMBOLS`.
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
    spots = game.action_spots()
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
        "clock": _describe_clock(game),
        "handling": None if scene.handling is None else _describe_handling(scene.handling),
        "diagram": None if scene.diagram is None else _describe_diagram(scene.diagram),
        "cells": _spots(cell_spots(game)),
        "has_owners": game.has_owners,
        "symbols": SYMBOLS,
    }


def _describe_clock(game: Game) -> dict[str, Any] | None:
    clock = game.running_clock
    if clock is None:
        return None
    action = list(game.action_names).index(clock.action)
    return {
        "name": clock.name,
        "seconds": clock.seconds,
        "task": clock.task,
        "action": action,
    }


def _describe_diagram(diagram: Diagram) -> dict[str, Any]:
    return {
        "option": diagram.option,
        "letters": diagram.letters,
        "names": list(diagram.names),
        "places": list(diagram.places),
        "spots": diagram.spots.round(1).tolist(),
        "start": diagram.start,
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
    """Whole numbers that rise, as first and last of each run without a gap."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def _spots(places: np.ndarray) -> list[list[float] | None]:
    return [None if np.isnan(x) else [round(x, 1), round(y, 1)] for x, y in places.tolist()]
