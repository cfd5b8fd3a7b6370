"""Turns template kernels and one game's rules into compiled functions that are cached on disk.

numba caches no kernel that takes functions as arguments. So a kernel is an ordinary function of a
template module that calls ``rules.step(...)`` and so on; `specialise` copies each with the module's
globals, ``rules`` set to one game's rule module, under a name that carries a digest of
`Ingredients`, all that it is made of: the cache is then right, and two games never share code.
`jit` compiles the copies and keeps them.
"""

from __future__ import annotations

import dis
import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numba import types

from . import hooks, jit
from . import rule as rule_module
from .hooks import HOOKS
from .rule import plain

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """Mark a template function as an entry point: compiled, cached on disk, free of the GIL."""
    return _marked(function, "kernel")


def part(function: Function) -> Function:
    """Mark a template function as a part that kernels call."""
    return _marked(function, "part")


def leaf(function: Function) -> Function:
    """Mark a template function as a small part whose array and record arguments never overlap.

    It is inlined, and its loops become vector code, which they cannot while each write might
    change what is read next.
    """
    return _marked(function, "leaf")


def _marked(function: Function, role: str) -> Function:
    jit.remember_source(function)
    function.ludarium_template = role  # type: ignore[attr-defined]
    return function


#: Compilers of the template functions that are not entry points, by role. A kernel of another
#: template module is compiled as a part.
_COMPILE: dict[str, Callable] = {
    "kernel": jit.part_of,
    "part": jit.part_of,
    "leaf": partial(jit.part_of, forceinline=True, disjoint=True),
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
    key = (templates, rules, view, *sorted(given.items()))
    with _is_specialising:
        known = _specialised.get(key)
        if known is None or not known[0].is_current():
            outdated = [each for each, made in _specialised.items() if not made[0].is_current()]
            for each in outdated:  # it may share parts with what is made now
                _specialised.pop(each)[0].forget_parts()
            known = _specialised[key] = _compiled(templates, rules, view, **given)
        return known[1]


_is_specialising = threading.RLock()


def _compiled(
    templates: ModuleType, rules: ModuleType, view: ModuleType | None, **given: GivenPart
) -> tuple[Ingredients, SimpleNamespace]:
    """See `specialise`; also what the functions are made of."""
    modules = _template_modules(templates)
    filled_in = _fill_in(rules, view)
    game = rules.__name__.replace(".", "_")
    subject = rules.__name__.removesuffix(".rules").rpartition(".")[2]
    made_of = ingredients(templates, rules, view)
    if jit.COMPILES and made_of.faults:
        raise ValueError(f"{subject} cannot be compiled: {made_of.faults[0]}")
    sources = made_of.digest(given, jit.source_of)
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
                copy.ludarium_is_current = made_of.is_current  # type: ignore[attr-defined]
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
    functions = {name: compiled[function] for name, function in _templates_in(templates)}
    return made_of, SimpleNamespace(**functions)


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


# What compiled code is made of.


def sources_of(
    templates: ModuleType,
    rules: ModuleType,
    view: ModuleType | None = None,
    **given: GivenPart,
) -> str:
    """Digest of everything that the kernels of ``templates`` for one game's ``rules`` are made of.

    The digest covers the source of each module whose functions and types the kernels may use, and
    the constants that these functions read, whichever module they come from.
    """
    return ingredients(templates, rules, view).digest(given, Path.read_bytes)


def ingredients(
    templates: ModuleType, rules: ModuleType, view: ModuleType | None = None
) -> Ingredients:
    """What the kernels of ``templates`` for one game's ``rules`` are made of."""
    modules = _template_modules(templates)
    found = Ingredients([*modules, rules, rule_module, hooks, *filter(None, [view])])
    for hook in HOOKS:
        found.add_read(vars(rules if hook.module == "rules" else view or hooks), hook.name)
    functions = [hook.of(rules, view) for hook in HOOKS]
    for module in modules:
        functions += [found.add_read(vars(module), name) for name, _ in _templates_in(module)]
    found.add_functions(functions, rules)
    return found


#: What needs no place in a digest: the version of Python or of numba stands for it.
_FOREIGN = sys.stdlib_module_names | {"numpy", "numba", "llvmlite"}
_ABSENT = object()


class Ingredients:
    """What compiled functions are made of.

    Args:
        modules: modules whose sources belong to it in any case.

    Attributes:
        faults: a sentence for each global that is read and cannot be compiled in.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.faults: list[str] = []
        self._modules = {module.__name__: module for module in modules}
        self._constants: dict[str, str] = {}
        self._parts: list[Any] = []
        self._reads: list[tuple[dict[str, Any], str, Any]] = []

    def digest(self, given: Mapping[str, GivenPart], source_of: Callable[[Path], bytes]) -> str:
        """A digest of it all, and of ``given`` parts; ``source_of`` gives a file's content."""
        digest = hashlib.sha256()
        for name, part in sorted(given.items()):
            digest.update(f"{name}={part.sources}".encode())
        files = [Path(str(module.__file__)) for _, module in sorted(self._modules.items())]
        for path in (Path(__file__), *jit.SOURCES, *files):
            digest.update(source_of(path))
        for name, content in sorted(self._constants.items()):
            digest.update(f"{name}={content}\n".encode())
        return digest.hexdigest()[:12]

    def is_current(self) -> bool:
        """Whether each global still has its value; a reload of a module may have changed it."""
        return all(place.get(name, _ABSENT) is value for place, name, value in self._reads)

    def forget_parts(self) -> None:
        """Let all parts be compiled anew."""
        for part in self._parts:
            jit.forget(part)

    def add_read(self, place: dict[str, Any], name: str) -> Any:
        """Note that a global is read; return its value."""
        value = place.get(name, _ABSENT)
        self._reads.append((place, name, value))
        return value

    def add_functions(self, functions: Iterable[Any], rules: ModuleType) -> None:
        """Add functions and all that they call; ``rules`` stands for itself in templates."""
        waiting, walked = list(map(plain, functions)), set()
        while waiting:
            function = waiting.pop()
            if function in walked:
                continue
            walked.add(function)
            self._add_module(function.__module__)
            where = f"{function.__module__}.{function.__name__}"
            values = [(f"{where}.{k}", each) for k, each in enumerate(function.__defaults__ or ())]
            for name, cell in zip(
                function.__code__.co_freevars, function.__closure__ or (), strict=True
            ):
                values.append((f"{where}.{name}", cell.cell_contents))
            for path in _globals_read(function.__code__):
                is_rules = path[0] == "rules" and hasattr(function, "ludarium_template")
                names = path[1:] if is_rules else path
                place = vars(rules) if is_rules else function.__globals__
                for name, value in self._found(place, names, function.__code__.co_names):
                    values.append((f"{function.__module__}.{name}", value))
            for name, value in values:
                code = plain(value)
                if not isinstance(code, FunctionType):
                    self._add_value(name, value, where)
                elif not _is_foreign(code.__module__):
                    waiting.append(code)
                    if jit.is_jitted(value):
                        self._parts.append(value)

    def _found(
        self, place: dict[str, Any], path: Sequence[str], names: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        """What stands at a path of attributes of modules; of a whole module, each of ``names``."""
        for depth, name in enumerate(path):
            value = self.add_read(place, name)
            if not isinstance(value, ModuleType):
                if value is not _ABSENT:  # what is absent is built in, or the compiler refuses it
                    yield ".".join(path[: depth + 1]), value
                return
            if _is_foreign(value.__name__):
                return
            place = vars(value)
        for name in names:
            if not isinstance(place.get(name, None), ModuleType | None):
                yield ".".join([*path, name]), self.add_read(place, name)

    def _add_module(self, name: str) -> None:
        module = sys.modules.get(name)
        if module is not None and not _is_foreign(name):
            self._modules.setdefault(name, module)

    def _add_value(self, name: str, value: Any, where: str) -> None:
        """Add a value that is no function; ``where`` names the function that reads it."""
        content = _content(value)
        if content is not None:
            self._constants[name] = content
        elif isinstance(value, type) or _is_function(value):
            self._add_module(getattr(value, "__module__", None) or "builtins")
        else:
            self.faults.append(f"{where} reads {name}, {_trouble(value)}")


def _is_foreign(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in _FOREIGN


def _is_function(value: Any) -> bool:
    """Whether a value is built in, or a callable of numpy or numba, such as an intrinsic."""
    kind = type(value)
    return kind is BuiltinFunctionType or (
        callable(value) and kind.__module__.partition(".")[0] in ("numpy", "numba")
    )


@cache
def _globals_read(code: CodeType) -> frozenset[tuple[str, ...]]:
    """The globals that code reads, each with the attributes that are at once read of it."""
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
            found |= _globals_read(constant)
    return frozenset(found - {()})


def _content(value: Any) -> str | None:
    """A constant as a text that is the same in every process; None if it is no constant."""
    if isinstance(value, tuple):
        parts = [_content(each) for each in value]
        fields = getattr(value, "_fields", "")
        return None if None in parts else f"{type(value).__name__}{fields}{parts}"
    if isinstance(value, np.ndarray | np.void):
        if value.flags.writeable or value.dtype.hasobject:
            return None
        return f"{value.dtype!r}{value.shape}{hashlib.sha256(_bytes_of(value)).hexdigest()}"
    if isinstance(value, np.generic):
        return f"{value.dtype!r}{value.tobytes().hex()}"
    if value is None or isinstance(value, _CONSTANTS):
        return f"{type(value).__name__} {value!r}"
    return None


_CONSTANTS = int | float | complex | str | bytes | np.dtype | types.Type


def _bytes_of(array: np.ndarray | np.void) -> bytes:
    """The content of an array without the padding between fields of records."""
    names = array.dtype.names
    return b"".join(_bytes_of(array[name]) for name in names) if names else array.tobytes()


def _trouble(value: Any) -> str:
    """What is wrong with a global that is no constant, and what to do."""
    if isinstance(value, tuple):
        return f"a tuple with {_trouble(next(each for each in value if _content(each) is None))}"
    if isinstance(value, np.ndarray | np.void) and not value.dtype.hasobject:
        return (
            f"an array of {value.dtype} that can be written, while compiled code keeps a copy: "
            "make it read-only by .setflags(write=False)"
        )
    return (
        f"which is of type {type(value).__name__}; compiled code reads numbers, texts, None, "
        "read-only arrays and tuples of these: make it one of them, or a table of the Spec"
    )


#: By what `specialise` was asked for.
_specialised: dict[tuple, tuple[Ingredients, SimpleNamespace]] = {}
