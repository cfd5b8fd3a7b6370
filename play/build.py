"""Builds games as WebAssembly modules.

    python -m ludarium.play.build                         # every registered game
    python -m ludarium.play.build corso 'onyx?size=6'     # some, with options
    python -m ludarium.play.build --output page/modules --simulations 400 osiron

writes NAME.wasm; NAME.scene.json; and NAME.network if a shipped agent fits. What was made before
from the same sources comes from the built page or the user's cache folder. A game of your own that
no installed package registers comes from a module: --game-module MODULE. A game takes up to a
minute. The linker is the package ziglang: pip install 'ludarium[wasm]'.
The guide's page "Games outside Python" explains how to use the files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ludarium.base.console import output, say
from ludarium.base.messages import quoted
from ludarium.base.progress_bar import progress_bar
from ludarium.base.storage import write_whole
from ludarium.envs import GAMES, Game
from ludarium.envs.engine.draw.scene import describe_scene
from ludarium.envs.registry import make_game

from .parts import module_part, network_part
from .variants import Variant
from .wasm import Limits, module_name


def read_game(text: str) -> Game:
    """The game in a text such as ``onyx?size=6&max_plies=200``.

    Raises:
        ValueError: there is no such game or option, or the text has another form.
    """
    from ludarium.configs.loading import read_yaml

    name, _, settings = text.partition("?")
    options: dict[str, Any] = {}
    for setting in settings.split("&") if settings else []:
        option, equals, value = setting.partition("=")
        if not option or not equals:
            raise ValueError(
                f"{quoted(text)} is not a game with options; write GAME?NAME=VALUE&..."
            )
        options[option] = read_yaml(value, f"the value of {quoted(setting)}")
    return make_game(name, **options)


def write_module(folder: Path, game: Game, content: bytes) -> Path:
    """Write a game's module and its scene; return the module's path.

    Raises:
        OSError: a file cannot be written.
    """
    name = module_name(game)
    write_whole(folder / f"{name}.scene.json", scene_content(game))
    write_whole(folder / f"{name}.wasm", content)
    return folder / f"{name}.wasm"


def scene_content(game: Game) -> bytes:
    """The content of the file for a game's scene."""
    scene = json.dumps(describe_scene(game), ensure_ascii=False, separators=(",", ":"))
    return f"{scene}\n".encode()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build modules; return the exit status, 2 for a user's error or a linker that is missing."""
    given = _parser().parse_args(arguments)
    try:
        for name in given.game_module:
            import_module(name)
        limits = Limits(given.simulations, given.max_considered, given.cache)
        for game in [read_game(text) for text in given.games or GAMES]:
            _build(given.output, game, limits)
    except (ValueError, OSError, ImportError) as error:
        say(f"ludarium: {error}")
        return 2
    return 0


def _build(folder: Path, game: Game, limits: Limits) -> None:
    began = time.monotonic()
    with progress_bar() as progress:
        content = module_part(game, limits).content(progress)
        path = write_module(folder, game, content)
        network = network_part(Variant.of(game))
        if network is not None:
            write_whole(path.with_suffix(".network"), network.content(progress))
    plain, packed = (f"{size / 1e3:.0f} KB" for size in (len(content), len(gzip.compress(content))))
    output(f"{path}: {plain}, {packed} with gzip, in {time.monotonic() - began:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ludarium.play.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add, limits = parser.add_argument, Limits()
    add("games", nargs="*", metavar="GAME[?OPTION=VALUE&...]", help="default: all")
    where = "folder of the files: %(default)s"
    add("--output", type=Path, default="build/modules", metavar="FOLDER", help=where)
    most = "most simulations of a search: %(default)s"
    add("--simulations", type=int, default=limits.simulations, help=most)
    considered = "most root actions of a Gumbel search, 16 to 1000: %(default)s"
    add("--max-considered", type=int, default=limits.max_considered, help=considered)
    remembered = "size of a search's cache of the network's answers: %(default)s"
    add("--cache", type=float, default=limits.cache, metavar="MEGABYTES", help=remembered)
    of_own = "module to import first, which registers games of your own"
    add("--game-module", action="append", default=[], metavar="MODULE", help=of_own)
    return parser


if __name__ == "__main__":
    sys.exit(main())
