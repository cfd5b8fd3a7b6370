"""The agents of a contest, named or the user's own, as specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ludarium.base.messages import quoted
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentSpec, require_different, spec_of

from .schedule import Entrant, on_one_core

MOST_AGENTS = 200
_MOST_NAME = 1000  # characters


def resolve_agents(
    game: Game,
    names: Sequence[str],
    players: Mapping[str, AgentSpec | str | Callable[..., Any]] | None = None,
    from_file: bool = False,
) -> dict[str, Entrant]:
    """The agents by name; each is made once to check that it can play.

    Args:
        game: the rules.
        names: the agents' names.
        players: the caller's own by name: specs, names, or any object for `as_agent` except an
            `Agent`, which cannot play on several cores.
        from_file: the names come from a file, so some are refused, see `read_agent`.

    Raises:
        ValueError: a name means nothing, two mean the same agent, one of ``players`` is an `Agent`,
            or an agent cannot play the game.
        FileNotFoundError: an agent's file is missing.
        ImportError: an agent needs a package that is not installed.
    """
    specs: dict[str, AgentSpec] = {}
    for name in names:
        player = (players or {}).get(name, name)
        if isinstance(player, Agent):
            raise ValueError(
                f"{name} is one agent, and each core needs its own: give its name, its class, or a "
                "function of a game and a seed that makes it"
            )
        specs[name] = spec_of(player, name=name, from_file=from_file)
    require_different(list(specs.values()))
    with on_one_core():
        return {name: Entrant.of(spec, game) for name, spec in specs.items()}


def check_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` unless these are 2 to 200 different names of 1 to 1000 characters.

    All characters must be printable.
    """
    for name in names:
        if isinstance(name, str) and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(
                f"the agent's name {quoted(name)} is not UTF-8, and results are: rename its file"
            )
        if not (isinstance(name, str) and 1 <= len(name) <= _MOST_NAME and name.isprintable()):
            raise ValueError(
                f"{quoted(name)} is not the name of an agent: 1 to {_MOST_NAME:,} characters, all "
                "of them printable"
            )
    if len(names) < 2:
        raise ValueError("games need two agents or more: uct:100 uct:1000, for example")
    if len(names) > MOST_AGENTS:
        raise ValueError(f"{len(names)} agents are more than {MOST_AGENTS}")
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise ValueError(f"agent {quoted(twice[0])} is named twice")
