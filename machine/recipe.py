"""What kernels are made of: a `Recipe` tells other processes, `Ingredients` give its digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from sys import modules as loaded_modules
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .copies import globals_read, is_foreign, template_functions
from .marks import Emitted, Mark, plain, source_of


@dataclass(frozen=True)
class Recipe:
    """A template module, and what stands in its ``rules``.

    Attributes:
        templates: the template module's name.
        parts: functions in ``rules``: name, module, name in that module, mark.
        values: other things in ``rules``: name and value.
        modules: modules whose sources belong to the kernels whether they read them or not.
        prepare: ``module:name`` of a function that is called with the kind of processor, one of
            `machines.KINDS`, before anything is compiled; empty for none.
    """

    templates: str
    parts: tuple[tuple[str, str, str, Mark], ...] = ()
    values: tuple[tuple[str, bool | int], ...] = ()
    modules: tuple[str, ...] = ()
    prepare: str = ""

    def rules(self) -> dict[str, Any]:
        """What stands in ``rules``, by name, for `Copies`: values, and functions with their mark.

        Raises:
            ImportError, AttributeError: there is no such module or function.
        """
        found: dict[str, Any] = dict(self.values)
        for name, module, there, mark in self.parts:
            found[name] = plain(getattr(import_module(module), there)), mark
        return found

    def prepare_for(self, kind: str) -> None:
        """Prepare this process for a kind of processor, see ``prepare``.

        Raises:
            ImportError, AttributeError: there is no such module or function.
        """
        if self.prepare:
            module, _, name = self.prepare.partition(":")
            getattr(import_module(module), name)(kind)

    def ingredients(self) -> Ingredients:
        """What the kernels are made of.

        Raises:
            ImportError, AttributeError: a module or a function is missing.
        """
        templates = import_module(self.templates)
        found = Ingredients([templates, *map(import_module, self.modules)])
        functions = [
            found.add_read(vars(import_module(module)), there) for _, module, there, _ in self.parts
        ]
        functions += [
            found.add_read(vars(templates), name) for name in template_functions(templates)
        ]
        found.add_functions(functions, self.rules())
        return found


_ABSENT = object()
_HERE = Path(__file__).parent
#: The files that decide how functions are compiled.
_COMPILER = tuple(
    sorted(
        [_HERE / f"{name}.py" for name in ("copies", "layouts", "machines", "marks", "recipe")]
        + list((_HERE / "making").glob("*.py"))
    )
)


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
        self._files: set[Path] = set()
        self._constants: dict[str, str] = {}
        self._reads: list[tuple[dict[str, Any], str, Any]] = []

    def digest(self, source_of: Callable[[Path], bytes] = source_of) -> str:
        """A digest of sources and constants, 16 hexadecimal digits.

        Args:
            source_of: gives a file's content.

        Raises:
            OSError: a source cannot be read.
        """
        digest = hashlib.sha256(self.source_digest(source_of).encode())
        for name, content in sorted(self._constants.items()):
            digest.update(f"{name}={content}\n".encode())
        return digest.hexdigest()[:16]

    def source_digest(self, source_of: Callable[[Path], bytes] = source_of) -> str:
        """A digest of the sources alone, the same on all machines; arguments as of `digest`.

        Raises:
            OSError: a source cannot be read.
        """
        digest = hashlib.sha256()
        files = [Path(str(module.__file__)) for _, module in sorted(self._modules.items())]
        for path in (*_COMPILER, *sorted(self._files), *files):
            digest.update(hashlib.sha256(source_of(path)).digest())
        return digest.hexdigest()[:16]

    def is_current(self) -> bool:
        """Whether each global that is read has its value still: a module may be loaded again."""
        return all(place.get(name, _ABSENT) is value for place, name, value in self._reads)

    def has(self, module: str) -> bool:
        """Whether the source of a module belongs to the ingredients."""
        return module in self._modules

    def files(self) -> dict[str, str]:
        """The files of the modules, by the modules' names."""
        return {name: str(module.__file__) for name, module in self._modules.items()}

    def add_read(self, place: dict[str, Any], name: str) -> Any:
        """Note that a global is read; return its value, or `_ABSENT`."""
        value = place.get(name, _ABSENT)
        self._reads.append((place, name, value))
        return value

    def add_functions(self, functions: Iterable[Any], rules: Mapping[str, Any]) -> None:
        """Add functions and all that they call; ``rules`` is what `Recipe.rules` returned."""
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
            for path in globals_read(function.__code__):
                place = function.__globals__
                if path[0] == "rules" and place.get("rules", self) is None:
                    continue  # its functions are added by themselves, its values by the recipe
                for name, value in self._found(place, path, function.__code__.co_names):
                    values.append((f"{function.__module__}.{name}", value))
            for name, value in values:
                code = plain(value)
                if isinstance(value, Emitted):
                    self._add_emitted(value)
                elif not isinstance(code, FunctionType):
                    self._add_value(name, value, where)
                elif not is_foreign(code.__module__):
                    waiting.append(code)
        for name, value in rules.items():
            if not isinstance(value, tuple):
                self._constants[f"rules.{name}"] = repr(value)

    def _found(
        self, place: dict[str, Any], path: Sequence[str], names: Sequence[str]
    ) -> Iterator[tuple[str, Any]]:
        """What a path leads to, with its name; each of ``names`` there, if that is a module."""
        for depth, name in enumerate(path):
            value = self.add_read(place, name)
            if not isinstance(value, ModuleType):
                if value is not _ABSENT:  # what is absent is built in, or the compiler refuses it
                    yield ".".join(path[: depth + 1]), value
                return
            if is_foreign(value.__name__):
                return
            place = vars(value)
        for name in names:
            if not isinstance(place.get(name, None), ModuleType | None):
                yield ".".join([*path, name]), self.add_read(place, name)

    def _add_module(self, name: str) -> None:
        module = loaded_modules.get(name)
        if module is not None and not is_foreign(name):
            self._modules.setdefault(name, module)

    def _add_emitted(self, part: Emitted) -> None:
        """Add all sources of the folder that a part is emitted from."""
        module, spec = part.place.partition(":")[0], None
        with suppress(ImportError):  # a program that a tool has packed, without the compiler
            spec = find_spec(module)
        found = [] if spec is None else list(Path(str(spec.origin)).parent.glob("*.py"))
        self._files.update(found or [Path(module)])  # no such file: `digest` raises

    def _add_value(self, name: str, value: Any, where: str) -> None:
        """Add a value that is no Python function; ``where`` names the function that reads it."""
        content = _content(value)
        if content is not None:
            self._constants[name] = content
        elif isinstance(value, type) or _is_function(value):
            self._add_module(getattr(value, "__module__", None) or "builtins")
        else:
            self.faults.append(f"{where} reads {name}, {_trouble(value)}")


def _is_function(value: Any) -> bool:
    """Whether a value is a builtin function, or a callable of numpy or numba: an intrinsic, say."""
    kind = type(value)
    return kind is BuiltinFunctionType or (
        callable(value) and kind.__module__.partition(".")[0] in ("numpy", "numba")
    )


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
    if value is None or isinstance(value, int | float | complex | str | bytes | np.dtype):
        return f"{type(value).__name__} {value!r}"
    if type(value).__module__.startswith("numba.core.types"):
        return f"{type(value).__name__} {value!r}"
    return None


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
        f"a value of type {type(value).__name__}; compiled code reads numbers, texts, None, "
        "read-only arrays and tuples of these: make it one of them, or a table of the Spec"
    )
