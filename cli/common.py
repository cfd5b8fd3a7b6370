"""What several commands share: game options, agents by name, output as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, make_game, make_stored_game
from ludarium.training.agents import Agent, make_agent
from ludarium.training.agents.checkpoints import checkpoint_path


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="results as JSON on standard output; progress goes to standard error",
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--option``, for the rules of a game."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the game, such as size=6 (may be repeated; see `ludarium games`)",
    )


def read_options(texts: list[str]) -> dict[str, Any]:
    """Options of a game from ``name=value`` texts; values are read as YAML."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"{text!r} is no option: write NAME=VALUE, such as size=6")
        try:
            options[name] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ValueError(f"the value of {text!r} cannot be read: {error}") from None
    return options


def print_json(data: Any) -> None:
    """Write results for programs."""
    json.dump(data, sys.stdout, indent=2)
    print()


def game_and_agent(
    name: str, options: dict[str, Any], simulations: int, game_name: str | None = None
) -> tuple[Game, Agent]:
    """A game, and the agent that ``name`` stands for.

    Args:
        name: a checkpoint file, a run's folder, or the name of a game that has a shipped
            agent; with ``game_name`` any agent that `make_agent` knows.
        options: of the game; those of a checkpoint are its own unless given.
        simulations: for each move of a network.
        game_name: the game of an agent that is no checkpoint.

    Raises:
        ValueError, FileNotFoundError: there is no such agent, or it does not fit the options.
    """
    if game_name is not None and name not in GAMES and not Path(name).exists():
        game = make_game(game_name, **options)
        return game, make_agent(name, game)
    from ludarium.models import load_checkpoint
    from ludarium.training.agents.network import NetworkAgent

    path = checkpoint_path(name, options)
    label = name if name in GAMES else Path(name).resolve().name.removesuffix(".safetensors")
    checkpoint = load_checkpoint(path)
    game = make_stored_game(checkpoint.game, checkpoint.options, **options)
    agent = NetworkAgent.from_checkpoint(checkpoint, game, simulations, f"{label}:{simulations}")
    return game, agent
