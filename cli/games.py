"""``ludarium games``: what there is to play, with options."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from ludarium.envs.registry import GAMES, make_game
from ludarium.training.agents.checkpoints import shipped_agents

from .common import add_json, print_json


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "games", help="list the games and their options", description="List the games."
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Print the list."""
    if given.json:
        print_json(
            [
                {
                    "name": game.name,
                    "version": game.version,
                    "title": game.title,
                    "summary": game.summary,
                    "credit": game.credit,
                    "trained_agents": _trained(game.name),
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
        )
        return 0
    console = Console(highlight=False)
    for game in GAMES.values():
        console.print(f"[bold]{game.name}[/]  {game.title} ({game.credit})")
        console.print(f"    {game.summary}")
        for option in game.option_list:
            console.print(
                f"    --option {option.name}={option.default}  {option.help}; {option.describe()}"
            )
        for options in _trained(game.name):
            given_options = "".join(f" --option {key}={value}" for key, value in options.items())
            console.print(f"    trained agent: ludarium play {game.name}{given_options}")
    return 0


def _trained(name: str) -> list[dict[str, Any]]:
    """For each trained agent of a game, the options that are not the usual ones."""
    from ludarium.models import checkpoint_options

    usual = make_game(name).options
    return [
        {key: value for key, value in checkpoint_options(path).items() if value != usual[key]}
        for path in shipped_agents(name)
    ]
