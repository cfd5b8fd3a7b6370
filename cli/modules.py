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
        _register_games(name)
    for name in given.network_module:
        _register_network(name)
    _taken[:] = [f"{_GAME}={name}" for name in given.game_module]
    _taken.extend(f"{_NETWORK}={name}" for name in given.network_module)
    return others


def program() -> str:
    """The beginning of a command that uses the same games and networks as this one."""
    return shlex.join(["ludarium", *_taken])


def _register_games(name: str) -> None:
    """Register the games of a module, ``MODULE``, or one of them, ``MODULE:CLASS``."""
    path, colon, wanted = name.partition(":")
    module = _imported(_GAME, name, path)
    found = _games_in(module)
    games = [game for game in found if game.__name__ == wanted] if colon else found
    if not games:
        missing = f"no game {wanted!r}" if colon else "no game"
        names = ", ".join(game.__name__ for game in found) or "none"
        file = getattr(module, "__file__", None) or "no file"
        raise _refused(
            _GAME, name, f"there is {missing} in it; subclasses of Game: {names} ({file})"
        )
    for game in games:
        register_game(game)


def _games_in(module: ModuleType) -> list[type[Game]]:
    """A module's games: its subclasses of Game that are not abstract, imported ones included."""
    return [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Game) and not inspect.isabstract(value)
    ]


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
