"""Turns template kernels and one game's rules into compiled functions that are cached on disk.

numba never caches a closure, nor a kernel that takes functions as arguments. So a kernel is
an ordinary function of a template module that calls ``rules.step(...)`` and so on;
`specialise` copies each with the module's globals, ``rules`` set to one game's rule module,
under a name that carries a digest of every source involved: the cache is then right, and two
games never share code. `jit` compiles the copies and keeps them.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from . import hooks, jit
from . import rule as rule_module
from .hooks import HOOKS
from .rule import plain

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """Mark a template function as an entry point: compiled, cached on disk, free of the GIL."""
    function.ludarium_template = "kernel"  # type: ignore[attr-defined]
    return function


def part(function: Function) -> Function:
    """Mark a template function as a part that kernels call."""
    function.ludarium_template = "part"  # type: ignore[attr-defined]
    return function


def leaf(function: Function) -> Function:
    """Mark a template function as a small part whose array and record arguments never overlap.

    It is inlined, and its loops become vector code, which they cannot while each write might
    change what is read next.
    """
    function.ludarium_template = "leaf"  # type: ignore[attr-defined]
    return function


#: Compilers of the template functions that are not entry points, by role. A kernel of another
#: template module is compiled as a part.
_COMPILE: dict[str, Callable] = {
    "kernel": jit.part,
    "part": jit.part,
    "leaf": partial(jit.part, forceinline=True, disjoint=True),
}


@dataclass(frozen=True)
class GivenPart:
    """A part that belongs to no game, for templates to call.

    Attributes:
        function: what `jit.part` returned.
        sources: a digest of all that the part is made of.
    """

    function: Callable
    sources: str


def specialise(
    templates: ModuleType,
    rules: ModuleType,
    view: ModuleType | None = None,
    **given: GivenPart,
) -> SimpleNamespace:
    """Compiled copies of all kernels of ``templates`` for one game's ``rules`` module.

    Templates may import parts from other template modules; those are copied along. Optional
    functions that the game lacks are filled in from `engine.hooks.HOOKS`. Templates that
    show positions need the game's ``view`` module too, whose functions they find in ``rules``.

    Args:
        templates: the template module.
        rules: a game's rule module.
        view: the same game's view module.
        given: parts that take the place of the template functions of these names.

    Returns:
        One attribute per template function. The first call with new argument types compiles a
        function, or loads it from the disk cache; a message on standard error announces the first
        compilation for a game. Threads that ask at once get the same object.
    """
    with _is_specialising:
        return _specialised(templates, rules, view, **given)


_is_specialising = threading.RLock()


@cache
def _specialised(
    templates: ModuleType, rules: ModuleType, view: ModuleType | None, **given: GivenPart
) -> SimpleNamespace:
    """See `specialise`."""
    modules = _template_modules(templates)
    filled_in = _fill_in(rules, view)
    game = rules.__name__.replace(".", "_")
    subject = rules.__name__.removesuffix(".rules").rpartition(".")[2]
    sources = sources_of(templates, rules, view, **given)
    compiled: dict[FunctionType, Callable] = {}
    namespaces = []
    for module in modules:
        names = vars(module) | {"rules": filled_in}
        namespaces.append(names)
        for name, function in _templates_in(module):
            if function.__module__ == module.__name__:
                copy = FunctionType(function.__code__, names, name, function.__defaults__)
                copy.__doc__ = function.__doc__
                copy.__module__ = templates.__name__
                copy.__qualname__ = f"{game}_{name}_{sources}"
                copy.ludarium_subject = subject  # type: ignore[attr-defined]
                role = function.ludarium_template
                if role == "kernel" and module is templates:
                    place = module.__name__.rpartition(".")[2]
                    compiled[function] = jit.kernel(copy, f"{game}-{place}-{name}", sources)
                else:
                    compiled[function] = _COMPILE[role](copy)
    for module, names in zip(modules, namespaces, strict=True):
        for name, function in _templates_in(module):
            replacement = given.get(function.__name__)
            names[name] = replacement.function if replacement else compiled[function]
    return SimpleNamespace(
        **{name: compiled[function] for name, function in _templates_in(templates)}
    )


def _fill_in(rules: ModuleType, view: ModuleType | None) -> ModuleType:
    """The rule module with every hook present; hooks of the rules are compiled as a `leaf`."""
    filled_in = ModuleType(rules.__name__)
    vars(filled_in).update(vars(rules))
    for hook in HOOKS:
        role = "leaf" if hook.module == "rules" else "part"
        function = hook.of(rules, view)
        assert function is not None  # `check.check_hooks` refuses such a game
        setattr(filled_in, hook.name, _COMPILE[role](plain(function)))
    filled_in.shows_planes = not hasattr(view, "show")  # type: ignore[attr-defined]
    return filled_in


def _templates_in(module: ModuleType) -> list[tuple[str, Any]]:
    """Template functions by their names in ``module``, imported ones included."""
    return [
        (name, value)
        for name, value in vars(module).items()
        if isinstance(value, FunctionType) and hasattr(value, "ludarium_template")
    ]


def _template_modules(templates: ModuleType) -> list[ModuleType]:
    """``templates`` and every module whose template functions it uses."""
    modules = [templates]
    for module in modules:
        for _, function in _templates_in(module):
            origin = sys.modules[function.__module__]
            if origin not in modules:
                modules.append(origin)
    return modules


def sources_of(
    templates: ModuleType,
    rules: ModuleType,
    view: ModuleType | None = None,
    **given: GivenPart,
) -> str:
    """Digest of everything that the kernels of ``templates`` for one game's ``rules`` are made of.

    The digest covers the source of each module whose functions the kernels may call, and the
    numbers and texts among those modules' globals, which become constants.
    """
    digest = hashlib.sha256()
    for name, part in sorted(given.items()):
        digest.update(f"{name}={part.sources}".encode())
    for path in (Path(__file__), *jit.SOURCES):
        digest.update(path.read_bytes())
    views = [] if view is None else [view]
    for module in _compiled_modules(
        [*_template_modules(templates), rules, rule_module, hooks, *views]
    ):
        digest.update(Path(str(module.__file__)).read_bytes())
        for name, value in sorted(vars(module).items()):
            # Leave out __file__ and its like: the digest must not depend on where the sources lie.
            if not name.startswith("__") and _is_constant(value):
                digest.update(f"{name}={value!r}".encode())
    return digest.hexdigest()[:12]


def _is_constant(value: Any) -> bool:
    """Whether a value is a number, a text or a tuple of them: every process writes it alike."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, int | float | str | np.generic)


def _compiled_modules(modules: list[ModuleType]) -> list[ModuleType]:
    """These modules and all whose compiled functions or templates they use, sorted by name."""
    found = {module.__name__: module for module in modules}
    waiting = list(modules)
    while waiting:
        for value in vars(waiting.pop()).values():
            function = getattr(value, "py_func", value)
            if isinstance(value, ModuleType):
                origin = value if any(map(_is_compiled, vars(value).values())) else None
            else:
                origin = sys.modules.get(function.__module__) if _is_compiled(value) else None
            if origin is not None and origin.__name__ not in found:
                found[origin.__name__] = origin
                waiting.append(origin)
    return [found[name] for name in sorted(found)]


def _is_compiled(value: Any) -> bool:
    return jit.is_jitted(value) or hasattr(value, "ludarium_template")
