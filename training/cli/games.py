"""``ludarium games``: what there is to play, with options."""

from __future__ import annotations

import argparse

from rich.console import Console

from ludarium.envs.registry import GAMES

from .common import add_json, print_json, shipped_agent


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
                    "trained_agent": shipped_agent(game.name) is not None,
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
        agent = ", with a trained agent" if shipped_agent(game.name) else ""
        console.print(f"[bold]{game.name}[/]  {game.title} ({game.credit}){agent}")
        console.print(f"    {game.summary}")
        for option in game.option_list:
            console.print(
                f"    --option {option.name}={option.default}  {option.help}; {option.describe()}"
            )
    return 0
