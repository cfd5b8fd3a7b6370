"""Turns template kernels and one game's rules into compiled, disk-cached functions.

numba never caches a closure, nor a kernel that takes functions as arguments. So a kernel is
an ordinary function of a template module that calls ``rules.step(...)`` and so on;
`specialise` copies each with the module's globals, ``rules`` set to one game's rule module,
under a name that carries a digest of every source involved: the cache is then right, and two
games never share code.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

from numba import njit
from numba.core import event

from . import rule as rule_module

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """Mark a template function as an entry point: compiled, cached on disk, free of the GIL."""
    function.ludarium_template = "kernel"  # type: ignore[attr-defined]
    return function


def part(function: Function) -> Function:
    """Mark a template function as a part that kernels call."""
    function.ludarium_template = "part"  # type: ignore[attr-defined]
    return function


@cache
def specialise(templates: ModuleType, rules: ModuleType) -> SimpleNamespace:
    """Compiled copies of all kernels of ``templates`` for one game's ``rules`` module.

    The result has one attribute per template function. Compilation happens at the first call
    with new argument types, or is loaded from the disk cache; a message on standard error
    says when it takes seconds.
    """
    _announce_compilation()
    digest = _digest(templates, rules)
    names = vars(templates) | {"rules": rules}
    compiled = {}
    for name, function in vars(templates).items():
        role = getattr(function, "ludarium_template", None)
        if role is None or not isinstance(function, FunctionType):
            continue
        copy = FunctionType(function.__code__, names, name, function.__defaults__)
        copy.__doc__ = function.__doc__
        copy.__module__ = templates.__name__
        copy.__qualname__ = f"{rules.__name__.replace('.', '_')}_{digest}_{name}"
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        compiled[name] = names[name] = njit(cache=role == "kernel", **options)(copy)
    return SimpleNamespace(**compiled)


def _digest(templates: ModuleType, rules: ModuleType) -> str:
    """Digest of the sources that the compiled code is made of."""
    folders = {Path(str(module.__file__)).parent for module in (templates, rules, rule_module)}
    sources = sorted(path for folder in folders for path in folder.glob("*.py"))
    digest = hashlib.sha256()
    for path in sources:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class _Announcer(event.Listener):
    """Says once per process and game that compiling takes a while."""

    def __init__(self) -> None:
        self.announced: set[str] = set()

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        marker = "_rules_"
        if marker not in function.__qualname__:
            return
        game = function.__qualname__.split(marker)[0].rsplit("_", 1)[-1]
        if game not in self.announced:
            self.announced.add(game)
            print(
                f"ludarium: compiling {game} for this machine (first use only, some seconds)",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: event.Event) -> None:
        """Nothing to say."""


@cache
def _announce_compilation() -> None:
    event.register("numba:compile", _Announcer())
