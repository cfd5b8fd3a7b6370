"""``ludarium agents``: list the agents and how to name them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ludarium.arena.ladder import WORDS, ladder_beside, load_ladder
from ludarium.base.messages import did_you_mean, quoted
from ludarium.envs.registry import GAMES, find_game, make_game
from ludarium.models import load_header
from ludarium.training.agents import AgentSpec
from ludarium.training.agents.checkpoints import selecting_options
from ludarium.training.agents.names import FORMS_WITHOUT_KIND, agent_kinds
from ludarium.training.agents.settings import DEFAULT_SIMULATIONS, settings_of
from ludarium.training.networks import learnt_values
from ludarium.training.table import text_table

from .arguments import add_json
from .common import options_as_text
from .games import play_command
from .modules import program
from .result import Result

HELP = "list the agents and how to name them"
DESCRIPTION = """\
List the names of agents (some commands take trained ones only), and what ships, with its levels.

  ludarium agents                                     all of them
  ludarium agents onyx                                all names, and what ships of one game
  ludarium agents uct                                 one kind of agent, and its settings
  ludarium agents temperature                         a setting, and the kinds that take it
  ludarium evaluate corso:128 --against alphabeta:4   AGENT names in a command

Write ./ before a file or folder that has the name of another agent."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "word",
        nargs="?",
        metavar="WORD",
        help=f"a game ({', '.join(GAMES)}), a kind of agent, or a setting",
    )
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Return the list of agents."""
    word, kinds = given.word, agent_kinds()
    if word is not None and word not in GAMES:
        return _about(word, kinds)
    names = list(GAMES) if word is None else [find_game(word).name]
    forms = _forms(kinds) + [*FORMS_WITHOUT_KIND]
    trained = [
        _describe(name, path, options)
        for name in names
        for path, options in selecting_options(name).items()
    ]
    data = {
        **_names_as_json(kinds, forms),
        "trained": trained,
    }
    lines = [
        text_table(None, forms, left=(0, 1)),
        "",
        "settings, as in corso?simulations=100&temperature=0.5 (GAME, PATH: those of shipped):",
        text_table(None, _settings(kinds), left=(0, 1, 2)),
        "",
        "shipped agents:",
    ]
    for agent in trained:
        values = "; ".join(
            f"{name} {', '.join(map(str, learnt))}" for name, learnt in agent["learnt"].items()
        )
        lines.append(f"  {agent['command']}")
        if values:
            lines.append(f"      one network for other options too; it learnt {values}")
        lines.append(
            f"      network {'x'.join(map(str, agent['network'].values()))}, "
            f"{agent['bytes'] / 1e6:.1f} MB, {agent['step']:,} steps of learning, "
            f"{agent['simulations']} simulations for each move by default"
        )
        if agent["levels"]:
            board = options_as_text(agent["level_options"])
            lines.append(
                f"      {' '.join(['opponents', *board])} level:1 to level:{agent['levels']}, "
                f"{', '.join(f'level:{word}' for word in WORDS)}, level:auto"
            )
    if not trained:
        lines.append(f"  none; make one: {program()} train {word}")
    return Result(data, "\n".join(lines))


def _about(word: str, kinds: Mapping[str, type[AgentSpec]]) -> Result:
    """A kind of agent with its settings, or a setting with the kinds that take it."""
    if word in kinds:
        chosen = {word: kinds[word]}
        rows = _settings(chosen)
    else:
        chosen = {name: kind for name, kind in kinds.items() if word in settings_of(kind)}
        rows = [row for row in _settings(kinds) if row[0] == word]
    if not chosen:
        known = {*GAMES, *kinds, *(key for kind in kinds.values() for key in settings_of(kind))}
        raise ValueError(
            f"{quoted(word)} is no game, kind of agent or setting"
            f"{did_you_mean(word, sorted(known))}; see `ludarium agents` and "
            "`ludarium --help`"
        )
    forms = _forms(chosen)
    lines = [text_table(None, forms, left=(0, 1))]
    if rows:
        lines += ["", "settings, after ? or &:", text_table(None, rows, left=(0, 1, 2))]
    return Result({**_names_as_json(chosen, forms), "trained": []}, "\n".join(lines))


def _forms(kinds: Mapping[str, type[AgentSpec]]) -> list[tuple[str, str]]:
    return [(kind.usage, kind.help) for kind in kinds.values()]


def _names_as_json(
    kinds: Mapping[str, type[AgentSpec]], forms: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "names": [{"usage": usage, "help": help_line} for usage, help_line in forms],
        "settings": {word: lines for word, kind in kinds.items() if (lines := _lines(kind))},
    }


def _lines(kind: type[AgentSpec]) -> dict[str, str]:
    """The settings of a kind's names, each with its description in a line."""
    return {key: about["help"] for key, about in settings_of(kind).items()}


def _settings(kinds: Mapping[str, type[AgentSpec]]) -> list[tuple[str, str, str]]:
    """Each setting, the kinds that take it, and its description."""
    takers: dict[tuple[str, str], list[str]] = {}
    for word, kind in kinds.items():
        for key, line in _lines(kind).items():
            takers.setdefault((key, line), []).append(word)
    return [(key, ", ".join(words), line) for (key, line), words in takers.items()]


def _describe(game: str, path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """A description of the shipped agent that ``options`` select."""
    checkpoint = load_header(path)
    file = ladder_beside(path)
    ladder = load_ladder(file) if file.is_file() else None
    game_with = make_game(game, **options)
    return {
        "name": game,
        "options": options,
        "learnt": learnt_values(checkpoint),
        "command": play_command(game, options),
        "network": checkpoint.architecture.described(),
        "step": checkpoint.step,
        "bytes": path.stat().st_size,
        "simulations": DEFAULT_SIMULATIONS,
        "levels": len(ladder.levels) if ladder else 0,
        # The levels of an agent for many boards may be measured with other options than `options`.
        "level_options": {
            name: value
            for name, value in (ladder.options if ladder else {}).items()
            if checkpoint.variants and value != game_with.options[name]
        },
    }
