"""Trained agents as files: which file a name means, and whether it fits a game.

Imports torch only where a file is opened, so that what merely lists agents starts at once.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES

if TYPE_CHECKING:
    from ludarium.models import Checkpoint

DEFAULT_SIMULATIONS = 64


def check_fits(checkpoint: Checkpoint, game: Game, name: str) -> None:
    """Raise ``ValueError`` unless a checkpoint, called ``name``, can play ``game``."""
    from ..networks import network_shape

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


def split_spec(spec: str) -> tuple[str, int]:
    """Path and simulations of a spec; ``DEFAULT_SIMULATIONS`` where it has none."""
    path, colon, simulations = spec.rpartition(":")
    if colon and simulations.isdecimal() and not Path(spec).exists():
        return path, int(simulations)
    return spec, DEFAULT_SIMULATIONS


def find_checkpoint(path: str | Path) -> Path:
    """The checkpoint file that a path means: itself, or ``agent.safetensors`` in a run's folder.

    Raises:
        FileNotFoundError: there is none.
    """
    path = Path(path)
    file = path / "agent.safetensors" if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"there is no checkpoint at {path}")
    return file


def shipped_agents(game: str) -> list[Path]:
    """The trained agents of a game that come with the package: the usual one first."""
    with as_file(files("ludarium.models").joinpath("shipped")) as folder:
        usual = Path(folder, f"{game}.safetensors")
        others = sorted(Path(folder).glob(f"{game}-*.safetensors"))
    return [usual, *others] if usual.is_file() else []


def shipped_agent(game: str, options: dict[str, Any] | None = None) -> Path | None:
    """The trained agent of a game that comes with the package, if there is one.

    Of several it is the one that was trained with ``options``; where none was, the usual one.
    """
    from ludarium.models import checkpoint_options

    agents = shipped_agents(game)
    for path in agents if options else ():
        trained = checkpoint_options(path)
        if all(trained.get(name) == value for name, value in (options or {}).items()):
            return path
    return agents[0] if agents else None


def checkpoint_path(name: str, options: dict[str, Any] | None = None) -> Path:
    """The checkpoint that ``name`` stands for: a file, a run's folder, or a game's shipped agent.

    Of several shipped agents it is the one for these options of the game.

    Raises:
        FileNotFoundError: there is none.
    """
    if name in GAMES:
        shipped = shipped_agent(name, options)
        if shipped is None:
            raise FileNotFoundError(
                f"no trained agent of {name} comes along; train one with `ludarium train {name}`"
            )
        return shipped
    if not Path(name).exists():
        raise FileNotFoundError(
            f"there is no checkpoint or run folder {name!r}; a game's name stands for its shipped "
            f"agent ({', '.join(game for game in GAMES if shipped_agent(game))}), and agents "
            "without a checkpoint (uct:1000, alphabeta:4, ...) can be evaluated with --game"
        )
    return find_checkpoint(name)
