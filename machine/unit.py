"""The kernels of a template module: callables whose machine code is found or made at first use.

Code comes from the first place that has it: the libraries that the package was shipped with; the
cache of object code; the compiler. Where there is no compiler either, kernels run as plain Python,
after a warning; those of networks cannot, and raise an error.
``LUDARIUM_CODE`` takes away places, for tests and debugging: ``plain`` all of them, ``own`` the
libraries, ``shipped`` all but those.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, cached_property, wraps
from types import FunctionType
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from ludarium.base.console import say

from . import cache as object_cache
from . import calling, libraries, loading
from .cache import Form, ObjectCode
from .compiler import CompileError, NoCompilerError, compiled, reason_against
from .copies import Copies, template_functions
from .layouts import all_fit, layout_of
from .machines import OF_RULES, kind_of, processor
from .marks import source_of
from .recipe import Recipe

#: Names of kernels, with layouts of their arguments.
Kernels = list[tuple[str, tuple[Any, ...]]]

_PLACES = {"": ("shipped", "own"), "plain": (), "own": ("own",), "shipped": ("shipped",)}


@cache
def places() -> tuple[str, ...]:
    """Where code may come from: "shipped" is libraries, "own" the cache and the compiler.

    Raises:
        ValueError: ``LUDARIUM_CODE`` has a value that is not accepted.
    """
    given = os.environ.get("LUDARIUM_CODE", "")
    if given not in _PLACES:
        accepted = ", ".join(filter(None, _PLACES))
        raise ValueError(f"LUDARIUM_CODE={given!r} means nothing; accepted: {accepted}")
    return _PLACES[given]


def is_compiled() -> bool:
    """Whether kernels may run as machine code; with ``LUDARIUM_CODE=plain`` they may not.

    Raises:
        ValueError: see `places`.
    """
    return bool(places())


def refuse_plain(*_: Any) -> NoReturn:
    """Refuse to run what cannot run as plain Python.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        "networks, and searches with them, need machine code: run without LUDARIUM_CODE=plain"
    )


class Unit:
    """The kernels of one template module for one game, or for none.

    Args:
        name: the beginning of names of files; what follows the first ``-`` names the kernels.
        subject: a game or ``networks``, for messages; if empty, compiling is not announced.
        recipe: what the kernels are made of.
        declared: gives kernels' names, each with example arguments of a layout that it is called
            with.
        kinds: the kinds of processors that have code of their own, see `machines`.
        needs_code: whether the kernels cannot run as plain Python. If so, they raise a
            `NoCompilerError` where code cannot be made, and a `ValueError` with
            ``LUDARIUM_CODE=plain``.
        described: the subject with its options, for the warning that it runs as plain Python.

    Attributes:
        kernels: callables, by name.
        kinds: the kinds of processors that have code of their own.
        title: subject and kernels, for messages.
        name, subject, recipe: as given.
        ingredients: what the kernels are made of.

    Raises:
        ValueError: a function reads a global that cannot be compiled in; or see `kind_of` and
            `places`.
        ImportError, AttributeError: see `Recipe.ingredients`.
    """

    def __init__(
        self,
        name: str,
        subject: str,
        recipe: Recipe,
        declared: Callable[[], Iterable[tuple[str, tuple[Any, ...]]]],
        kinds: tuple[str, ...] = OF_RULES,
        needs_code: bool = False,
        described: str = "",
    ) -> None:
        self._described = described or subject or "a function"
        self.name, self.subject, self.recipe = name, subject, recipe
        self.title = f"{subject}: {name.partition('-')[2].replace('-', ' ')}"
        self._needs_code = needs_code
        self._declared, self.kinds, self._kind = declared, kinds, kind_of(kinds)
        self.ingredients = recipe.ingredients()
        if is_compiled() and self.ingredients.faults:
            raise ValueError(f"{subject} cannot be compiled: {self.ingredients.faults[0]}")
        self._forms: list[Form] = []
        self._refused: dict[tuple, CompileError | NoCompilerError] = {}  # by kernels
        self._is_loaded = self._compiles_quietly = False
        self._lock = threading.RLock()  # held while it compiles, which other units need not await
        _units.add(self)
        functions = template_functions(sys.modules[recipe.templates], "kernel")
        if not is_compiled():
            self.kernels = dict.fromkeys(functions, refuse_plain) if needs_code else self._plain
        else:
            bound = {each: self._bound(each, function) for each, function in functions.items()}
            self.kernels = bound

    def address_of(self, kernel: str, arguments: tuple[Any, ...]) -> int:
        """The address of a kernel's machine code, for arguments of the same layouts as these.

        Raises:
            TypeError: kernels do not take such arguments.
            CompileError, NoCompilerError, ValueError: see `load`.
        """
        return loading.address_of(self._form_of(kernel, arguments).symbol)

    @cached_property
    def _plain(self) -> dict[str, Callable[..., Any]]:
        """The kernels as plain Python."""
        copies = Copies(self.recipe.rules(), lambda function, _: function)
        functions = template_functions(sys.modules[self.recipe.templates], "kernel")
        return {name: _wrapping_round(copies.of(each)) for name, each in functions.items()}

    def _bound(self, name: str, function: FunctionType) -> Callable[..., Any]:
        """A callable that finds machine code when it is first called with arguments of a layout."""

        def find(*arguments: Any) -> Any:
            try:
                form = self._form_of(name, arguments)
            except NoCompilerError as error:
                if self._needs_code:
                    raise
                _warn_of_plain(self._described, str(error))
                return self._plain[name](*arguments)
            if getattr(_calling_again, "is_set", False):
                given = tuple(map(layout_of, arguments))
                raise TypeError(f"{name} of {self.name} cannot be called with {given}")
            with self._lock:  # another thread may have found the same
                if form.layouts not in added:
                    address = loading.address_of(form.symbol)
                    calling.add(kernel, address, form.layouts, form.returned)
                    added.add(form.layouts)
            _calling_again.is_set = True
            try:
                return kernel(*arguments)
            finally:
                _calling_again.is_set = False

        added: set[tuple[Any, ...]] = set()
        is_brief = getattr(function, "ludarium_is_brief", False)
        kernel: Callable[..., Any] = calling.kernel(name, find, is_brief)
        return kernel

    def load(self) -> None:
        """Load the code of the declared kernels; it is made if it is nowhere.

        Raises:
            CompileError: a function cannot be compiled.
            NoCompilerError: there is no code, and none can be made.
            ValueError: ``LUDARIUM_CODE`` forbids to make it.
        """
        if self._compiles_quietly:
            self._compiles_quietly = False
            self._announce()
        with self._lock:
            if not self._is_loaded:
                self._load(self._asked)
                self._is_loaded = True

    def load_quietly(self) -> None:
        """Do what `load` does, for a thread in the background: raise and announce nothing.

        Whoever calls `load` meanwhile or later announces it and gets the errors.
        """
        with suppress(CompileError, ValueError), self._lock:
            if not self._is_loaded:
                self._load(self._asked, is_quiet=True)
                self._is_loaded = True

    def _form_of(self, kernel: str, arguments: tuple[Any, ...]) -> Form:
        self.load()
        layouts = tuple(map(layout_of, arguments))
        with self._lock:
            found = self._known(kernel, layouts)
            if found is None:
                self._load([(kernel, layouts)])
                found = self._known(kernel, layouts)
            assert found is not None
            return found

    def _known(self, kernel: str, layouts: tuple[Any, ...]) -> Form | None:
        forms = (each for each in self._forms if each.kernel == kernel)
        return next((each for each in forms if all_fit(layouts, each.layouts)), None)

    def declared(self) -> Kernels:
        """The kernels that the template module declares, for each layout of their arguments."""
        return list(
            dict.fromkeys(
                (kernel, tuple(map(layout_of, arguments))) for kernel, arguments in self._declared()
            )
        )

    def prepare(self) -> None:
        """Make and keep the code of the declared kernels, if it is nowhere.

        Raises:
            CompileError, NoCompilerError, ValueError: see `load`.
        """
        if self._asked:
            self._find(self._asked)

    @cached_property
    def _asked(self) -> Kernels:
        return self.declared()

    def _load(self, kernels: Kernels, is_quiet: bool = False) -> None:
        """Add forms of kernels, ready to be called; what was refused once stays refused."""
        if not kernels:
            return
        refused = self._refused.get(tuple(kernels))
        if refused is not None:
            raise refused.with_traceback(None)
        try:
            code = self._find(kernels, is_announced=not is_quiet)
            if code.content:
                try:
                    loading.load(code.content)
                except ImportError as error:  # the cache has code of another environment
                    raise NoCompilerError(reason_against() or str(error)) from error
        except (CompileError, NoCompilerError) as error:
            self._refused[tuple(kernels)] = error
            raise
        self._forms += code.forms

    def _announce(self) -> None:
        if self.subject:
            say(f"ludarium: compiling {self.title}")

    def _find(self, kernels: Kernels, is_announced: bool = False) -> ObjectCode:
        """Machine code of kernels, without content if it was in a library and is loaded."""
        if self.ingredients.has("__main__"):
            raise NoCompilerError(
                "it is in the program that was started, which the process that compiles cannot "
                "import: put it into a module"
            )
        if not self._kind:
            raise NoCompilerError(f"there is no code for processors like this ({processor()!r})")
        try:
            digest = self.ingredients.digest(source_of)
        except OSError as error:
            digest, reason = None, str(error)
        if "shipped" in places():
            forms = libraries.find(self.name, self._kind, kernels, digest)
            if forms is not None:
                return ObjectCode(forms, b"")
        if "own" not in places():
            raise ValueError(
                f"{libraries.folder()} has no code of {self.name} for {self._kind} "
                f"({kernels[0][0]}): run without LUDARIUM_CODE={os.environ['LUDARIUM_CODE']}"
            )
        if digest is None:
            raise NoCompilerError(f"its sources cannot be read ({reason})")
        given = (digest, self._kind, sys.platform, kernels)
        key = hashlib.sha256(repr(given).encode()).hexdigest()[:24]
        code = object_cache.read(self.name, key)
        if code is not None:
            return code
        obstacle = reason_against()
        if obstacle is not None:
            raise NoCompilerError(obstacle)
        if is_announced:
            self._announce()
        self._compiles_quietly = not is_announced
        try:
            with object_cache.making(self.name, key):
                code = object_cache.read(self.name, key)
                if code is None:
                    forms, (content,) = compiled(
                        *(self.recipe, digest, self.ingredients.files(), kernels),
                        *(self._kind, f"ludarium_{key}"),
                    )
                    code = ObjectCode(forms, content)
                    if self.ingredients.is_current():
                        object_cache.keep(self.name, key, code)
        finally:
            self._compiles_quietly = False
        return code


def _wrapping_round(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel in plain Python, whose integers of numpy wrap round in silence, as compiled ones."""

    @wraps(kernel)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return kernel(*arguments)

    return call


def load_in_background(units: Iterable[Unit]) -> None:
    """Load or compile units, each in a thread, while the caller goes on: `Unit.load_quietly`."""
    for each in units:
        if is_compiled() and not each._is_loaded:
            threading.Thread(target=each.load_quietly, daemon=True).start()


_units: WeakSet[Unit] = WeakSet()
_calling_again = threading.local()  # set while a kernel that has its code now is called once more


@cache
def _warn_of_plain(subject: str, reason: str) -> None:
    warnings.warn(
        f"{subject} has no machine code here, so it runs as plain Python, 100 to 10,000 times "
        f"slower: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )


def _renew_locks() -> None:
    """In a forked process nobody would release the locks that other threads held."""
    for each in _units:
        each._lock, each._compiles_quietly = threading.RLock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
