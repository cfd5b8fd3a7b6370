"""Draws the packages of the project and the data between them: ``python docs/tools/rooms.py``."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).resolve().parents[1] / "img" / "rooms.svg"
WIDTH, HEIGHT = 800, 840
STYLE = """
text { font: 15px sans-serif; text-anchor: middle; fill: #23282b }
.room { fill: #e6ecef; stroke: none }
.room-name { font-weight: bold; text-anchor: start; fill: #455a64 }
.part { fill: #fff; stroke: #78909c; stroke-width: 1.5 }
.small { font-size: 13px; fill: #546e7a }
.flow { fill: none; stroke: #bf5b17; stroke-width: 2; marker-end: url(#tip) }
.what { font-size: 13px; fill: #9c4a12; stroke: #e6ecef; stroke-width: 4; paint-order: stroke }
"""


class Box(NamedTuple):
    """A rectangle with a name and a description."""

    left: int
    top: int
    width: int
    height: int
    name: str
    what: str = ""


class Flow(NamedTuple):
    """An arrow along points, with a text centred at one place."""

    points: str
    text: str
    place: tuple[int, int]


ROOMS = (
    Box(10, 10, 780, 130, "envs"),
    Box(10, 160, 500, 380, "training"),
    Box(530, 160, 260, 380, "models"),
    Box(10, 560, 240, 110, "analysis"),
    Box(270, 560, 240, 110, "arena"),
    Box(530, 560, 260, 110, "play"),
    Box(10, 690, 500, 60, "language"),
    Box(530, 690, 260, 60, "configs"),
    Box(10, 770, 780, 60, "cli"),
)
PARTS = (
    Box(30, 45, 200, 70, "envs/GAME/rules.py", "the rules, written once"),
    Box(300, 45, 200, 70, "envs/engine", "positions, planes, masks"),
    Box(570, 45, 200, 70, "envs/*.py", "PettingZoo, Gymnasium, batch"),
    Box(30, 200, 200, 60, "alphazero: self-play", "games against itself"),
    Box(300, 200, 190, 60, "search", "tree search, batched"),
    Box(550, 200, 220, 60, "network, kernels", "torch; compiled, without torch"),
    Box(30, 310, 200, 60, "alphazero: replay", "the latest positions"),
    Box(30, 420, 200, 60, "alphazero, ppo: learner", "gradient steps"),
    Box(550, 420, 220, 60, "checkpoint", "agent.safetensors"),
    Box(300, 460, 190, 60, "agents, evaluation", "players by name, matches"),
    Box(30, 595, 200, 60, "values of positions", "thoughts, exact solutions"),
    Box(290, 595, 200, 60, "many games", "tournaments, levels, reports"),
    Box(550, 595, 220, 60, "the page, in WebAssembly", "rules, search, network: a move"),
)
FLOWS = (
    Flow("230,80 295,80", "compiled", (263, 72)),
    Flow("500,80 565,80", "", (0, 0)),
    Flow("390,115 390,195", "positions", (390, 150)),
    Flow("300,230 235,230", "moves", (266, 222)),
    Flow("490,218 545,218", "planes", (520, 210)),
    Flow("550,244 495,244", "values", (520, 264)),
    Flow("130,260 130,305", "samples", (130, 288)),
    Flow("130,370 130,415", "batches", (130, 398)),
    Flow("230,440 545,440", "weights", (266, 432)),
    Flow("660,420 660,265", "loaded", (660, 345)),
    Flow("365,260 365,455", "best move, values", (365, 345)),
    Flow("550,490 495,490", "by name", (522, 510)),
    Flow("330,520 130,590", "agents", (235, 556)),
    Flow("395,520 395,590", "agents", (395, 556)),
    Flow("660,480 660,590", "network", (660, 545)),
)


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'


def _rectangle(box: Box, kind: str) -> str:
    return (
        f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="6" '
        f'class="{kind}"/>'
    )


def draw() -> str:
    """The picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style>",
        '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 10,5 0,10z" fill="#bf5b17"/></marker>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for room in ROOMS:
        parts += [
            _rectangle(room, "room"),
            _text(room.left + 12, room.top + 22, "room-name", f"{room.name}/"),
        ]
    for part in PARTS:
        middle = part.left + part.width / 2
        parts += [
            _rectangle(part, "part"),
            _text(middle, part.top + part.height / 2 - 5, "", part.name),
            _text(middle, part.top + part.height / 2 + 16, "small", part.what),
        ]
    parts += [f'<polyline points="{flow.points}" class="flow"/>' for flow in FLOWS]
    parts += [_text(*flow.place, "what", flow.text) for flow in FLOWS if flow.text]
    parts += [
        _text(260, 730, "", "games as text, and models that play them"),
        _text(400, 810, "", "a module for each command: train, evaluate, play, ..."),
        _text(660, 730, "", "one YAML for each training"),
    ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8", newline="\n")
