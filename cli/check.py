"""``ludarium check``: what is wrong with a game."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_check import check_game
from ludarium.envs.engine.options import UnknownOptionError
from ludarium.envs.registry import GAMES, find_game

from .arguments import add_json, add_options, add_seed, read_positive
from .common import read_options
from .modules import find_games
from .result import Result

HELP = "find what is wrong with a game of your own"
DESCRIPTION = """\
Play random games of your own game, and print what is wrong with it: rules that read or write beyond
a field, positions without a legal action, planes that are not written, symmetries that do not hold,
and so on. Rules run as plain Python; at the end compiled code plays some of the games again.
Nobody but you can tell whether the rules are the right ones: compare them with a slow and obvious
program, as the test that `ludarium new` writes does.

  ludarium check noughts                     the games of noughts/ or noughts.py in this folder
  ludarium check noughts:Noughts --option size=5     a class of it, with an option
  ludarium check noughts --games 5           a first look, if there are thousands of actions
  ludarium check noughts --json              for programs: findings of each game

The exit status is 0 if nothing is wrong, 1 if something is, 2 if there is no such module, game or
option. Where nothing is compiled, as with LUDARIUM_CODE=plain, a line says that compiled code was
not compared."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "module",
        metavar="MODULE[:CLASS]",
        help="a Python module, from Python's path or the current folder, or the name of a game; "
        "this runs its code",
    )
    add_options(parser)
    parser.add_argument(
        "--games",
        type=read_positive,
        default=50,
        metavar="N",
        help="random games to play (default %(default)s)",
    )
    add_seed(parser, "seed of the random games", 0)
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Check the games.

    Raises:
        ValueError: there is no such module, game or option, or the game refuses an option's value.
    """
    name, options = given.module, read_options(given.option)
    kinds = [find_game(name)] if name in GAMES else find_games("check", name)
    data: list[dict[str, Any]] = [
        {
            "game": getattr(game_class, "name", None),
            "class": f"{game_class.__module__}:{game_class.__qualname__}",
            "file": getattr(sys.modules[game_class.__module__], "__file__", None),
            "options": options,
            "games": given.games,
            "seed": given.seed,
            "findings": _findings(game_class, options, given.games, given.seed),
        }
        for game_class in kinds
    ]
    lines = []
    for checked in data:
        found = checked["findings"]
        count = f"{len(found) or 'no'} finding{'s' * (len(found) != 1)}"
        where = f" ({checked['file']})" if checked["file"] else ""
        games = f"{given.games} game{'s' * (given.games != 1)}"
        lines.append(f"{checked['game'] or checked['class']}{where}: {count} in {games}")
        lines += [f"  {finding}" for finding in found]
    return Result(data, "\n".join(lines), int(any(checked["findings"] for checked in data)))


def _findings(game_class: type[Game], options: dict[str, Any], games: int, seed: int) -> list[str]:
    """What is wrong with a game; a class that cannot be made is such a finding.

    Raises:
        ValueError: the game has no such option, or an option is given and it cannot be made.
    """
    try:
        game = game_class(**options)
    except Exception as error:  # a stranger's game may raise anything
        if isinstance(error, UnknownOptionError) or (options and isinstance(error, ValueError)):
            raise  # the user's mistake
        return [f"it cannot be made: {error}"]
    return check_game(game, games, seed)
