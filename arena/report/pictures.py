"""Pictures of boards on the page: the heat map of first moves, and games to step through."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any
from zlib import crc32

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from ludarium.envs.engine.game import Game

from .charts import heat_marks, spot_radius

_MOST_CHARACTERS = 700_000  # limit for all games of a report; the first is always shown


def heat_map(game: Game, spots: np.ndarray, values: dict[int, float], fair_within: float) -> Markup:
    """The start of a game with the chance of player 0 after each first move, as SVG.

    Args:
        game: the rules.
        spots: see `Game.action_spots`.
        values: the chances by action.
        fair_within: how far from one half a fair move may be.
    """
    marks = heat_marks(spots, values, spot_radius(spots), fair_within)
    picture = _own_ids(game.start().svg(), f"{_name(game)}heat")
    return Markup(picture.replace("</svg>", f"{marks}</svg>"))


def replay_data(game: Game, report: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """The report's games for the page's replay script, and the distinct lines of their pictures.

    The first game that would exceed `_MOST_CHARACTERS`, and all after it, are left out; the first
    of the report is always there.
    """
    lines: dict[str, int] = {}
    replays: list[dict[str, Any]] = []
    characters = 0
    for replay in report["replays"]:
        more = dict(lines)
        shown = _replay(game, replay, more)
        characters += _characters(shown)
        if replays and characters + _characters(list(more)) > _MOST_CHARACTERS:
            break
        lines = more
        replays.append(shown)
    return replays, list(lines)


def _name(game: Game) -> str:
    """A name for a game with its options, which is put before the ids of its gradients."""
    return f"{game.name}{crc32(repr(game).encode()):x}"


def _replay(game: Game, replay: dict[str, Any], lines: dict[str, int]) -> dict[str, Any]:
    """A game with its pictures, whose new lines are added to ``lines``."""
    record = replay["record"]
    position = game.start(record["seed"])
    frames = [position.svg()]
    for action in replay["actions"]:
        before = position.copy()
        position.play(action)
        frames.append(position.svg(action, before))
    why = "; ".join(replay["why"])
    results = {(1, -1): "player_0 wins", (-1, 1): "player_1 wins"}
    return {
        "title": why[:1].upper() + why[1:],
        "result": results.get(tuple(record["result"]), "drawn"),
        "players": replay["players"],
        "moves": record["moves"],
        "chances": replay["player_0_chances"],
        "changes": packed([_own_ids(frame, _name(game)) for frame in frames], lines),
    }


def _characters(data: Any) -> int:
    """The space that data take on the page, in characters."""
    return len(htmlsafe_json_dumps(data, separators=(",", ":")))


def packed(frames: list[str], lines: dict[str, int]) -> list[list[list[Any]]]:
    """Each picture as its changes from the one before; a number stands for each distinct line.

    Args:
        frames: the pictures as SVG.
        lines: the number of each known line; new lines are added.

    Returns:
        For each picture its changes, from the last line to the first: index, how many lines are
        removed, the numbers of the new lines.
    """
    rows = [[lines.setdefault(line, len(lines)) for line in frame.split("\n")] for frame in frames]
    changes = []
    for before, after in zip([[], *rows], rows, strict=False):
        matcher = SequenceMatcher(None, before, after, autojunk=False)
        edits = [
            [start, stop - start, after[first:last]]
            for kind, start, stop, first, last in matcher.get_opcodes()
            if kind != "equal"
        ]
        changes.append(edits[::-1])
    return changes


def _own_ids(svg: str, name: str) -> str:
    """The picture with ``name`` before the ids of gradients, and as wide as its container."""
    svg = re.sub(r'id="(\w+)"', rf'id="{name}\1"', svg)
    svg = re.sub(r"url\(#(\w+)\)", rf"url(#{name}\1)", svg)
    return re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg, count=1)
