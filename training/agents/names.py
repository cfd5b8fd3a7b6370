"""Agents by name: one grammar for all places that take an agent.

These places are `make_agent` and `read_agent` and, through them, every command, matches,
Gymnasium's ``opponent=``, ``evaluation.against`` of a configuration, and ratings. A name is

    WORD[:ARGUMENT][?KEY=VALUE[&KEY=VALUE...]]

such as ``uct:1000`` or ``corso?simulations=64&temperature=0.1``. An argument that is itself
``KEY=VALUE`` is a setting too: ``uct:time=1s`` is ``uct?time=1s``, one second for each move of each
game. The first of these rules that matches applies:

1. a kind: ``KIND`` or ``KIND:ARGUMENT``, such as ``uct:1000``; `agent_kinds` lists them;
2. the name of a game, ``GAME`` or ``GAME:SIMULATIONS``: the game's shipped agent;
3. a path, ``PATH`` or ``PATH:SIMULATIONS``: a checkpoint, or the folder of a run.

So a file with the name of a kind or a game must be written ``./uct`` or ``./corso``. If such a file
is a checkpoint or a run, a warning says so.

Another package adds a kind by an entry point, whose name is the word before the colon. It names an
`AgentKind`, or a function of a game and a seed that makes the agent, such as a subclass of `Agent`:

    [project.entry-points."ludarium.agents"]
    mybot = "mine:MyBot"
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from ludarium.base.messages import did_you_mean, quoted, shortened
from ludarium.base.numbers import checked_flag
from ludarium.envs.engine.game import Game
from ludarium.envs.plugins import PluginError, find_plugins, load_plugin, refusal
from ludarium.envs.registry import GAMES, as_game

from .agent import Agent, AgentFactory, Seed
from .alphabeta import AlphaBetaFactory, greedy
from .checkpoints import (
    CheckpointFactory,
    PocketFactory,
    ShippedFactory,
    TrainedFactory,
    holds_checkpoint,
)
from .hub import HubFactory
from .outside import ExportedFactory, ObjectFactory
from .program import ProgramFactory
from .settings import settings_of, split_last_settings, split_settings
from .uct import UCTFactory
from .uniform import RandomAgent

#: The group of the entry points by which installed packages add kinds.
AGENT_ENTRY_POINTS = "ludarium.agents"

#: The types that `as_agent` turns into an agent.
Player = Any

_LONGEST_MESSAGE = 400


@dataclass(frozen=True)
class AgentKind:
    """One kind of agents, and how its names are read.

    Attributes:
        usage: the form of its names, such as ``uct[:PLAYOUTS]``.
        help: a description of the kind in a line.
        factory: class that makes the agent; if it is a dataclass, the settings that a name may give
            are fields (see `setting`). Its `AgentFactory.read` reads the text after the colon.
        risk: what a name may do, such as ``runs code``; then names of this kind are refused in
            files. Empty for a harmless kind.
    """

    usage: str
    help: str
    factory: type[AgentFactory]
    risk: str = ""

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a name, each with a description in a line."""
        return {key: known["help"] for key, known in settings_of(self.factory).items()}


def _factory_by(function: Callable[[Game, Seed], Agent]) -> type[AgentFactory]:
    """A factory class that makes agents by a function of a game and a seed."""

    class Factory(AgentFactory):
        def make(self, game: Game, seed: Seed = None) -> Agent:
            return function(game, seed)

    return Factory


def make_agent(spec: str, game: Game | str, seed: Seed = None, from_file: bool = False) -> Agent:
    """Make the agent that a name means; this module documents the names.

    Args:
        spec: such as ``random``, ``greedy``, ``uct:1000``, ``alphabeta:4``, ``perfect``, ``corso``,
            ``shipped:corso:128``, ``runs/corso``, ``agent.safetensors:128``, ``onnx:corso.onnx``,
            ``python:mine:policy``, ``corso?simulations=64&temperature=0.1``.
        game: the rules that it plays by, or a game's name.
        seed: seed of its random numbers; ``None`` takes fresh ones from the system.
        from_file: the name comes out of a file, see `read_agent`.

    Raises:
        ValueError: ``spec`` names no agent, its number is out of range, or the agent cannot
            play ``game``; the message says what is accepted.
        FileNotFoundError: the game has no shipped agent, or the folder has no agent.
        ImportError: the agent needs a package that is not installed.
    """
    return read_agent(spec, from_file).make(as_game(game, {}), seed)


def as_agent(
    player: Player,
    game: Game | str,
    seed: Seed = None,
    name: str | None = None,
    simulations: int | None = None,
    temperature: float = 0.0,
    canonical: bool = False,
) -> Agent:
    """Make an agent of any object that can play.

    Args:
        player: an `Agent`, which is returned as it is; an agent's name; a subclass of
            `Agent`, or a function of a game and a seed that makes one, recognised by the names of
            its parameters ``game`` and ``seed``; a torch module, or a class of one that takes no
            arguments; or a `Policy`, any other function, from a position to an action. A module
            takes float32 [B, *game.observation_shape] and returns policy logits [B, num_actions];
            or a tuple of these and values [B] for the player to move in [-1, 1]; or, like a network
            in training, of these, logits [B, 3] of win, draw and loss, and perhaps scores [B].
        game: the rules, or a game's name.
        seed: seed of its random numbers.
        name: the name in tables of a function or module; default: its own.
        simulations: a module's simulations for each move. By default there is no search: it plays
            the most probable legal action. A search needs values.
        temperature: a module's temperature, see `network_agent`.
        canonical: whether a module sees the board and numbers actions in the canonical frame, as
            environments do with ``canonical=True``, rather than in the board's own. Networks of
            this package always do.

    Raises:
        ValueError: ``player`` is nothing that can play, it cannot play this game, or it takes no
            settings and some are given.
        FileNotFoundError, ImportError: see `make_agent`.
    """
    game = as_game(game, {})
    made = ObjectFactory(
        player=player,
        name=name,
        simulations=simulations,
        temperature=temperature,
        canonical=checked_flag("canonical", canonical),
    )
    if isinstance(player, str | Agent) and made != ObjectFactory(player=player):
        raise ValueError(
            "an agent and its name take no settings here; a name may hold them, such as "
            "corso?simulations=64"
        )
    return make_agent(player, game, seed) if isinstance(player, str) else made.make(game, seed)


def read_agent(spec: str, from_file: bool = False) -> AgentFactory:
    """Parse an agent's name into an `AgentFactory`, without loading a network.

    The object of ``python:MODULE:OBJECT`` is imported, and so is an installed package's kind.

    Args:
        spec: the name.
        from_file: it comes from a file, perhaps a stranger's, so kinds with a risk are refused.

    Raises:
        ValueError: ``spec`` names no agent; the message says what is accepted.
    """
    factory: AgentFactory | None
    if not isinstance(spec, str):
        raise ValueError(
            f"an agent is made by its name, a text, not {quoted(spec, 40)}; as_agent takes other "
            f"players; {accepted()}"
        )
    word = re.split("[:?]", spec, maxsplit=1)[0]
    try:
        name, settings = (spec, {}) if os.path.exists(spec) else _split(spec)
        word, colon, argument = name.partition(":")
        kind = find_kind(word)
        if kind is not None and kind.risk and from_file:
            raise ValueError(f"{word}: {kind.risk}, so it is not taken from a file")
        if kind is not None:
            factory = kind.factory.read(argument if colon else None, settings)
        elif word in GAMES:
            factory = ShippedFactory.read(name, settings)
        else:
            factory = _read_path(name, settings)
    except PluginError:
        raise
    except ValueError as error:
        reason = shortened(str(error), _LONGEST_MESSAGE)
        raise ValueError(f"agent {quoted(spec, 40)}: {reason}{_usage_of(word)}") from None
    if factory is None and ("/" in word or "." in word or os.sep in name):
        raise ValueError(f"agent {quoted(spec, 100)}: no such file or folder")
    if factory is None:
        raise ValueError(
            f"no agent is called {quoted(spec, 40)}, nor a game or file"
            f"{did_you_mean(word, [*_KINDS, *_installed_kinds(), *GAMES])}; --game-module "
            f"registers a game of yours; {accepted()}"
        )
    if not isinstance(factory, CheckpointFactory):
        _warn_of_hidden_files(spec, word)
    return factory


def read_trained_agent(spec: str) -> TrainedFactory:
    """Parse an agent's name like `read_agent`, but accept only agents with a network.

    Raises:
        ValueError: ``spec`` names no trained agent.
    """
    factory = read_agent(spec)
    if not isinstance(factory, TrainedFactory):
        raise ValueError(
            f"agent {quoted(spec)} has no network; give a checkpoint, the folder of a run, or the "
            "name of a game for its shipped agent"
        )
    return factory


def agent_kinds() -> dict[str, AgentKind]:
    """All kinds, by the word with which their names begin; packages' kinds are imported.

    A package's kind that cannot be imported is left out, with a warning.
    """
    kinds = dict(_KINDS)
    for word in _installed_kinds():
        try:
            kind = find_kind(word)
        except PluginError as error:
            warnings.warn(str(error), stacklevel=2)
        else:
            assert kind is not None
            kinds[word] = kind
    return kinds


def accepted() -> str:
    """The accepted names, as the end of an error message."""
    usages = [kind.usage for kind in _KINDS.values()] + list(_installed_kinds())
    forms = ", ".join([*usages, *(usage for usage, _ in FORMS_WITHOUT_KIND)])
    return f"accepted: {forms}"


def _usage_of(word: str) -> str:
    """The form of the names that begin with a word, as the end of an error message."""
    kind = _KINDS.get(word)
    if kind is not None and kind.factory is ObjectFactory:
        return ""  # its errors are those of the user's module
    forms = dict(FORMS_WITHOUT_KIND)
    usage = kind.usage if kind is not None else next(iter(forms)) if word in GAMES else ""
    return f"; accepted: {usage}" if usage else ""


def _split(spec: str) -> tuple[str, dict[str, str]]:
    """Split a name into the part before its settings, and the settings."""
    kind = _KINDS.get(spec.partition(":")[0])
    if kind is not None and kind.factory is ProgramFactory:
        return split_last_settings(spec, kind.settings)
    return split_settings(spec)


def find_kind(word: str) -> AgentKind | None:
    """The kind whose names begin with this word; None if there is none."""
    if word in _KINDS:
        return _KINDS[word]
    plugin = _installed_kinds().get(word)
    return None if plugin is None else _load_kind(word, plugin)


@cache
def _installed_kinds() -> dict[str, EntryPoint]:
    """The entry points of kinds that other packages add."""
    found = find_plugins(AGENT_ENTRY_POINTS)
    usable = {}
    for word, plugin in found.items():
        if word in _KINDS:
            reason = "is left out: there is a kind of agents called that already"
        elif not re.fullmatch(r"\w+", word):
            reason = "is left out: the name of a kind is letters, digits and _"
        else:
            usable[word] = plugin
            continue
        warnings.warn(str(refusal(plugin, reason)), stacklevel=2)
    return usable


def _load_kind(word: str, plugin: EntryPoint) -> AgentKind:
    loaded = load_plugin(plugin)
    if isinstance(loaded, AgentKind):
        return loaded
    if not callable(loaded):
        raise refusal(plugin, "is neither an AgentKind nor a function that makes an agent")
    title = (inspect.getdoc(loaded) or "").partition("\n")[0].rstrip(".")
    return AgentKind(word, title[:1].lower() + title[1:], _factory_by(loaded))


def _read_path(name: str, settings: Mapping[str, str]) -> AgentFactory | None:
    path, colon, simulations = name.rpartition(":")
    if os.path.exists(name):  # unlike Path.exists, false for an impossible path
        return CheckpointFactory.read(None, settings, path=Path(name))
    if colon and os.path.exists(path):
        return CheckpointFactory.read(simulations, settings, path=Path(path))
    return None


def _warn_of_hidden_files(spec: str, word: str) -> None:
    """Warn if a checkpoint or a run has the same name as the agent that was asked for."""
    for name in dict.fromkeys([spec, word]):
        if holds_checkpoint(name):
            warnings.warn(
                f"agent {quoted(spec)} does not mean the file {quoted(name)} in this folder: kinds "
                f"of agents and games come first; write ./{name} for the file",
                stacklevel=4,
            )


#: Forms of names that do not begin with a kind, with their explanations.
FORMS_WITHOUT_KIND = (
    ("GAME[:SIMULATIONS]", "short for shipped:GAME, such as corso or corso:128"),
    (
        "PATH[:SIMULATIONS]",
        "a checkpoint (.safetensors) or the folder of a run; ./uct for a file with the name of "
        "another agent",
    ),
)

_KINDS = {
    "random": AgentKind("random", "uniformly random legal actions", _factory_by(RandomAgent)),
    "greedy": AgentKind(
        "greedy", "the action with the best score after one ply", _factory_by(greedy)
    ),
    "uct": AgentKind("uct[:PLAYOUTS]", "tree search with random playouts", UCTFactory),
    "alphabeta": AgentKind("alphabeta[:DEPTH]", "minimax over the score", AlphaBetaFactory),
    "shipped": AgentKind(
        "shipped:GAME[:SIMULATIONS]",
        "the shipped agent of a game, for its options",
        ShippedFactory,
    ),
    "pocket": AgentKind(
        "pocket:GAME",
        "the small agent of a game, for programs that ship one; takes :SIMULATIONS too",
        PocketFactory,
    ),
    "onnx": AgentKind("onnx:FILE", "a network that `ludarium export` wrote", ExportedFactory),
    "hf": AgentKind(
        "hf:OWNER/NAME[@REVISION][:SIMULATIONS]",
        "an agent on the Hugging Face Hub, where `ludarium push` puts one",
        HubFactory,
        risk="asks another machine",
    ),
    "engine": AgentKind(
        "engine:COMMAND",
        "a program of any kind that answers lines of JSON as `ludarium engine` does",
        ProgramFactory,
        risk="runs a program",
    ),
    "python": AgentKind(
        "python:MODULE:OBJECT",
        "your own: a function from a position to an action, a torch module, or an Agent",
        ObjectFactory,
        risk="runs code",
    ),
}
