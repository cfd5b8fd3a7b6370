"""Ways to get an environment: by name, by module, from a record, from other registries."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import gymnasium

from .aec import BoardGameEnv, GuardedBoardGameEnv
from .engine.record import check_record
from .registry import GAMES, make_game


def make(
    name: str, *, render_mode: str | None = None, canonical: bool = False, **options: Any
) -> GuardedBoardGameEnv:
    """A PettingZoo AEC environment of the game called ``name``, guarded as classic games are.

    Args:
        name: of the game.
        render_mode, canonical: see `BoardGameEnv`.
        **options: the game's.

    Raises:
        ValueError: no such game, option, option value or render mode.
    """
    return GuardedBoardGameEnv(make_game(name, **options), render_mode, canonical)


def make_raw(
    name: str, *, render_mode: str | None = None, canonical: bool = False, **options: Any
) -> BoardGameEnv:
    """The environment without guards: an illegal action raises ``ValueError``."""
    return BoardGameEnv(make_game(name, **options), render_mode, canonical)


def from_record(record: Any, *, render_mode: str | None = None) -> GuardedBoardGameEnv:
    """An environment at the end of a recorded game, ready to go on.

    Args:
        record: what ``env.unwrapped.to_record()`` gave.

    Raises:
        ValueError: the record is malformed, or a move in it is illegal; the message says
            which.
    """
    game, seed, actions = check_record(record, GAMES)
    env = GuardedBoardGameEnv(game, render_mode)
    env.reset(seed)
    for action in actions:
        env.step(action)
    return env


def install_version_modules(package: str) -> dict[str, ModuleType]:
    """Make ``<package>.<game>_v<version>`` modules with ``env`` and ``raw_env``."""
    modules = {}
    for name, game in GAMES.items():
        module = ModuleType(f"{package}.{name}_v{game.version}", f"{game.title}: {game.summary}.")
        module.env = _face(make, name)  # type: ignore[attr-defined]
        module.raw_env = _face(make_raw, name)  # type: ignore[attr-defined]
        sys.modules[module.__name__] = module
        modules[module.__name__.rpartition(".")[2]] = module
    return modules


def register_ids(package: str) -> None:
    """Register every game with Gymnasium and, where it has a registry (1.27), PettingZoo."""
    for name, game in GAMES.items():
        gymnasium.register(
            f"ludarium/{game.title}-v{game.version}",
            entry_point=f"{package}.single:SingleAgentEnv",
            vector_entry_point=f"{package}.vector:VectorBoardGameEnv",
            kwargs={"game": name},
        )
    try:
        from pettingzoo.env_registry.registration import register
    except ImportError:
        return
    for name, game in GAMES.items():
        module = f"{name}_v{game.version}"
        register("aec", f"ludarium/{module}", entry_point=f"{package}.{module}:env")


def _face(maker: Any, name: str) -> Any:
    def face(
        *, render_mode: str | None = None, canonical: bool = False, **options: Any
    ) -> BoardGameEnv:
        return maker(name, render_mode=render_mode, canonical=canonical, **options)

    face.__doc__ = maker.__doc__.replace("the game called ``name``", name)
    return face
