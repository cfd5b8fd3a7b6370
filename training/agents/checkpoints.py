"""Trained agents in checkpoint files: which file a name means, and whether it fits a game.

Torch, which is slow to import, is needed only where an agent is made: what a file plays, its header
says.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, make_stored_game
from ludarium.models import CheckpointHeader, load_header

from ..networks import network_shape
from .agent import Agent, AgentFactory, Seed
from .settings import read_duration, read_number, read_real, read_settings

DEFAULT_SIMULATIONS = 64

#: Settings in the name of an agent with a network; see `network.network_agent`.
_NETWORK_SETTINGS: dict[str, Callable[[str], Any]] = {
    "simulations": read_number,
    "time": read_duration,
    "temperature": read_real,
}

_SUFFIX = ".safetensors"
_LATEST = f"agent{_SUFFIX}"  # in a run's folder


@dataclass(frozen=True)
class TrainedAgent(AgentFactory):
    """Makes the agent of a checkpoint.

    Attributes:
        simulations: for each move; ``None`` where the name does not say.
        temperature: of the choice of a move, see `NetworkAgent`.
        time: seconds for each move, in place of simulations.
    """

    simulations: int | None
    temperature: float = field(default=0.0, kw_only=True)
    time: float | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def label(self) -> str:
        """The agent's name in tables, without its simulations."""

    @abstractmethod
    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The checkpoint file; of several shipped ones, the one for these options of the game.

        Raises:
            FileNotFoundError: there is no such file.
        """

    def choose_game(self, options: dict[str, Any]) -> Game:
        """The game that it was trained for; see `AgentFactory.choose_game`."""
        trained = load_header(self.checkpoint_path(options))
        return make_stored_game(trained.game, trained.options, **options)

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """The agent for ``game``; see `AgentFactory.make`."""
        from ludarium.models import load_checkpoint

        from .network import network_agent

        checkpoint = load_checkpoint(self.checkpoint_path(game.options))
        check_fits(checkpoint, game, self.label)
        simulations = DEFAULT_SIMULATIONS if self.simulations is None else self.simulations
        return network_agent(
            game, checkpoint.network, self.label, seed, simulations, self.temperature, self.time
        )


@dataclass(frozen=True)
class ShippedAgent(TrainedAgent):
    """Makes the shipped agent of a game.

    Attributes:
        name: of the game.
    """

    name: str

    @property
    def label(self) -> str:
        """The game's name."""
        return self.name

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The file for these options; see `TrainedAgent.checkpoint_path`."""
        path = shipped_agent(self.name, options)
        if path is None:
            raise FileNotFoundError(
                f"there is no shipped agent of {self.name}; train one with "
                f"`ludarium train {self.name}`, or take another agent (uct:1000)"
            )
        return path


@dataclass(frozen=True)
class CheckpointAgent(TrainedAgent):
    """Makes the agent of a file or of a run.

    Attributes:
        path: of the file or the run's folder.
    """

    path: Path

    @property
    def label(self) -> str:
        """The name of the file or folder."""
        return self.path.resolve().name.removesuffix(_SUFFIX)

    def checkpoint_path(self, options: dict[str, Any]) -> Path:
        """The one file; see `TrainedAgent.checkpoint_path`."""
        return find_checkpoint(self.path)


def read_network_settings(
    settings: Mapping[str, str],
    simulations: str | None = None,
    others: Mapping[str, Callable[[str], Any]] | None = None,
) -> dict[str, Any]:
    """The settings of an agent with a network; ``simulations`` is ``None`` where not given.

    Args:
        settings: texts by key.
        simulations: what follows the colon, which stands for them.
        others: further keys that are accepted, and how they are read.

    Raises:
        ValueError: see `read_settings`; or both simulations and a time are given.
    """
    known = {**_NETWORK_SETTINGS, **(others or {})}
    given = read_settings(settings, known, simulations, "simulations")
    if "time" in given and "simulations" in given:
        raise ValueError("give simulations or a time for each move, not both")
    return {"simulations": None, **given}


def network_name(label: str, simulations: int, temperature: float) -> str:
    """How tables name an agent with a network."""
    return f"{label}:{simulations}" + (f"?temperature={temperature:g}" if temperature else "")


def check_fits(checkpoint: CheckpointHeader, game: Game, name: str) -> None:
    """Raise ``ValueError`` unless a checkpoint, called ``name``, can play ``game``."""
    if checkpoint.game != game.name or checkpoint.version != game.version:
        raise ValueError(
            f"checkpoint {name} plays {checkpoint.game} version {checkpoint.version}, not "
            f"{game.name} version {game.version}"
        )
    if checkpoint.shape != network_shape(game):
        raise ValueError(
            f"checkpoint {name} was trained with options {checkpoint.options}, which do not "
            f"fit {game}: train one for these, or take another agent (uct:1000)"
        )


def find_checkpoint(path: Path) -> Path:
    """The checkpoint file at a path: the file itself, or a run folder's agent.safetensors.

    Raises:
        FileNotFoundError: there is none.
    """
    file = path / _LATEST if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no checkpoint at {path}")
    return file


def holds_checkpoint(path: str) -> bool:
    """Whether a path may be a trained agent: a checkpoint file or a run's folder."""
    return os.path.isfile(path) or os.path.isfile(os.path.join(path, _LATEST))


def shipped_agents(game: str) -> list[Path]:
    """The shipped agents of a game; the default one first."""
    with as_file(files("ludarium.models").joinpath("shipped")) as folder:
        usual = Path(folder, f"{game}{_SUFFIX}")
        others = sorted(Path(folder).glob(f"{game}-*{_SUFFIX}"))
    return [usual, *others] if usual.is_file() else []


def shipped_agent(game: str, options: dict[str, Any] | None = None) -> Path | None:
    """The shipped agent of a game for these options; None if the game has no shipped agent.

    Of several agents it is the one whose options agree with most of ``options``; in a tie the
    default one comes first.
    """
    agents = shipped_agents(game)
    if len(agents) < 2 or not options:
        return agents[0] if agents else None

    def agreement(path: Path) -> int:
        trained = load_header(path).options
        return sum(name in trained and trained[name] == options[name] for name in options)

    return max(agents, key=agreement)


def fitting_agent(game: Game) -> Path | None:
    """The shipped agent that plays a game with its options best; None if none can play it."""
    path = shipped_agent(game.name, game.options)
    if path is None:
        return None
    trained = make_stored_game(game.name, load_header(path).options)
    return path if network_shape(trained) == network_shape(game) else None


def telling_options(game: str) -> dict[Path, dict[str, Any]]:
    """For each shipped agent of a game, the options that select it.

    These are the options that differ from the game's defaults or between the shipped agents.
    """
    trained = {path: load_header(path).options for path in shipped_agents(game)}
    defaults = {option.name: option.default for option in GAMES[game].option_list}
    return {
        path: {
            name: value
            for name, value in options.items()
            if any(value != others.get(name) for others in (defaults, *trained.values()))
        }
        for path, options in trained.items()
    }
