"""The kernels of a template module: callables whose machine code is found or made at first use.

Code comes from the first place that has it: the libraries that the package was shipped with; the
cache of object code; the compiler. Without one the kernels run as plain Python, after a warning.
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
from functools import cache, cached_property, wraps
from types import FunctionType
from typing import Any

import numpy as np

from ludarium.base.console import say

from . import cache as object_cache
from . import calling, libraries, loading
from .cache import Form, ObjectCode
from .compiler import NoCompilerError, compiled, reason_against
from .copies import Copies, template_functions
from .layouts import fits, layout_of
from .machines import OF_RULES, kind_of, processor
from .marks import source_of
from .recipe import Recipe

#: Names of kernels, with layouts of their arguments.
Kernels = list[tuple[str, tuple[Any, ...]]]

_PLACES = {"": ("shipped", "own"), "plain": (), "own": ("own",), "shipped": ("shipped",)}


@cache
def places() -> tuple[str, ...]:
    """Where code may come from.

    Raises:
        ValueError: ``LUDARIUM_CODE`` has another value.
    """
    given = os.environ.get("LUDARIUM_CODE", "")
    if given not in _PLACES:
        accepted = ", ".join(filter(None, _PLACES))
        raise ValueError(f"LUDARIUM_CODE={given!r} means nothing; accepted: {accepted}")
    return _PLACES[given]


def is_compiled() -> bool:
    """Whether kernels run as machine code, rather than as plain Python."""
    return bool(places())


class Unit:
    """The kernels of one template module for one game, or for none.

    Args:
        name: the beginning of names of files.
        subject: a game or ``networks``, for messages; empty: none is shown.
        recipe: what the kernels are made of.
        declared: gives kernels' names with arguments of each layout that they are called with.
        kinds: the kinds of processors that have code of their own, see `machines`.
        needs_code: whether the kernels cannot run as plain Python; without a compiler they then
            raise a `NoCompilerError`.

    Attributes:
        kernels: callables, by name.
        kinds: the kinds of processors that have code of their own.
    """

    def __init__(
        self,
        name: str,
        subject: str,
        recipe: Recipe,
        declared: Callable[[], Iterable[tuple[str, tuple[Any, ...]]]],
        kinds: tuple[str, ...] = OF_RULES,
        needs_code: bool = False,
    ) -> None:
        self.name, self.subject, self.recipe = name, subject, recipe
        self._needs_code = needs_code
        self._declared, self.kinds, self._kind = declared, kinds, kind_of(kinds)
        self.ingredients = recipe.ingredients()
        if is_compiled() and self.ingredients.faults:
            raise ValueError(f"{subject} cannot be compiled: {self.ingredients.faults[0]}")
        self._forms: list[Form] = []
        self._is_loaded = False
        functions = template_functions(sys.modules[recipe.templates], "kernel")
        if not is_compiled():
            self.kernels = self._plain
        else:
            bound = {each: self._bound(each, function) for each, function in functions.items()}
            self.kernels = bound

    def address_of(self, kernel: str, arguments: tuple[Any, ...]) -> int:
        """The address of a kernel's machine code, for arguments of these layouts."""
        layouts = tuple(map(layout_of, arguments))
        form = self._form_of(kernel, layouts)
        return loading.address_of(form.symbol)

    @cached_property
    def _plain(self) -> dict[str, Callable[..., Any]]:
        """The kernels as plain Python."""
        copies = Copies(self.recipe.rules(), lambda function, _: function)
        functions = template_functions(sys.modules[self.recipe.templates], "kernel")
        return {name: _wrapping_round(copies.of(each)) for name, each in functions.items()}

    def _bound(self, name: str, function: FunctionType) -> Callable[..., Any]:
        """A callable that finds machine code when it is first called with arguments of a layout."""

        def find(*arguments: Any) -> Any:
            layouts = tuple(map(layout_of, arguments))
            try:
                form = self._form_of(name, layouts)
            except NoCompilerError as error:
                if self._needs_code:
                    raise
                _warn_of_plain(self.subject, str(error))
                return self._plain[name](*arguments)
            if getattr(_calling_again, "is_set", False):
                raise TypeError(f"{name} of {self.name} cannot be called with {layouts}")
            with _is_finding:  # another thread may have found the same
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

    def _form_of(self, kernel: str, layouts: tuple[Any, ...]) -> Form:
        with _is_finding:
            if not self._is_loaded:
                self._load_declared()
            found = self._known(kernel, layouts)
            if found is None:
                self._forms += self._load([(kernel, layouts)])
                found = self._known(kernel, layouts)
            assert found is not None
            return found

    def _known(self, kernel: str, layouts: tuple[Any, ...]) -> Form | None:
        fitting = (each for each in self._forms if each.kernel == kernel)
        return next((each for each in fitting if fits(layouts, each.layouts)), None)

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
            CompileError: numba refuses a function.
            NoCompilerError: there is no compiler.
        """
        kernels = self.declared()
        if kernels:
            self._find(kernels)

    def _load_declared(self) -> None:
        asked = self.declared()
        if asked:
            self._forms += self._load(asked)
        self._is_loaded = True

    def _load(self, kernels: Kernels) -> tuple[Form, ...]:
        """Forms of kernels, ready to be called."""
        code = self._find(kernels, self.subject)
        if code.content:
            try:
                loading.load(code.content)
            except ImportError as error:  # the cache has code of another environment
                raise NoCompilerError(reason_against() or str(error)) from error
        return code.forms

    def _find(self, kernels: Kernels, subject: str = "") -> ObjectCode:
        """Machine code of kernels, without content if it was in a library and is loaded.

        Compiling is announced with the subject, if there is one.
        """
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
        if code is None:
            if subject and reason_against() is None:
                say(f"ludarium: compiling {subject}: {self.name.rpartition('-')[2]}")
            forms, (content,) = compiled(
                *(self.recipe, digest, self.ingredients.files(), kernels),
                *(self._kind, f"ludarium_{key}"),
            )
            code = ObjectCode(forms, content)
            if self.ingredients.is_current():
                object_cache.keep(self.name, key, code)
        return code


def _wrapping_round(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel in plain Python, whose integers of numpy wrap round in silence, as compiled ones."""

    @wraps(kernel)
    def call(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return kernel(*arguments)

    return call


_is_finding = threading.RLock()
_calling_again = threading.local()  # set while a kernel that has its code now is called once more


@cache
def _warn_of_plain(subject: str, reason: str) -> None:
    warnings.warn(
        f"{subject or 'a function'} runs as plain Python, a hundred times slower: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )
