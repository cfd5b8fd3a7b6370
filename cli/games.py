"""``ludarium games``: list the games with their options, or explain one."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from ludarium.arena.ladder import ladder_beside
from ludarium.envs.engine.game import Game
from ludarium.envs.making import gymnasium_id
from ludarium.envs.registry import GAMES, find_game
from ludarium.models import load_header
from ludarium.training.agents.checkpoints import selecting_options

from .arguments import add_json
from .common import options_as_text
from .result import Result

HELP = "list the games and their options, or explain one"
DESCRIPTION = """\
List the games with their options, and the commands that play against the trained agents. Of one
game also: its rules in short, the commands that list levels, and the ids of its environments.

  ludarium games
  ludarium games osiron
  ludarium play onyx --option size=6      an option of a game, in every command that takes one
  ludarium agents                         the agents to play against"""

_FOR_OTHERS = " for other options too (with ludarium[compile], where no machine code came along)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", nargs="?", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Return the list of games."""
    games = list(GAMES.values()) if given.game is None else [find_game(given.game)]
    data = [
        {
            "name": game.name,
            "version": game.version,
            "gymnasium": gymnasium_id(game.name, game.version),
            "title": game.title,
            "summary": game.summary,
            "credit": game.credit,
            "trained_agents": [
                {"options": options, "command": play_command(game.name, options)}
                for options in selecting_options(game.name).values()
            ],
            "options": [
                {
                    "name": option.name,
                    "default": option.default,
                    "accepted": option.describe(),
                    "help": option.help,
                }
                for option in game.option_list
            ],
        }
        for game in games
    ]
    lines = []
    for game in games:
        credit = f" ({game.credit})" if game.credit else ""
        lines.append(f"{game.name}  {game.title}{credit}")
        if game.summary:
            lines.append(f"    {game.summary}")
        lines += [
            f"    --option {option.name}={option.default}  {option.help}; {option.describe()}"
            for option in game.option_list
        ]
        for path, options in selecting_options(game.name).items():
            told = "trained agent" + _FOR_OTHERS * bool(load_header(path).variants)
            lines.append(f"    {told}: {play_command(game.name, options)}")
    if given.game is not None:
        lines += _more(games[0])
    return Result(data, "\n".join(lines))


def _more(game: type[Game]) -> list[str]:
    """What is told of a single game only: levels, ids and rules."""
    lines = [
        f"    levels: {shlex.join(['ludarium', 'levels', game.name, *options_as_text(options)])}"
        for path, options in selecting_options(game.name).items()
        if ladder_beside(path).is_file()
    ]
    ids = gymnasium_id(game.name, game.version), f"{game.name}_v{game.version}"
    lines.append(f"    gymnasium.make({ids[0]!r}), from ludarium.envs import {ids[1]} (PettingZoo)")
    return [*lines, "", game().rules_text()]


def play_command(game: str, options: dict[str, Any]) -> str:
    """The command that plays against the shipped agent of a game with these options."""
    return shlex.join(["ludarium", "play", game, *options_as_text(options)])
