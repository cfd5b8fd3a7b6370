"""A game's picture as data: what it is made of, for any program that draws it.

What stays is the ``ground``. On it lie slots, one after the other, and each shows one of its
choices, which are pieces of SVG. Which one is up to the function ``show`` of the game's view, see
`Game`; so Python, and a page with the game's WebAssembly module, draw the same from one source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.views import ROLE
from .picture import HEAD, WIDTH, game_document

if TYPE_CHECKING:
    from ..engine.game import Game


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
class Scene:
    """What the picture of a game is made of.

    Attributes:
        bottom: where the board ends, in user units; it begins at `HEAD`, and is `WIDTH` wide.
        ground: SVG elements that are always there.
        slots: the SVG that each slot can show, by number; an empty text shows nothing.
        roles: by number, see ``role`` of a game's view.
        note: a few words below the board, or none.
        ends: float[num_actions, 2, 2], x and y of two things that each action joins, such as the
            pieces that it exchanges, for programs in which a person points at one and then at
            the other; or None.
    """

    bottom: float
    ground: Sequence[str]
    slots: Sequence[Sequence[str]]
    roles: Sequence[Role]
    note: str = ""
    ends: np.ndarray | None = None


def scene_document(
    game: Game, state: np.record, last_action: int | None, before: np.record | None
) -> str:
    """The picture of a position, as for `Game.svg`."""
    scene = game.drawn_scene
    shown = game.shown(state, last_action, before).tolist()
    chosen = [choices[number] for choices, number in zip(scene.slots, shown, strict=True)]
    roles = [scene.roles[number] for number in game.facts(state)[ROLE : ROLE + 2]]
    return game_document(
        *(game, state, [*scene.ground, *filter(None, chosen)], scene.bottom),
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
        - ``choices`` and ``slots``: for each slot, the places in ``choices`` of what it can show;
        - ``roles``: ``words`` and ``piece`` of each;
        - ``note``, ``words``, ``tasks``, ``has_points``: as a `Scene` and a `Game` have them;
        - ``spots``: x and y of each action on the board, null where it has no place;
        - ``ends``: the two places that each action joins, or null.
    """
    scene = game.drawn_scene
    choices: dict[str, int] = {}
    slots = [[choices.setdefault(text, len(choices)) for text in each] for each in scene.slots]
    spots = game.action_spots()
    places = [] if spots is None else spots.tolist()
    return {
        "box": [0, HEAD, WIDTH, scene.bottom - HEAD],
        "ground": "".join(scene.ground),
        "choices": list(choices),
        "slots": slots,
        "roles": [{"words": role.words, "piece": role.piece} for role in scene.roles],
        "note": scene.note,
        "words": list(game.words),
        "tasks": list(game.tasks),
        "has_points": game.has_points,
        "spots": [None if np.isnan(x) else [round(x, 1), round(y, 1)] for x, y in places]
        or [None] * game.num_actions,
        "ends": None if scene.ends is None else scene.ends.round(1).tolist(),
    }
