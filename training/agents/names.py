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

So a file with the name of a kind or a game must be written ``./uct`` or ``./corso``. If there is
such a file, or the folder of a run, a warning says so.

An installed package adds a kind by an entry point, whose name is the word before the colon. Its
object is a subclass of `AgentSpec`, or a function of a game and a seed that makes the agent, such
as a subclass of `Agent`:

    [project.entry-points."ludarium.agents"]
    mybot = "mine:MyBot"
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
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

from .agent import Agent, AgentSpec, Needs, Seed, labels_of
from .alphabeta import AlphaBetaSpec, GreedySpec
from .checkpoints import CheckpointSpec, PocketSpec, ShippedSpec, TrainedSpec, holds_checkpoint
from .hub import HubSpec
from .outside import ExportedSpec, ModuleSpec, ObjectSpec, spec_of_object
from .program import ProgramSpec
from .settings import settings_of, split_last_settings, split_settings
from .uct import UCTSpec
from .uniform import RandomSpec

#: The group of the entry points by which installed packages add kinds.
AGENT_ENTRY_POINTS = "ludarium.agents"

#: What `as_agent` turns into an agent: one that is made, a spec, a name; or a function, a class or
#: a torch module, all of which can be called.
AgentLike = Agent | AgentSpec | str | Callable[..., Any]

_LONGEST_MESSAGE = 400


def make_agent(name: str, game: Game | str, seed: Seed = None, from_file: bool = False) -> Agent:
    """Make the agent that a name means; this module documents the names.

    Args:
        name: such as ``random``, ``greedy``, ``uct:1000``, ``alphabeta:4``, ``perfect``, ``corso``,
            ``shipped:corso:128``, ``runs/corso``, ``agent.safetensors:128``, ``onnx:corso.onnx``,
            ``python:mine:policy``, ``corso?simulations=64&temperature=0.1``.
        game: the rules that it plays by, or a game's name.
        seed: seed of its random numbers; ``None`` takes fresh ones from the system.
        from_file: the name comes out of a file, see `read_agent`.

    Raises:
        ValueError: ``name`` names no agent, its number is out of range, or the agent cannot
            play ``game``; the message says what is accepted.
        FileNotFoundError: the game has no shipped agent, the folder has no agent, or the file of
            ``onnx:FILE`` is missing.
        ImportError: the agent needs a package that is not installed.
    """
    return read_agent(name, from_file).make(as_game(game, {}), seed)


def as_agent(
    player: AgentLike,
    game: Game | str,
    seed: Seed = None,
    name: str | None = None,
    simulations: int | None = None,
    temperature: float = 0.0,
    canonical: bool = False,
) -> Agent:
    """Make an agent of any object that can play.

    Args:
        player: an `Agent`, which is returned as it is; a spec or an agent's name; a subclass of
            `Agent`, or a function that makes one, recognised by its first parameters, ``game`` and
            ``seed``; a torch module, or a class of one that takes no arguments; or a `Policy`, any
            other function, from a position to an action. A module takes float32 [B,
            *game.observation_shape] and returns policy logits [B, num_actions]; or a tuple of these
            and values [B] for the player to move in [-1, 1]; or, like a network in training, of
            these, logits [B, 3] of win, draw and loss, and perhaps scores [B].
        game: the rules, or a game's name.
        seed: seed of its random numbers.
        name: the name in tables of a function or module; default: its own.
        simulations: a module's simulations for each move. By default there is no search: it plays
            the most probable legal action. A search needs values.
        temperature: a module's temperature, see `NetworkAgent`.
        canonical: whether a module sees the board and numbers actions in the canonical frame, as
            environments do with ``canonical=True``, rather than in the board's own. Networks of
            this package always do.

    Raises:
        ValueError: ``player`` is nothing that can play, it cannot play this game, or it takes no
            settings or no other name, and one is given.
        FileNotFoundError, ImportError: see `make_agent`.
    """
    game = as_game(game, {})
    settings: dict[str, Any] = {
        "simulations": simulations,
        "temperature": temperature or None,
        "canonical": checked_flag("canonical", canonical) or None,
    }
    settings = {key: value for key, value in settings.items() if value is not None}
    if isinstance(player, Agent | AgentSpec | str) and (settings or name is not None):
        raise ValueError(
            "an agent and its name take no settings and no other name here; a name may hold "
            "settings, such as corso?simulations=64"
        )
    return spec_of(player, name, **settings).make(game, seed)


def make_agents(players: Sequence[AgentLike], game: Game) -> list[Agent]:
    """Make agents that meet, with names in tables that tell them apart; see `labels_of`.

    Args:
        players: see `as_agent`; an `Agent` keeps its name.
        game: the rules.

    Raises:
        ValueError, FileNotFoundError, ImportError: see `as_agent`.
    """
    specs = [spec_of(each) for each in players]
    agents, labels = [spec.make(game) for spec in specs], labels_of(specs)
    if len({agent.name for agent in agents}) < len(agents):
        for spec, agent in zip(specs, agents, strict=True):
            if agent is not getattr(spec, "player", None):  # the caller's own keeps its name
                agent.name = labels[spec]
    return agents


def spec_of(
    player: AgentLike,
    name: str | None = None,
    from_file: bool = False,
    **settings: Any,
) -> AgentSpec:
    """The spec of any object that can play.

    Args:
        player: see `as_agent`.
        name: the name of an object that is neither a spec nor a name; default: its own.
        from_file: a name comes out of a file, see `read_agent`.
        settings: settings of a torch module.

    Raises:
        ValueError: it is nothing that can play, or takes no settings.
    """
    if isinstance(player, AgentSpec):
        return player
    if isinstance(player, str):
        return read_agent(player, from_file)
    return spec_of_object(player, name, **settings)


def read_agent(name: str, from_file: bool = False) -> AgentSpec:
    """The `AgentSpec` that a name means; no network is loaded.

    The object of ``python:MODULE:OBJECT`` is imported, and so is an installed package's kind.

    Args:
        name: the name.
        from_file: it comes from a file, perhaps a stranger's, so kinds with a risk are refused.

    Raises:
        ValueError: it names no agent; the message says what is accepted.
    """
    spec: AgentSpec | None
    if not isinstance(name, str):
        raise ValueError(
            f"an agent is made by its name, a text, not {quoted(name, 40)}; as_agent takes other "
            f"players; {accepted()}"
        )
    word = re.split("[:?]", name, maxsplit=1)[0]
    try:
        whole, settings = (name, {}) if os.path.exists(name) else _split(name)
        word, colon, argument = whole.partition(":")
        kind = find_kind(word)
        if kind is not None and kind.risk and from_file:
            raise ValueError(f"{word}: {kind.risk}, so it is not taken from a file")
        if kind is not None:
            spec = kind.read(argument if colon else None, settings)
        elif word in GAMES:
            spec = ShippedSpec.read(whole, settings)
        else:
            spec = _read_path(whole, settings)
    except PluginError:
        raise
    except ValueError as error:
        reason = shortened(str(error), _LONGEST_MESSAGE)
        raise ValueError(f"agent {quoted(name, 40)}: {reason}{_usage_of(word)}") from None
    if spec is None and ("/" in word or "." in word or os.sep in whole):
        raise ValueError(
            f"agent {quoted(name, 100)}: no such file or folder; `ludarium train` makes a run's "
            "folder, `ludarium agents` lists agents that need none"
        )
    if spec is None:
        raise ValueError(
            f"no agent is called {quoted(name, 20)}, nor a game or file"
            f"{did_you_mean(word, [*_KINDS, *_installed_kinds(), *GAMES])}; a "
            f"game of your own is known after register_game; {accepted()}"
        )
    if not isinstance(spec, CheckpointSpec):
        _warn_of_hidden_files(name, word)
    return spec


def read_trained_agent(name: str) -> TrainedSpec:
    """The spec that a name means, like `read_agent`, but only of agents with a checkpoint.

    Raises:
        ValueError: ``name`` names no trained agent.
    """
    spec = read_agent(name)
    if not isinstance(spec, TrainedSpec):
        raise ValueError(
            f"agent {quoted(name)} has no checkpoint; give a checkpoint, the folder of a run, or "
            "the name of a game for its shipped agent"
        )
    return spec


def agent_kinds() -> dict[str, type[AgentSpec]]:
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


def forms() -> str:
    """The forms of all names, with commas between them; a package's kind has its word alone."""
    usages = [kind.usage for kind in _KINDS.values()] + list(_installed_kinds())
    return ", ".join([*usages, *(usage for usage, _ in FORMS_WITHOUT_KIND)])


def accepted() -> str:
    """The accepted names, as the end of an error message."""
    return f"accepted: {forms()}"


def _usage_of(word: str) -> str:
    """The form of the names that begin with a word, as the end of an error message."""
    kind = _KINDS.get(word)
    if kind is ModuleSpec:
        return ""  # its errors are those of the user's module
    forms = dict(FORMS_WITHOUT_KIND)
    usage = kind.usage if kind is not None else next(iter(forms)) if word in GAMES else ""
    return f"; accepted: {usage}" if usage else ""


def _split(name: str) -> tuple[str, dict[str, str]]:
    """Split a name into the part before its settings, and the settings."""
    if _KINDS.get(name.partition(":")[0]) is ProgramSpec:
        return split_last_settings(name, settings_of(ProgramSpec))
    return split_settings(name)


def find_kind(word: str) -> type[AgentSpec] | None:
    """The kind whose names begin with this word; None if there is none.

    Raises:
        PluginError: an installed package has it, and it cannot be used.
    """
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


@cache  # so that specs of a name are equal
def _load_kind(word: str, plugin: EntryPoint) -> type[AgentSpec]:
    loaded = load_plugin(plugin)
    if inspect.isclass(loaded) and issubclass(loaded, AgentSpec):
        return loaded
    if not callable(loaded):
        raise refusal(plugin, "is neither an AgentSpec nor a function that makes an agent")
    title = (inspect.getdoc(loaded) or "").partition("\n")[0].rstrip(".")

    @dataclass(frozen=True, kw_only=True)
    class Installed(ObjectSpec):
        usage, help, needs = word, title[:1].lower() + title[1:], Needs.CODE
        player: Any = lambda game, seed: loaded(game, seed)  # whatever it calls its parameters
        name: str = word

    return Installed


def _read_path(name: str, settings: Mapping[str, str]) -> AgentSpec | None:
    path, colon, simulations = name.rpartition(":")
    if os.path.exists(name):  # unlike Path.exists, false for an impossible path
        return CheckpointSpec.read(None, settings, path=Path(name))
    if colon and os.path.exists(path):
        return CheckpointSpec.read(simulations, settings, path=Path(path))
    return None


def _warn_of_hidden_files(agent: str, word: str) -> None:
    """Warn if a file or a run has the same name as the agent that was asked for."""
    for name in dict.fromkeys([agent, word]):
        if holds_checkpoint(name):
            warnings.warn(
                f"agent {quoted(agent)} does not mean the file {quoted(name)} in this folder: "
                f"kinds of agents and games come first; write ./{name} for the file",
                stacklevel=4,
            )


#: Forms of names that do not begin with a kind, with their explanations.
FORMS_WITHOUT_KIND = (
    ("GAME[:SIMULATIONS]", "short for shipped:GAME, such as corso or corso:128"),
    (CheckpointSpec.usage, CheckpointSpec.help),
)

#: The kinds of this folder, by the word with which their names begin; others are entry points.
_KINDS: dict[str, type[AgentSpec]] = {
    re.split(r"\W", kind.usage, maxsplit=1)[0]: kind
    for kind in (
        RandomSpec,
        GreedySpec,
        UCTSpec,
        AlphaBetaSpec,
        ShippedSpec,
        PocketSpec,
        ExportedSpec,
        HubSpec,
        ProgramSpec,
        ModuleSpec,
    )
}
