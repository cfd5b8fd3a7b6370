"""``ludarium games``: list the games with their options."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from ludarium.envs.registry import GAMES
from ludarium.models import load_header
from ludarium.training.agents.checkpoints import selecting_options

from .arguments import add_json
from .common import options_as_text
from .result import Result

HELP = "list the games and their options"
DESCRIPTION = """\
List the games with their options, and the commands that play against the trained agents.

  ludarium games
  ludarium play onyx --option size=6      an option of a game, in every command that takes one
  ludarium agents                         the agents to play against"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Return the list of games."""
    data = [
        {
            "name": game.name,
            "version": game.version,
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
        for game in GAMES.values()
    ]
    lines = []
    for game in GAMES.values():
        credit = f" ({game.credit})" if game.credit else ""
        lines.append(f"{game.name}  {game.title}{credit}")
        if game.summary:
            lines.append(f"    {game.summary}")
        lines += [
            f"    --option {option.name}={option.default}  {option.help}; {option.describe()}"
            for option in game.option_list
        ]
        for path, options in selecting_options(game.name).items():
            told = "one for other options too" if load_header(path).variants else "trained agent"
            lines.append(f"    {told}: {play_command(game.name, options)}")
    return Result(data, "\n".join(lines))


def play_command(game: str, options: dict[str, Any]) -> str:
    """The command that plays against the shipped agent of a game with these options."""
    return shlex.join(["ludarium", "play", game, *options_as_text(options)])
