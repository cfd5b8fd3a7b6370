"""Puts one game's rules into template kernels: `specialise`.

A kernel is an ordinary function of a template module that calls ``rules.step(...)`` and so on. For
each game its machine code is found or made by ``ludarium.machine``, under a digest of all that it
is made of: games do not share code by accident, and code of older sources is not used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ludarium.machine.compiler import NoCompilerError
from ludarium.machine.machines import OF_RULES
from ludarium.machine.marks import Mark, plain
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit, is_compiled, load_in_background

from . import hooks
from . import rule as rule_module
from .hooks import HOOKS

if TYPE_CHECKING:
    from .game import Game

#: What a template module declares: its kernels' names with arguments that a game calls them with.
Arguments = Iterable[tuple[str, tuple[Any, ...]]]


class Kernels(SimpleNamespace):
    """The kernels of a template module for one game, an attribute each; copies are this object."""

    _made_of: tuple[str, Game]

    def __reduce__(self) -> tuple:
        return _specialise_by_name, self._made_of


def specialise(templates: ModuleType, game: Game) -> Kernels:
    """All kernels of a template module for one game, compiled when they are first called.

    Templates may call functions of other template modules. Optional functions that the game lacks
    are filled in from `engine.hooks.HOOKS`. The module's function ``arguments(game)`` declares the
    kernels' arguments, so that all of them are compiled together: it yields names of kernels with
    arguments of each layout; other layouts are compiled when they come. A module with
    ``NEEDS_CODE``, such as one whose kernels ask a network, never runs as plain Python instead.

    Args:
        templates: the template module.
        game: the game.

    Returns:
        One attribute for each kernel. Threads that ask at once get the same object.

    Raises:
        ValueError: a function reads a global that cannot be compiled in.
    """
    key = (templates, type(game), repr(game.options))
    with _is_specialising:
        known = _specialised.get(key)
        if known is None or not known[0].ingredients.is_current():
            unit = unit_of(templates, game)
            kernels = Kernels(_made_of=(templates.__name__, game), **unit.kernels)
            known = _specialised[key] = unit, kernels
        return known[1]


def _specialise_by_name(templates: str, game: Game) -> Kernels:
    return specialise(import_module(templates), game)


def compile_in_background(game: Game) -> None:
    """Load or compile what `specialise` was asked for of a game; the caller goes on meanwhile."""
    key = type(game), repr(game.options)
    with _is_specialising:
        units = [unit for (_, *given), (unit, _) in _specialised.items() if (*given,) == key]
    load_in_background(units)


def reason_for_plain(templates: ModuleType, game: Game) -> str | None:
    """Why the kernels of a template module run as plain Python; None if they are compiled.

    Raises:
        CompileError: they cannot be compiled.
        ValueError: ``LUDARIUM_CODE`` forbids to compile them.
    """
    if not is_compiled():
        return "LUDARIUM_CODE=plain"
    specialise(templates, game)
    try:
        _specialised[templates, type(game), repr(game.options)][0].load()
    except NoCompilerError as error:
        return str(error)
    return None


def unit_of(templates: ModuleType, game: Game) -> Unit:
    """The kernels of a template module for one game; see `specialise`.

    In messages and names of files they are called by the module's ``TITLE``, or by its name.
    """
    declare: Callable[[Game], Arguments] = getattr(templates, "arguments", lambda game: ())
    title: str = getattr(templates, "TITLE", templates.__name__.rpartition(".")[2])
    return Unit(
        f"{game.rules.__name__.replace('.', '_')}-{title.replace('_', '-').replace(' ', '-')}",
        game.name,
        recipe_of(templates, game),
        lambda: declare(game),
        getattr(templates, "KINDS", OF_RULES),
        getattr(templates, "NEEDS_CODE", False),
        repr(game),
    )


def recipe_of(templates: ModuleType, game: Game) -> Recipe:
    """What the kernels of a template module for one game are made of.

    Hooks with ``is_seen`` are filled in where the module says ``NEEDS_VIEW``. The others are
    compiled as a `leaf`: their arguments never overlap.
    """
    needs_view = getattr(templates, "NEEDS_VIEW", False)
    parts: list[tuple[str, str, str, Mark]] = []
    for hook in HOOKS:
        if hook.is_seen and not needs_view:
            continue
        mark: Mark = "part" if hook.is_seen else "leaf"
        if hook.path.startswith("rules.") and hook.own(game) is not None:
            parts.append((hook.name, game.rules.__name__, hook.name, mark))
        else:
            function = plain(hook.of(game))
            parts.append((hook.name, function.__module__, function.__name__, mark))
    return Recipe(
        templates.__name__,
        tuple(parts),
        (("shows_planes", game.drawn_scene.show is None),) if needs_view else (),
        tuple(each.__name__ for each in (game.rules, rule_module, hooks)),
    )


def sources_of(templates: ModuleType, game: Game) -> str:
    """Digest of all that the kernels of a template module for one game are made of.

    Raises:
        OSError: a source cannot be read.
    """
    return recipe_of(templates, game).ingredients().digest(Path.read_bytes)


#: By what `specialise` was asked for.
_specialised: dict[tuple, tuple[Unit, Kernels]] = {}
_is_specialising = threading.RLock()


def _renew_lock() -> None:
    """In a forked process nobody would release the lock that another thread held."""
    global _is_specialising
    _is_specialising = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
