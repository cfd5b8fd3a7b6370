"""The parts that several commands share: options of games, agents by name, records."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from ludarium.base.messages import named, quoted
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.record import RecordedGame, check_record, read_record_file
from ludarium.envs.registry import GAMES, find_game, make_game
from ludarium.models import load_header
from ludarium.training.agents import Agent, make_agent, read_agent
from ludarium.training.agents.checkpoints import fitting_agent, shipped_agent, shipped_agents
from ludarium.training.agents.names import forms
from ludarium.training.networks import learnt_options

_WORDS = {"true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[-+]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d{1,18}\.\d{0,18}", re.ASCII)


#: The agent for games that no shipped agent can play.
FALLBACK = "uct:1000"

#: Part of the help of commands that take any agent by name.
AGENTS_HELP = fill(
    f"An AGENT is one of: {forms()}. GAME is a game's shipped agent, PATH a checkpoint or a run's "
    "folder. Examples: uct:1000, corso:128, corso?simulations=128&temperature=0.1, corso?time=1s, "
    "which thinks a second about each move, level:1 and up, level:hard, level:auto, which adapts, "
    "endgame:corso, which searches late positions to the end. See `ludarium agents`.",
    width=99,
    break_on_hyphens=False,
)


def read_options(texts: list[str]) -> dict[str, Any]:
    """Parse options of a game from ``name=value`` texts.

    A value is an integer, a number with a point, true, false or null, or else text.

    Raises:
        ValueError: a text has no name or no equals sign.
    """
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"{quoted(text)} is not an option: write NAME=VALUE, such as size=6")
        options[name] = _read_value(value.strip())
    return options


def _read_value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


def options_as_text(options: dict[str, Any]) -> list[str]:
    """Options as arguments of a command line: each as ``--option NAME=VALUE``."""
    values = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in options.items()
    }
    return [text for name, value in values.items() for text in ("--option", f"{name}={value}")]


def read_record(
    file: str,
    name: str | None = None,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    start: str | None = None,
) -> tuple[RecordedGame, dict[str, Any]]:
    """Read a game from a file: a record, or a plain list of moves if the game is known.

    Args:
        file: path of the file.
        name: the game that the file must be of; None accepts every game, and no plain list.
        options: options of the game, for a plain list; a record must agree with them.
        seed, start: seed of the start, or the text of a position that it began at, for a plain
            list.

    Returns:
        The game, and the whole record.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file has neither a record nor legal moves; its game or options are not those
            given, or it began elsewhere than ``start``; or the game has no such options.
    """
    plain = None if name is None else make_game(name, **(options or {}))
    record = read_record_file(file, plain, seed, start)
    what = f"the game record in {named(file)}"
    played = check_record(record, GAMES, what)
    game = played.game
    if plain is not None and game.name != name:
        raise ValueError(f"{named(file)} is a game of {game.name}, not of {name}")
    if options and game != plain:
        raise ValueError(
            f"{named(file)} is a game of {game}: a record has its own options, leave out --option"
        )
    if start is not None and played.start != start:
        raise ValueError(f"{named(file)} says itself where its game began: leave out --position")
    return played, record


def play_moves(position: Position, text: str) -> list[int]:
    """Play the moves of ``--moves``; return their action numbers.

    Raises:
        ValueError: a move is malformed or illegal; the message has its number.
    """
    try:
        return position.play_moves(text)
    except ValueError as error:
        raise ValueError(f"--moves: {error}") from None


def game_and_agent(
    name: str, options: dict[str, Any], simulations: int | None, game_name: str | None = None
) -> tuple[Game, Agent]:
    """Make an agent by name, and the game that it plays.

    Args:
        name: the agent's name, as for `make_agent`.
        options: options of the game; a trained agent brings its own for those that are missing.
        simulations: simulations per move, for a trained agent whose name sets neither a number nor
            a time.
        game_name: the game, for agents that play any game; a trained agent must have learnt it.

    Raises:
        ValueError, FileNotFoundError: there is no such agent, or it does not fit the game.
        ImportError: the agent needs a package that is not installed.
    """
    spec = read_agent(name).with_simulations(simulations)
    game = game_of([name], options, game_name)
    return game, spec.make(game)


def agent_for(
    name: str, agent: str | None, options: dict[str, Any], simulations: int | None = None
) -> tuple[Game, Agent, list[str]]:
    """A game, and the agent of that name; None means the shipped agent, or `FALLBACK`.

    Args:
        name: the game's name.
        agent: the agent's name, as for `make_agent`; None for the shipped agent.
        options: the game's options.
        simulations: simulations per move, for a trained agent whose name sets neither a number nor
            a time.

    Returns:
        The game, the agent, and notes on the choice for the user.

    Raises:
        ValueError, FileNotFoundError, ImportError: see `game_and_agent`.
    """
    find_game(name)
    if agent is not None:
        return *game_and_agent(agent, options, simulations, name), []
    reason, notes = why_untrained(name, options)
    if not reason:
        return *game_and_agent(name, options, simulations), notes
    game = make_game(name, **options)
    return game, make_agent(FALLBACK, game), [f"{reason}: {FALLBACK} plays instead"]


def game_to_play(name: str, opponent: str | None, options: dict[str, Any]) -> Game:
    """The game of ``ludarium play``, on the page and in the terminal.

    If ``name`` is an agent's, it is that agent's game. Else it is the game ``name``. Options that
    are missing are those of a trained agent: of ``opponent`` if it is trained; of the shipped agent
    if there is no ``opponent`` and it fits ``options``, or if ``opponent`` is untrained and there
    are no ``options``.

    Args:
        name: a game or a trained agent.
        opponent: the opponent's name; None for the trained agent, or the shipped one.
        options: the game's options that are given.

    Raises:
        ValueError, FileNotFoundError: see `game_of`.
    """
    if name not in GAMES:
        return game_of([name], options)
    if opponent is None:
        agents = [] if why_untrained(name, options)[0] else [name]
    else:
        agents = [opponent] if options or not shipped_agents(name) else [opponent, name]
    return game_of(agents or [FALLBACK], options, name)


def why_untrained(name: str, options: dict[str, Any]) -> tuple[str, list[str]]:
    """Why no shipped agent can play a game with these options; empty if one can.

    If one can, the second value has notes: the options for which the agent was not trained.

    Raises:
        ValueError: the game does not accept the options.
    """
    path = shipped_agent(name, options)
    if path is None:
        make_game(name, **options)
        return f"no trained agent of {name} is shipped", []
    header = load_header(path)
    game = make_game(name, **(header.options | options))
    learnt = learnt_options(header, game.options)
    others = [
        f"{option}={quoted(value)}"
        for option, value in game.options.items()
        if value != learnt[option]
    ]
    if fitting_agent(game) is None:
        if not others:
            return f"no trained agent of {name} is shipped for these rules", []
        return f"no trained agent of {name} is shipped for {', '.join(others)}", []
    return "", [f"the agent was not trained for {', '.join(others)}"] * bool(others)


def as_argument(path: Path) -> str:
    """A file or folder as a word of a command, so that it is not taken for a game's name."""
    text = str(path)
    return shlex.quote(text if os.sep in text else os.path.join(".", text))


def game_of(names: Sequence[str], options: dict[str, Any], game_name: str | None = None) -> Game:
    """The game that agents play: the first trained agent's game, or else ``game_name``.

    Args:
        names: the agents' names, as for `read_agent`.
        options: options of the game; a trained agent brings its own for those that are missing.
        game_name: the game, for agents that play any game; a trained agent must have learnt it.

    Raises:
        ValueError, FileNotFoundError: there is no such agent, the trained agent plays another game,
            or neither an agent nor ``game_name`` determines the game.
    """
    for name in names:
        game = read_agent(name).choose_game(options)
        if game is None:
            continue
        if game_name not in (None, game.name):
            raise ValueError(f"agent {name!r} plays {game.name}, not {game_name}")
        return game
    if game_name is None:
        raise ValueError(
            f"agent {names[0]!r} plays any game: say which, with --game, or for a game against it "
            f"`ludarium play GAME --opponent {names[0]}`"
        )
    game = read_agent(names[0]).choose_game(options, game_name)
    assert game is not None, "its name is given"
    return game
