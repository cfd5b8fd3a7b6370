"""``--game-module`` and ``--network-module``: the user's own code, for all commands.

These are options rather than environment variables, so that a command itself shows what code it
runs, even when it is repeated to resume a run, or pasted into a report.
"""

from __future__ import annotations

import argparse
import inspect
import shlex
from collections.abc import Sequence
from types import ModuleType

from ludarium.base.messages import shortened
from ludarium.envs import Game, register_game
from ludarium.envs.plugins import import_own

_GAME, _NETWORK = "--game-module", "--network-module"

_taken: list[str] = []  # these options, as given in the command line of this process


def describe_modules(parser: argparse.ArgumentParser) -> None:
    """Add the options that `take_modules` reads; they may stand before or after the command."""
    parser.add_argument(
        _GAME,
        action="append",
        default=[],
        metavar="MODULE[:CLASS]",
        help="import a Python module, from Python's path or the current folder, and register its "
        "games; this runs its code (may be repeated)",
    )
    parser.add_argument(
        _NETWORK,
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="import a network of your own, so that a configuration or checkpoint may name it: "
        "mine:Net is Net in mine.py here; this runs its code (may be repeated)",
    )


def take_modules(arguments: Sequence[str]) -> list[str]:
    """Register the games and networks that the command line names; return the other arguments.

    Raises:
        ValueError: a module cannot be imported, or has no such game or network, or an option has no
            value.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    describe_modules(parser)
    try:
        given, others = parser.parse_known_args(list(arguments))
    except argparse.ArgumentError as error:
        raise ValueError(f"{error} (see ludarium --help)") from None
    for name in given.game_module:
        for game in find_games(_GAME, name):
            register_game(game)
    for name in given.network_module:
        _register_network(name)
    _taken[:] = [f"{_GAME}={name}" for name in given.game_module]
    _taken.extend(f"{_NETWORK}={name}" for name in given.network_module)
    return others


def program() -> str:
    """The beginning of a command that uses the same games and networks as this one."""
    return shlex.join(["ludarium", *_taken])


def find_games(option: str, name: str) -> list[type[Game]]:
    """The games of a module, or one of them.

    Args:
        option: what named the module, for messages, which begin with it.
        name: ``MODULE`` or ``MODULE:CLASS``.

    Raises:
        ValueError: the module cannot be imported, or has no such game.
    """
    path, colon, wanted = name.partition(":")
    module = _imported(option, name, path)
    kinds = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Game) and value is not Game
    ]
    games = [game_class for game_class in kinds if not inspect.isabstract(game_class)]
    found = [game for game in games if game.__name__ == wanted] if colon else games
    if not found:
        missing = f"no game {wanted!r}" if colon else "no game"
        names = ", ".join(map(_described, kinds)) or "none"
        file = getattr(module, "__file__", None)
        folder = "" if file else next(iter(module.__path__))
        where = file or f"{folder} has no __init__.py: if the package is in it, change to it"
        raise _refused(
            option, name, f"there is {missing} in it; subclasses of Game: {names} ({where})"
        )
    return found


def _described(game_class: type[Game]) -> str:
    missing = ", ".join(sorted(getattr(game_class, "__abstractmethods__", ())))
    return f"{game_class.__name__}, which lacks {missing}" if missing else game_class.__name__


def _register_network(name: str) -> None:
    """Register a network by its name, ``MODULE:CLASS``."""
    from ludarium.models import register_network  # torch is slow to import

    path, colon, wanted = name.partition(":")
    if not (colon and wanted):
        raise _refused(_NETWORK, name, "write MODULE:CLASS, such as mine:Net for Net in mine.py")
    module = _imported(_NETWORK, name, path)
    if not hasattr(module, wanted):
        raise _refused(_NETWORK, name, f"there is no {wanted!r} in it")
    register_network(name, getattr(module, wanted))


def _imported(option: str, name: str, path: str) -> ModuleType:
    """Import the module ``path``; errors quote ``name``."""
    try:
        return import_own(path)
    except ValueError as error:
        raise _refused(option, name, str(error)) from error


def _refused(option: str, name: str, reason: str) -> ValueError:
    return ValueError(f"{option} {shortened(name, 100)}: {shortened(reason, 400)}")
