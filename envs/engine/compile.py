"""Puts one game's rules into template kernels: `specialise`.

A kernel is an ordinary function of a template module that calls ``rules.step(...)`` and so on. For
each game its machine code is found or made by ``ludarium.machine``, under a digest of all that it
is made of: two games never share code by accident, and old code never runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from ludarium.machine.machines import OF_RULES
from ludarium.machine.marks import Role
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit

from . import hooks
from . import rule as rule_module
from .hooks import HOOKS

if TYPE_CHECKING:
    from .game import Game

#: What a template module declares: its kernels' names with arguments that a game calls them with.
Arguments = Iterable[tuple[str, tuple[Any, ...]]]


def specialise(templates: ModuleType, game: Game) -> SimpleNamespace:
    """All kernels of a template module for one game, compiled when they are first called.

    Templates may call functions of other template modules. Optional functions that the game lacks
    are filled in from `engine.hooks.HOOKS`. The module's function ``arguments(game)`` declares the
    kernels' arguments, so that all of them are compiled together: it yields names of kernels with
    arguments of each layout; other layouts are compiled when they come.

    Args:
        templates: the template module.
        game: the game.

    Returns:
        One attribute for each kernel. Threads that ask at once get the same object.
    """
    key = (templates, type(game), repr(game.options))
    with _is_specialising:
        known = _specialised.get(key)
        if known is None or not known.ingredients.is_current():
            known = _specialised[key] = unit_of(templates, game)
        return known.kernels


def unit_of(templates: ModuleType, game: Game) -> Unit:
    """The kernels of a template module for one game; see `specialise`."""
    declare: Callable[[Game], Arguments] = getattr(templates, "arguments", lambda game: ())
    place = templates.__name__.rpartition(".")[2].replace("_", "-")
    subject = game.rules.__name__.removesuffix(".rules").rpartition(".")[2]
    return Unit(
        f"{game.rules.__name__.replace('.', '_')}-{place}",
        subject,
        recipe_of(templates, game.rules, game.view),
        lambda: declare(game),
        getattr(templates, "KINDS", OF_RULES),
    )


def recipe_of(templates: ModuleType, rules: ModuleType, view: ModuleType | None = None) -> Recipe:
    """What the kernels of a template module for one game are made of.

    Hooks of the rules are compiled as a `leaf`: their arguments never overlap.
    """
    parts: list[tuple[str, str, str, Role]] = []
    for hook in HOOKS:
        module = rules if hook.module == "rules" else view
        role: Role = "leaf" if hook.module == "rules" else "part"
        function = hook.of(rules, view)
        assert function is not None  # `check.check_hooks` refuses such a game
        if module is not None and hasattr(module, hook.name):
            parts.append((hook.name, module.__name__, hook.name, role))
        else:
            parts.append((hook.name, function.__module__, function.__name__, role))
    return Recipe(
        templates.__name__,
        tuple(parts),
        (("shows_planes", not hasattr(view, "show")),),
        tuple(each.__name__ for each in (rules, rule_module, hooks, view) if each is not None),
    )


def sources_of(templates: ModuleType, game: Game) -> str:
    """Digest of all that the kernels of a template module for one game are made of."""
    return recipe_of(templates, game.rules, game.view).ingredients().digest(Path.read_bytes)


#: By what `specialise` was asked for.
_specialised: dict[tuple, Unit] = {}
_is_specialising = threading.RLock()
