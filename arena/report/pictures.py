"""Pictures of boards on the page: the heat map of first moves, and games to step through."""

from __future__ import annotations

import json
import re
from difflib import SequenceMatcher
from html import escape
from typing import Any
from zlib import crc32

import numpy as np

from ludarium.envs.engine.game import Game

from .charts import diverging, heat_marks, ink_on, spot_radius
from .summary import percent


def heat_map(game: Game, spots: np.ndarray, values: dict[int, float], fair_within: float) -> str:
    """The start of a game with the chance of player 0 after each first move.

    Args:
        game: the rules.
        spots: see `Game.action_spots`.
        values: the chances by action.
        fair_within: how far from one half a fair move may be.
    """
    marks = heat_marks(spots, values, spot_radius(spots[list(values)]), fair_within)
    picture = _own_ids(game.svg(game.start().state), f"{_name(game)}heat")
    drawing = picture.replace("</svg>", f"{marks}</svg>")
    scale = "".join(
        f'<span style="background:{diverging(share)};color:{ink_on(share)}">{percent(share)}</span>'
        for share in (0.1, 0.3, 0.5, 0.7, 0.9)
    )
    words = "for player_0; fair moves have a ring"
    return f'<div class="board">{drawing}</div><p class="scale">{scale} {words}</p>'


def steppers(game: Game, report: dict[str, Any]) -> str:
    """The report's games, to step through by the page's script; their pictures share lines."""
    lines: dict[str, int] = {}
    figures = "".join(_stepper(game, replay, lines) for replay in report["replays"])
    pictures = f'<script type="application/json" class="lines">{_json(list(lines))}</script>'
    note = "<noscript><p>The games are shown by a script.</p></noscript>"
    return f'<div class="replays">{note}{figures}{pictures}</div>'


def _name(game: Game) -> str:
    """A name for a game with its options, for ids: those of pictures on one page must differ."""
    return f"{game.name}{crc32(repr(game).encode()):x}"


def _stepper(game: Game, replay: dict[str, Any], lines: dict[str, int]) -> str:
    """A game to step through by the script; its pictures' lines are added to ``lines``."""
    position = game.start(replay["record"]["seed"])
    frames = [game.svg(position.state)]
    for action in replay["actions"]:
        position.play(action)
        frames.append(game.svg(position.state, action))
    moves = replay["record"]["moves"]
    data = _json(
        {
            "changes": packed([_own_ids(frame, _name(game)) for frame in frames], lines),
            "moves": moves,
            "chances": replay["player_0_chances"],
        }
    )
    result = {(1, -1): "player_0 wins", (-1, 1): "player_1 wins"}.get(
        tuple(replay["record"]["result"]), "drawn"
    )
    why = "; ".join(replay["why"])
    return (
        '<figure class="replay"><figcaption>'
        f"<b>{escape(why[:1].upper() + why[1:])}.</b> "
        f"{len(moves)} plies, {result} ({escape(replay['players'])} against itself)</figcaption>"
        '<div class="board"></div>'
        '<div class="controls">'
        '<button type="button" data-step="first" aria-label="first position">&#171;</button>'
        '<button type="button" data-step="-1" aria-label="one ply back">&#8249;</button>'
        f'<input type="range" min="0" max="{len(moves)}" value="{len(moves)}" aria-label="ply"/>'
        '<button type="button" data-step="1" aria-label="one ply on">&#8250;</button>'
        '<button type="button" data-step="last" aria-label="last position">&#187;</button></div>'
        '<p class="now" aria-live="polite"></p>'
        f'<details><summary>moves</summary><p class="moves">{escape(" ".join(moves))}</p></details>'
        f'<script type="application/json">{data}</script></figure>'
    )


def packed(frames: list[str], lines: dict[str, int]) -> list[list[list[Any]]]:
    """Pictures as numbers of their different lines, each by its changes from the one before.

    Returns:
        For each picture the changes: where, how many lines go, the numbers of those that come.
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
    """The picture with ids that no other picture of the page has, and as wide as its place."""
    svg = re.sub(r'id="(\w+)"', rf'id="{name}\1"', svg)
    svg = re.sub(r"url\(#(\w+)\)", rf"url(#{name}\1)", svg)
    return re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", svg, count=1)


def _json(data: Any) -> str:
    """JSON that neither HTML nor XML takes for anything else."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
