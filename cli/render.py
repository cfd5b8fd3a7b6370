"""``ludarium render``: pictures and animations of recorded games."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.base.console import output
from ludarium.base.progress import Progress
from ludarium.base.storage import write_whole
from ludarium.envs.engine.draw.film import contact_sheet, gif
from ludarium.envs.engine.draw.layers import HEATS, LAYERS
from ludarium.envs.engine.draw.picture import png, size_of, with_result
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import RecordedGame
from ludarium.envs.registry import make_game

from .arguments import add_options, add_position, output_file, read_count, read_seconds
from .common import AGENTS_HELP, game_and_agent, read_options, read_record
from .progress import shown_progress

_SUFFIXES = (".svg", ".png", ".gif")
_WIDEST = 4000  # largest width of one picture, in pixels
_COLUMNS, _SECONDS = 4, 1.0
_MOST_PICTURES = 400
_MOST_PIXELS_IN_ALL = 400_000_000
_LAST_SECONDS = 3.0  # the last picture of an animation stays at least this long

HELP = "draw a recorded game: a picture, a contact sheet, an animation"
DESCRIPTION = f"""\
Draw a recorded game.

  ludarium render game.json --output game.png             the end of the game
  ludarium render game.json --output game.svg --ply 12    after 12 plies
  ludarium render game.json --output game.gif             an animation of all plies
  ludarium render game.json --output game.png --every 4   a contact sheet: every fourth ply
  ludarium render game.json --output game.png --ply 12 --layer legal
  ludarium render game.json --output game.gif --layer policy --layer values --agent corso
  ludarium render --game corso --position "5/2O2/1X3/5/5 0" --output position.svg

RECORD is the file of a game record. It comes from `save` in `ludarium play --terminal` or from the
page, or holds `env.unwrapped.to_record()` as JSON. With --game it may hold a plain list of moves
instead, such as "c3 b2 c3!"; see the guide's page "Game records".

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "record",
        metavar="RECORD",
        nargs="?",
        help="the file of a game record, or of a plain list of moves",
    )
    parser.add_argument(
        "--game", metavar="GAME", help="the game of a position, or of a plain list of moves"
    )
    add_position(parser, "the position to draw, or at which a plain list of moves begins")
    add_options(parser)
    parser.add_argument(
        "--output",
        required=True,
        type=output_file(*_SUFFIXES),
        metavar="FILE",
        help=f"file to write; its ending selects the format: {', '.join(_SUFFIXES)}",
    )
    parser.add_argument(
        "--ply",
        type=read_count,
        metavar="N",
        help="draw the position after N plies (default: the last one)",
    )
    parser.add_argument(
        "--every",
        type=read_count,
        nargs="?",
        const=1,
        metavar="K",
        help="draw every K-th ply (1 without K) and the last, in a contact sheet or an animation",
    )
    parser.add_argument(
        "--width",
        type=read_count,
        default=800,
        help="greatest width of one picture in pixels, for .png and .gif (default %(default)s)",
    )
    parser.add_argument(
        "--columns", type=read_count, help=f"columns of a contact sheet (default {_COLUMNS})"
    )
    parser.add_argument(
        "--seconds", type=read_seconds, help=f"seconds for each ply of a GIF (default {_SECONDS:g})"
    )
    parser.add_argument(
        "--layer",
        action="append",
        default=[],
        choices=tuple(LAYERS),
        help="a layer to draw on the board (may be repeated); "
        f"{', '.join(HEATS)} come from --agent's search",
    )
    parser.add_argument(
        "--agent", metavar="AGENT", help=f"the agent whose search fills {', '.join(HEATS)}"
    )
    parser.add_argument(
        "--simulations",
        type=read_count,
        default=64,
        help="simulations for each position of a trained agent whose name sets neither them nor a "
        "time (default %(default)s)",
    )


def run(given: argparse.Namespace) -> int:
    """Draw a game."""
    target = given.output
    _check(given, target)
    options = read_options(given.option)
    game, seed, start, actions, forfeit = _read(given, options)
    plies = _plies(given, target, len(actions))
    agent = None
    if given.agent is not None:
        _, agent = game_and_agent(given.agent, dict(game.options), given.simulations, game.name)
    position = game.start(seed, start)
    pictures: dict[int, str] = {}
    before, last = None, None
    with shown_progress() as progress:
        progress.begin("drawing", len(plies))
        for ply in range(max(plies) + 1):
            if ply in plies:
                layers = _layers(given.layer, position, agent)
                pictures[ply] = position.svg(last, before, layers)
                if forfeit is not None and ply == len(actions):
                    pictures[ply] = with_result(pictures[ply], forfeit.told(game))
                progress.advance()
            if ply < max(plies):
                before, last = position.copy(), actions[ply]
                position.play(last)
        drawn = list(pictures.values())
        progress.begin("writing", len(drawn))
        content = _content(given, target, drawn, game.title, progress)
    write_whole(target, content)
    output(f"{target}: {len(drawn)} of {len(actions) + 1} positions, {len(content):,} bytes")
    return 0


def _read(given: argparse.Namespace, options: dict[str, Any]) -> RecordedGame:
    """The game to draw, as `read_record` gives it; a position alone is a game without moves."""
    if given.record is not None:
        return read_record(given.record, given.game, options, start=given.position)[0]
    if given.game is None or given.position is None:
        raise ValueError("name the file of a RECORD, or give --game GAME and --position TEXT")
    return RecordedGame(make_game(given.game, **options), 0, given.position)


def _check(given: argparse.Namespace, target: Path) -> None:
    """Refuse impossible requests before anything is read or searched; fill in defaults."""
    is_gif = target.suffix.lower() == ".gif"
    if given.columns is not None and (given.every is None or is_gif):
        raise ValueError("--columns needs a contact sheet: give --every too, and a .svg or .png")
    if given.seconds is not None and not is_gif:
        raise ValueError("--seconds needs an animation: name a .gif")
    given.columns = _COLUMNS if given.columns is None else given.columns
    given.seconds = _SECONDS if given.seconds is None else given.seconds
    if not 16 <= given.width <= _WIDEST:
        raise ValueError(f"--width is {given.width}; accepted: 16 to {_WIDEST} pixels")
    if not 0.02 <= given.seconds <= 600:
        raise ValueError(f"--seconds is {given.seconds:g}; accepted: 0.02 to 600")
    if given.columns < 1 or (given.every is not None and given.every < 1):
        raise ValueError("--columns and --every take a positive number")
    if given.ply is not None and (given.every is not None or is_gif):
        raise ValueError("--ply draws one position; leave it out for a GIF, or with --every")
    searched = [name for name in given.layer if name in HEATS]
    if searched and given.agent is None:
        raise ValueError(
            f"the layer {searched[0]} comes from a search: name the agent with --agent"
        )
    if given.agent is not None and not searched:
        raise ValueError(f"--agent fills {', '.join(HEATS)}: ask for one with --layer")


def _plies(given: argparse.Namespace, target: Path, played: int) -> set[int]:
    """The plies after which the game is drawn."""
    if target.suffix.lower() != ".gif" and given.every is None:
        ply = played if given.ply is None else given.ply
        if not 0 <= ply <= played:
            raise ValueError(f"--ply is {ply}, but the game has {played} plies: 0 to {played}")
        return {ply}
    plies = {*range(0, played + 1, given.every or 1), played}
    if len(plies) > _MOST_PICTURES:
        least = -(-played // (_MOST_PICTURES - 2))
        raise ValueError(
            f"{len(plies)} pictures are too many; --every {least} draws at most {_MOST_PICTURES}"
        )
    return plies


def _layers(names: list[str], position: Position, agent: Any) -> dict[str, Any]:
    """The requested layers; those of a search are left out at the end of a game.

    Raises:
        ValueError: the agent's search does not give such a layer.
    """
    searched = [name for name in names if name in HEATS]
    layers: dict[str, Any] = {name: None for name in names if name not in searched}
    if not searched or position.is_over:
        return layers
    if not getattr(agent, "searches", False):
        raise ValueError(f"this --agent does not search, so it has no layer {searched[0]}")
    found = agent.search(position.states)
    if "visits" in searched and not found.visits.any():
        raise ValueError("this --agent's search counts no visits")
    if "values" in searched and np.isnan(found.action_values).all():
        raise ValueError("this --agent's search gives no values of actions")
    arrays = {
        "policy": found.policies[0],
        "visits": found.visits[0],
        "values": np.clip(found.action_values[0], -1, 1),
    }
    return layers | {name: arrays[name] for name in searched}


def _content(
    given: argparse.Namespace, target: Path, pictures: list[str], title: str, progress: Progress
) -> bytes:
    """The content of the file."""
    suffix = target.suffix.lower()
    if suffix != ".svg":
        sizes = [size_of(picture) for picture in pictures]
        pixels = sum(given.width**2 * height / width for width, height in sizes)
        if pixels > _MOST_PIXELS_IN_ALL:
            raise ValueError(
                f"{len(pictures)} pictures of {given.width} pixels in width are too much for one "
                "file; write a smaller --width, or --every K for fewer of them"
            )
    if suffix == ".gif":
        last = max(_LAST_SECONDS, given.seconds)
        return gif(pictures, given.width, given.seconds, last, progress)
    svg, width = pictures[0], given.width
    if given.every is not None:
        svg = contact_sheet(pictures, given.columns, title)
        width = min(width * min(given.columns, len(pictures)), 2 * _WIDEST)
    return svg.encode() if suffix == ".svg" else png(svg, width)
