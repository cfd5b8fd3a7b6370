"""``--game-module``: use games from a Python module that is not an installed package.

This is an option and not an environment variable, so that a command line shows what code it runs,
also when it is repeated to resume a run or pasted into a report.
"""

from __future__ import annotations

import argparse
import inspect
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from ludarium.envs import Game, register_game

_taken: list[str] = []  # modules that the command line of this process names


def describe_game_modules(parser: argparse.ArgumentParser) -> None:
    """Add ``--game-module`` to the help; `take_game_modules` parses it anywhere on the line."""
    parser.add_argument(
        "--game-module",
        action="append",
        default=[],
        metavar="MODULE[:CLASS]",
        help="import a Python module, also from the current folder, and take its games in (may be "
        "repeated); it runs the module's code",
    )


def take_game_modules(arguments: Sequence[str]) -> list[str]:
    """Register the games of the modules on the command line; return the other arguments.

    Raises:
        ValueError: a module cannot be imported, or has no such game.
    """
    parser = argparse.ArgumentParser(prog="ludarium", add_help=False, allow_abbrev=False)
    describe_game_modules(parser)
    given, others = parser.parse_known_args(list(arguments))
    for name in given.game_module:
        register_module(name)
    _taken[:] = given.game_module
    return others


def program() -> str:
    """The beginning of a command line that registers the same games as this one."""
    return shlex.join(["ludarium", *(f"--game-module={name}" for name in _taken)])


def register_module(name: str) -> None:
    """Register the games of a module, ``MODULE``, or one of them, ``MODULE:CLASS``.

    Raises:
        ValueError: it cannot be imported, or has no such game.
    """
    path, colon, wanted = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # the current folder, which a script installed elsewhere lacks
    try:
        module = import_module(path)
    except Exception as error:  # a user's module may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"--game-module {name}: cannot be imported ({reason[:200]})") from error
    games = _games_in(module)
    if colon:
        games = [game for game in games if game.__name__ == wanted]
    if not games:
        missing = f"no game {wanted!r}" if colon else "no game"
        raise ValueError(f"--game-module {name}: there is {missing}, no subclass of Game, in it")
    for game in games:
        register_game(game)


def _games_in(module: ModuleType) -> list[type[Game]]:
    """The classes in a module that can be played."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Game) and not inspect.isabstract(value)
    ]
