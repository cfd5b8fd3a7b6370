"""``ludarium code``: compile a game beforehand; show or empty the cache of machine code."""

from __future__ import annotations

import argparse
from collections import Counter

from ludarium.arena.units import units_of
from ludarium.base.console import say
from ludarium.base.progress import SILENT
from ludarium.base.threads import available_cores, run_tasks
from ludarium.envs import GAMES, Game
from ludarium.envs.engine.check import compile_error
from ludarium.envs.registry import make_game
from ludarium.machine import cache
from ludarium.machine.compiler import CompileError, NoCompilerError, end_children
from ludarium.machine.unit import places
from ludarium.models.kernels import network_units

from .arguments import add_json, add_options
from .common import read_options
from .result import Result

HELP = "compile a game beforehand; show or empty the cache of machine code"
DESCRIPTION = """\
Compile all that a game uses, so that nothing waits for it later: environments, agents, search,
self-play, matches, analyses, and networks. Code that the package has, or the cache, is not made
again.

  ludarium code corso --option size=6   compile a game, on all cores
  ludarium code                         what the cache holds, and its size
  ludarium code --clear                 empty it

Compiling needs numba. The cache is the folder "code" in the user's cache folder, or
LUDARIUM_CODE_FOLDER. When code is added, files that the list has under the same name are removed
if nobody used them for three days."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", nargs="?", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument("--clear", action="store_true", help="empty the cache")
    add_options(parser)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Compile a game, or show or empty the cache."""
    if given.game is not None:
        if given.clear:
            raise ValueError("--clear empties the whole cache: leave out the game")
        return _compile(make_game(given.game, **read_options(given.option)))
    if given.option:
        raise ValueError("--option is for a game: name one")
    kept = cache.kept()
    size = sum(kept.values())
    if given.clear:
        cache.clear()
        return Result(
            {"removed": len(kept), "bytes": size},
            f"{_told(len(kept), size)} removed from {_where()}",
        )
    files, sizes = Counter[str](), Counter[str]()
    for file, length in kept.items():
        name = file.stem.rpartition("-")[0]
        files[name] += 1
        sizes[name] += length
    data = {
        "folder": _where(),
        "bytes": size,
        "code": [{"name": name, "files": files[name], "bytes": sizes[name]} for name in files],
    }
    lines = [f"{name}: {_told(files[name], sizes[name])}" for name in files]
    return Result(data, "\n".join([*lines, f"{_told(len(kept), size)} in {_where()}"]))


def _compile(game: Game) -> Result:
    if "own" not in places():
        raise ValueError("nothing can be compiled here: run without LUDARIUM_CODE")
    units = [*units_of(game), *network_units().values()]
    finished: list[str] = []

    def prepare(_: int, number: int) -> None:
        unit = units[number]
        unit.prepare()
        finished.append(unit.name)
        say(f"{unit.title}, {len(finished)} of {len(units)}")

    try:
        run_tasks(prepare, len(units), available_cores(), SILENT.part(on_stop=end_children))
    except CompileError as error:
        raise compile_error(game, error) from None
    except NoCompilerError as error:
        raise ValueError(f"{game} cannot be compiled: {error}") from None
    data = {"game": game.name, "options": game.options, "units": sorted(finished)}
    return Result(data, f"{game}: all code is ready, {len(units)} units")


def _told(files: int, size: int) -> str:
    return f"{files} file{'s' * (files != 1)}, {size / 1e6:.1f} MB"


def _where() -> str:
    return str(cache.folder() or "no folder: there is no home")
