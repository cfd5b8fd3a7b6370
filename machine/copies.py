"""Copies of functions: a game's rules, and what the compiler made of parts, are filled in.

A kernel is an ordinary function of a *template module* that calls ``rules.step(...)`` and so on;
the module's ``rules`` is None. `Copies` copies each function that a kernel needs with its module's
globals, ``rules`` set to one game's functions, and each part replaced by what ``make`` returned for
its copy: the copy itself for plain Python, a compiled function where kernels are compiled.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from .marks import Emitted, Mark, mark_of


class Copies:
    """Copies of functions, each made once.

    Args:
        rules: what templates find in ``rules``, by name: functions with their marks, and values.
        make: function that takes a copy and its mark, and returns what stands for the function.
        given: marked functions that take the place of those of template modules, by name.
        emitted: function that takes an `Emitted`, and returns what takes its place.
    """

    def __init__(
        self,
        rules: Mapping[str, Any],
        make: Callable[[FunctionType, Mark], Any],
        given: Mapping[str, Any] | None = None,
        emitted: Callable[[Emitted], Any] = lambda each: each,
    ) -> None:
        self._make, self._given, self._emitted = make, dict(given or {}), emitted
        self._made: dict[tuple[FunctionType, str], Any] = {}
        self._namespaces: dict[int, dict[str, Any]] = {}
        self._originals: list[dict[str, Any]] = []  # keeps what `_namespaces` knows by address
        self._rules = ModuleType("rules")
        for name, value in rules.items():
            filled = self.of(*value) if isinstance(value, tuple) else value
            setattr(self._rules, name, filled)

    def of(self, function: FunctionType, mark: Mark | None = None) -> Any:
        """What ``make`` returned for the copy of a function.

        Args:
            function: the function.
            mark: by default its own, or "part" if it has none.
        """
        mark = mark or mark_of(function) or "part"
        known = self._made.get((function, mark))
        if known is not None:
            return known
        names = self._namespace(function.__globals__)
        copy = FunctionType(
            function.__code__,
            names,
            function.__name__,
            function.__defaults__,
            self._cells(function),
        )
        copy.__doc__, copy.__qualname__ = function.__doc__, function.__qualname__
        copy.__module__ = function.__module__
        made = self._made[function, mark] = self._make(copy, mark)
        for path in globals_read(function.__code__):
            self._fill(function.__globals__, names, path)
        return made

    def _namespace(self, names: dict[str, Any]) -> dict[str, Any]:
        found = self._namespaces.get(id(names))
        if found is None:
            found = self._namespaces[id(names)] = dict(names)
            self._originals.append(names)
            if found.get("rules", self) is None:
                found["rules"] = self._rules
        return found

    def _cells(self, function: FunctionType) -> tuple[CellType, ...] | None:
        if function.__closure__ is None:
            return None
        return tuple(CellType(self._filled(cell.cell_contents)) for cell in function.__closure__)

    def _fill(self, before: dict[str, Any], names: dict[str, Any], path: tuple[str, ...]) -> None:
        """Replace, in ``names``, what a path leads to: a global, then attributes of modules."""
        first, *others = path
        value = before.get(first)
        is_template = before.get("rules", self) is None
        if is_template and first == "rules":
            return
        if is_template and first in self._given and mark_of(value):
            names[first] = self._filled(self._given[first])
        elif isinstance(value, ModuleType) and others and not is_foreign(value.__name__):
            inner = names[first]
            if inner is value:
                inner = names[first] = ModuleType(value.__name__)
                vars(inner).update(vars(value))
            self._fill(vars(value), vars(inner), tuple(others))
        elif first in before:
            names[first] = self._filled(value)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, Emitted):
            return self._emitted(value)
        if isinstance(value, FunctionType) and mark_of(value):
            return self.of(value)
        return value


def template_functions(templates: ModuleType, mark: Mark | None = None) -> dict[str, FunctionType]:
    """The marked functions that a template module itself defines, by name; of one mark, or all."""
    return {
        name: value
        for name, value in vars(templates).items()
        if isinstance(value, FunctionType)
        and value.__module__ == templates.__name__
        and mark_of(value)
        and mark in (None, mark_of(value))
    }


@cache
def globals_read(code: CodeType) -> frozenset[tuple[str, ...]]:
    """The globals that code reads, each followed by the attributes that are read of it at once."""
    found: set[tuple[str, ...]] = set()
    path: list[str] = []
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL":
            found.add(tuple(path))
            path = [step.argval]
        elif path and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(step.argval)
        else:
            found.add(tuple(path))
            path = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= globals_read(constant)
    return frozenset(found - {()})


#: Packages whose code is no source of ours.
_FOREIGN = ("numpy", "numba", "llvmlite")


def is_foreign(module: str | None) -> bool:
    """Whether a module is of Python itself, or of a package that is not digested."""

    first = (module or "").partition(".")[0]
    return first in sys.stdlib_module_names or first in _FOREIGN
