"""Ways to make an environment: by name, by module, from a record, by Gymnasium or PettingZoo id."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Protocol

import gymnasium

from .aec import BoardGameEnv, GuardedBoardGameEnv
from .engine.game import Game
from .engine.record import check_record
from .registry import GAMES, make_game


class GameModule(Protocol):
    """The contents of a module such as ``corso_v0``; see `make` and `make_raw`."""

    def env(
        self, *, render_mode: str | None = None, canonical: bool = False, **options: Any
    ) -> GuardedBoardGameEnv:
        """A guarded PettingZoo environment."""

    def raw_env(
        self, *, render_mode: str | None = None, canonical: bool = False, **options: Any
    ) -> BoardGameEnv:
        """A PettingZoo environment without guards."""


def make(
    name: str, *, render_mode: str | None = None, canonical: bool = False, **options: Any
) -> GuardedBoardGameEnv:
    """A PettingZoo AEC environment of the game called ``name``; see `GuardedBoardGameEnv`.

    Args:
        name: the game's name.
        render_mode, canonical: see `BoardGameEnv`.
        **options: the game's options.

    Raises:
        ValueError: no such game, option value or render mode, or ``canonical`` is not a flag.
        TypeError: no such option.
        FileNotFoundError: an option is the path of a file that does not exist.
    """
    return GuardedBoardGameEnv(make_game(name, **options), render_mode, canonical)


def make_raw(
    name: str, *, render_mode: str | None = None, canonical: bool = False, **options: Any
) -> BoardGameEnv:
    """A raw environment of the game called ``name``: an illegal action raises ``ValueError``.

    The arguments, and the errors where they are wrong, are those of `make`.
    """
    return BoardGameEnv(make_game(name, **options), render_mode, canonical)


def from_record(record: Any, *, render_mode: str | None = None) -> GuardedBoardGameEnv:
    """An environment at the end of a recorded game, ready to go on unless the game is over.

    A game that was resigned, or lost by an illegal action, is over too.

    Args:
        record: a game record, such as ``env.unwrapped.to_record()`` returns.

    Raises:
        ValueError: the record is malformed, of an unknown game or of another version, or a move in
            it is illegal (the message names it); or there is no such render mode.
    """
    game, seed, start, actions, forfeit = check_record(record, GAMES)
    env = GuardedBoardGameEnv(game, render_mode)
    env.reset(seed, {"position": start})
    for action in actions:
        env.step(action)
    if forfeit is not None:
        env._end_by(forfeit)
    return env


def register_game(game: type[Game]) -> type[Game]:
    """Make your own game known by name, as a module, to Gymnasium, and to PettingZoo from 1.27 on.

    It works as a decorator of the class. A class that a notebook defines anew, with the same
    version, replaces the earlier one. An installed package needs no call: see the entry points in
    `ludarium.envs.registry`.

    Returns:
        ``game`` itself.

    Raises:
        ValueError: the class lacks something, or another game or version has its name.
    """
    GAMES.add(game)
    install_modules(game.name, game.version)
    return game


def install_modules(name: str, version: int) -> str:
    """Create the module ``<name>_v<version>`` and the ids of a game; return the module's name.

    Modules and ids find the game when they are used, so its package need not be imported yet.
    """
    versioned = f"{name}_v{version}"
    package = sys.modules[__package__]
    if f"{__package__}.{versioned}" not in sys.modules:
        module = ModuleType(f"{__package__}.{versioned}", f"The game {name}, version {version}.")
        for called, maker in (("env", make), ("raw_env", make_raw)):
            setattr(module, called, _maker_of(maker, name, module.__name__, called))
        sys.modules[module.__name__] = module
        setattr(package, versioned, module)
        _register_ids(name, version)
    return versioned


def gymnasium_id(name: str, version: int) -> str:
    """A game's id in Gymnasium: ``ludarium/Corso-v0``, ``ludarium/MyGame-v1`` for ``my_game``.

    Its id in PettingZoo has the name as it is: ``ludarium/corso-v0``, ``ludarium/my_game-v1``.
    """
    return f"ludarium/{''.join(part.capitalize() for part in name.split('_'))}-v{version}"


def _register_ids(name: str, version: int) -> None:
    """Register the ids with Gymnasium, and with PettingZoo if that has a registry (from 1.27)."""
    gymnasium.register(
        gymnasium_id(name, version),
        entry_point=f"{__package__}.single:SingleAgentEnv",
        vector_entry_point=f"{__package__}.vector:VectorBoardGameEnv",
        kwargs={"game": name},
    )
    try:
        from pettingzoo.env_registry.registration import register
    except ImportError:
        return
    register(
        "aec", f"ludarium/{name}-v{version}", entry_point=f"{__package__}.{name}_v{version}:env"
    )


def _maker_of(maker: Any, name: str, module: str, called: str) -> Any:
    """``maker`` for one game: a function that a pickle finds as ``called`` in ``module``."""

    def made(
        *, render_mode: str | None = None, canonical: bool = False, **options: Any
    ) -> BoardGameEnv:
        return maker(name, render_mode=render_mode, canonical=canonical, **options)

    made.__module__, made.__name__, made.__qualname__ = module, called, called
    doc = maker.__doc__ or ""  # empty under python -OO
    doc = doc.replace("        name: the game's name.\n", "")
    made.__doc__ = doc.replace("the game called ``name``", name)
    return made
