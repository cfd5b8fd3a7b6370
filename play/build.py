"""Builds games as WebAssembly modules.

    python -m ludarium.play.build                         # every registered game
    python -m ludarium.play.build corso 'onyx?size=6'     # some, with options
    python -m ludarium.play.build --output page/modules --simulations 400 osiron

writes NAME.wasm and NAME.json, the manifest, which the module holds too. A module that is there and
is still that of the sources is left as it is. A game of your own that no installed package brings
is taken from a module: --game-module MODULE. It takes up to a minute a game, and the package
ziglang as a linker: pip install 'ludarium[wasm]'. docs/guide/wasm.md tells what to do with the
files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from ludarium.envs import GAMES, Game
from ludarium.envs.board.scene import describe_scene
from ludarium.envs.engine.messages import quoted
from ludarium.envs.registry import make_game
from ludarium.training.runs.files import write_file

from .wasm import Limits, Module, build_module, module_name, read_module, require_current

_KILOBYTE = 1000


def read_game(text: str) -> Game:
    """The game that a text such as ``onyx?size=6&max_plies=200`` means.

    Raises:
        ValueError: there is no such game or option, or the text is written in another way.
    """
    from ludarium.configs.loading import read_yaml  # needs the extra [train]

    name, _, settings = text.partition("?")
    options: dict[str, Any] = {}
    for setting in settings.split("&") if settings else []:
        option, equals, value = setting.partition("=")
        if not option or not equals:
            raise ValueError(f"{quoted(text)} is no game with options; write GAME?NAME=VALUE&...")
        options[option] = read_yaml(value, f"the value of {quoted(setting)}")
    return make_game(name, **options)


def write_module(folder: Path, game: Game, module: Module) -> Path:
    """Write a game's module, its manifest and its scene; returns the module's path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = module.manifest["name"]
    manifest = json.dumps(module.manifest, indent=1, ensure_ascii=False) + "\n"
    write_file(folder / f"{name}.json", manifest.encode())
    write_file(folder / f"{name}.scene.json", scene_content(game))
    write_file(folder / f"{name}.wasm", module.content)
    return folder / f"{name}.wasm"


def scene_content(game: Game) -> bytes:
    """The content of the file with a game's scene."""
    scene = json.dumps(describe_scene(game), ensure_ascii=False, separators=(",", ":"))
    return f"{scene}\n".encode()


def is_current(folder: Path, game: Game, limits: Limits) -> bool:
    """Whether a folder has a game's module, made from these sources and for these limits."""
    path = folder / f"{module_name(game)}.wasm"
    is_told = all(path.with_suffix(end).is_file() for end in (".json", ".scene.json"))
    return is_told and is_current_module(path, limits)


def is_current_module(path: Path, limits: Limits) -> bool:
    """Whether a file is a game's module, made from these sources and for these limits."""
    try:
        module = read_module(path)
        require_current(module.manifest)
    except (FileNotFoundError, ValueError):
        return False
    return bool(module.manifest["search"].get("limits") == asdict(limits))


def main(arguments: Sequence[str] | None = None) -> int:
    """Build modules; returns the exit status."""
    given = _parser().parse_args(arguments)
    try:
        for name in given.game_module:
            import_module(name)
        limits = Limits(given.simulations, given.max_considered, given.cache)
        for game in [read_game(text) for text in given.games or GAMES]:
            _build(given.output, game, limits, given.force)
    except (ValueError, OSError) as error:
        print(f"ludarium: {error}", file=sys.stderr)
        return 2
    return 0


def _build(folder: Path, game: Game, limits: Limits, force: bool) -> None:
    name = module_name(game)
    if not force and is_current(folder, game, limits):
        print(f"{name}: nothing has changed")
        return
    began = time.monotonic()
    print(f"{name}: compiling, up to a minute", flush=True)
    module = build_module(game, limits)
    path = write_module(folder, game, module)
    sizes = [len(module.content), len(gzip.compress(module.content))]
    plain, packed = (f"{size / _KILOBYTE:.0f} KB" for size in sizes)
    print(f"{path}: {plain}, {packed} with gzip, in {time.monotonic() - began:.0f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ludarium.play.build",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    limits = Limits()
    parser.add_argument(
        "games", nargs="*", metavar="GAME[?OPTION=VALUE&...]", help="default: every registered game"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/modules"),
        metavar="FOLDER",
        help="where the files go (default build/modules)",
    )
    parser.add_argument(
        "--simulations",
        type=int,
        default=limits.simulations,
        help=f"most simulations of a search (default {limits.simulations})",
    )
    parser.add_argument(
        "--max-considered",
        type=int,
        default=limits.max_considered,
        help=f"most root actions of a Gumbel search (default {limits.max_considered})",
    )
    parser.add_argument(
        "--cache",
        type=float,
        default=limits.cache,
        metavar="MEGABYTES",
        help=f"for the network's answers, which a search remembers (default {limits.cache:g})",
    )
    parser.add_argument("--force", action="store_true", help="build what has not changed too")
    parser.add_argument(
        "--game-module",
        action="append",
        default=[],
        metavar="MODULE",
        help="import this first: it registers games of your own",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
