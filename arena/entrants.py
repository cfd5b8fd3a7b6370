"""The agents that enter a contest, named or the user's own, as factories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.base.messages import named, quoted
from ludarium.envs.engine.game import Game
from ludarium.training.agents import Agent, AgentFactory, Seed, read_agent
from ludarium.training.agents.outside import ObjectFactory

from .chunks import on_one_core
from .ladder import digest_of

MOST_AGENTS = 200
_MOST_NAME = 1000  # characters


@dataclass(frozen=True)
class Entrants:
    """Agents by name, with their factories.

    Attributes:
        factories: the factories by name.
        networks: SHA-256 of the networks' files, by the name of the agent.
    """

    factories: dict[str, AgentFactory]
    networks: dict[str, str]


def enter(game: Game, players: Mapping[str, Any], from_file: bool) -> Entrants:
    """Accept agents, and make each of them once to check that it can play.

    Args:
        game: the rules.
        players: agents by name: names, factories, or any object for `as_agent` except an `Agent`,
            which cannot play on several cores.
        from_file: the names come from a file, so those that would run code are refused.

    Raises:
        ValueError: a name means nothing, or an agent cannot play the game.
        FileNotFoundError: an agent's file is missing.
    """
    factories: dict[str, AgentFactory] = {}
    networks: dict[str, str] = {}
    with on_one_core():
        for name, player in players.items():
            factory = _factory(name, player, from_file)
            file = factory.network_file(game)
            if file is not None:
                networks[name] = digest_of(file)
                factory = _Unchanged(factory, name, file, networks[name])
            factory.make(game)
            factories[name] = factory
    return Entrants(factories, networks)


def check_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` unless these are two or more different names."""
    for name in names:
        if isinstance(name, str) and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(
                f"the agent's name {quoted(name)} is not UTF-8, and results are: rename its file"
            )
        if not (isinstance(name, str) and 1 <= len(name) <= _MOST_NAME and name.isprintable()):
            raise ValueError(
                f"{quoted(name)} is not the name of an agent: 1 to {_MOST_NAME:,} characters, none "
                "of them a control character"
            )
    if len(names) < 2:
        raise ValueError("games need two agents or more: uct:100 uct:1000, for example")
    if len(names) > MOST_AGENTS:
        raise ValueError(f"{len(names)} agents are more than {MOST_AGENTS}")
    _check_different(names)


def _check_different(names: Sequence[str]) -> None:
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise ValueError(f"agent {quoted(twice[0])} is named twice")


def label_agents(specs: Sequence[str], agents: Sequence[Agent]) -> None:
    """Give agents that meet different labels: their own, or their whole names where two are alike.

    So the agent of ``runs/corso`` and the shipped one, both ``corso:64`` in tables, are told apart.

    Args:
        specs: the agents' names as they were given.
        agents: the agents; their attribute ``name`` is changed.

    Raises:
        ValueError: a name is given twice.
    """
    _check_different(specs)
    own = [agent.name for agent in agents]
    whole = [named(spec, _MOST_NAME) for spec in specs]
    labels = [name if own.count(name) == 1 else whole[at] for at, name in enumerate(own)]
    if len(set(labels)) < len(labels):  # a whole name is another agent's label
        labels = whole
    for agent, label in zip(agents, labels, strict=True):
        agent.name = label


def _factory(name: str, player: Any, from_file: bool) -> AgentFactory:
    if isinstance(player, AgentFactory):
        return player
    if isinstance(player, str):
        return read_agent(player, from_file)
    if isinstance(player, Agent):
        raise ValueError(
            f"{name} is one agent, and each core needs its own: give its name, its class, or a "
            "function of a game and a seed that makes it"
        )
    return ObjectFactory(player=player, name=name)


@dataclass(frozen=True)
class _Unchanged(AgentFactory):
    """Makes agents of a file as long as it does not change; a run in training replaces its file."""

    factory: AgentFactory
    name: str
    file: Path
    sha256: str

    def make(self, game: Game, seed: Seed = None) -> Agent:
        agent = self.factory.make(game, seed)
        if digest_of(self.file) != self.sha256:
            raise ValueError(
                f"agent {named(self.name)} has changed since the games began: copy "
                f"{named(self.file)}, and let the copy play"
            )
        return agent
