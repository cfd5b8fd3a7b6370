"""What the page teaches of a game: the rules in short, a picture, a guided first game.

All of it is data, in a file ``lesson.json`` beside the game's ``board.py``; a game of one's own may
have one too. The learner is ``player_0``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludarium.base.files import MEGABYTE, read_json_file
from ludarium.envs import Game
from ludarium.envs.engine.draw.scene import describe_scene

_MARGIN = 60.0  # a shape may reach so far above its slot


@dataclass(frozen=True)
class Step:
    """A move of the learner, with what the page says of it and claims that tests check.

    Attributes:
        do: what to try, and why.
        move: the move, as text.
        told: what has happened; ``{0}`` and ``{1}`` are the players' points after it.
        replies: moves of both players that follow, up to the next step.
        events: all events that `Game.events` counts in the move.
        refused: texts of actions that are not legal before the move.
        points: the points after the move, in a game that has them.
        winner: the winner after the move, in a game without points.
    """

    do: str
    move: str
    told: str
    events: dict[str, int]
    replies: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    points: list[int] | None = None
    winner: int | None = None


@dataclass(frozen=True)
class Lesson:
    """The content of a ``lesson.json``.

    Attributes:
        goal, move, end: one or two sentences each: what one wants, what a move is, how it ends.
        marks: what the marks on the board mean, after the small circles of legal moves.
        picture: moves that lead to the position of the picture.
        steps: the guided game; empty for none.
        options: options of the guided game and of the picture.
    """

    goal: str
    move: str
    end: str
    picture: list[str]
    steps: list[Step]
    options: dict[str, Any] = field(default_factory=dict)
    marks: str = ""


def read_lesson(game: Game) -> Lesson | None:
    """The lesson of a game; None without one.

    Raises:
        ValueError: the file is damaged, or lacks a key; the message names it.
    """
    path = Path(inspect.getfile(type(game))).with_name("lesson.json")
    if not path.is_file():
        return None
    lesson: Lesson = read_json_file(path, MEGABYTE, f"the lesson of {game.title}", Lesson)
    return lesson


def small_picture(game: Game, moves: list[str]) -> str:
    """The board after moves as an SVG, without players; of a tall board the upper square.

    Raises:
        ValueError: a move is malformed or not legal.
    """
    position, action, before = game.played(moves)
    scene = describe_scene(game)
    slots = position.slots(action, before).tolist()
    left, top, width, height = scene["box"]
    end = top + min(width, height)
    used, drawn = set(), []
    for (x, y, kind), number in zip(scene["slots"], slots, strict=True):
        if y > end + _MARGIN:
            continue
        of_kind = scene["kinds"][kind]
        bits = [bit for bit in range(len(of_kind["shapes"])) if number >> bit & 1]
        for choice in bits if of_kind["several"] else [number]:
            shape = of_kind["shapes"][choice]
            if scene["shapes"][shape]:
                used.add(shape)
                drawn.append(f'<use href="#s{shape}" x="{x:g}" y="{y:g}"/>')
    shapes = "".join(f'<g id="s{each}">{scene["shapes"][each]}</g>' for each in sorted(used))
    ground = scene["ground"] + scene.get("aside", {}).get("ground", "")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
        f'viewBox="{left:g} {top:g} {width:g} {end - top:g}">'
        f"<defs>{shapes}</defs>{ground}{''.join(drawn)}</svg>\n"
    )
