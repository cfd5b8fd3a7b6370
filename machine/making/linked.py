"""Compiles parts and kernels to LLVM's intermediate code, each function once.

numba compiles each function on its own: it optimises a callee, makes machine code and two wrappers
of it, then optimises the same code again in every caller. A kernel here has dozens of callees that
Python never calls, so a function is kept as LLVM's intermediate code only, and `exports` links
all that its kernels need at once. That takes less than half the time, and because the parts
become internal functions, the kernels run faster: some in half the time, or a third.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types

from ludarium.machine.marks import Mark

from .numba_names import Compiler, CPUDispatcher, JITCodeLibrary

#: Compiler flags of everything. With ``_nrt`` off, compiled code counts no references to arrays:
#: nothing here makes one, and callers keep those that they pass.
_OPTIONS: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "boundscheck": None,
}


def compiled(function: Any, mark: Mark) -> Any:
    """A function for numba, to be called from compiled code."""
    compiler = _LeafCompiler if mark == "leaf" else _PartCompiler
    options = _OPTIONS | {"forceinline": mark in ("inlined", "leaf")}
    return _Callee(function, targetoptions=options, pipeline_class=compiler)


def intermediate_code(callee: Any, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Compile a function to LLVM's intermediate code, which depends on no particular processor.

    Args:
        callee: what `compiled` returned.
        arguments: numba's types of its arguments.

    Returns:
        numba's result of the compilation, which holds the signature and the calling
        convention, and the libraries of the function and of all that it calls, each once.
    """
    with _without_collections():
        callee.compile(arguments)
    result = callee.overloads[arguments]
    result.library._ensure_finalized()
    return result, result.library.all_parts()


def _leave_as_it_is(library: Any, *_: Any) -> None:
    """Replaces a step that would optimise: LLVM's passes choose by the processor."""


JITCodeLibrary._optimize_functions = _leave_as_it_is
JITCodeLibrary._optimize_final_module = _leave_as_it_is


# Libraries: the compiled forms of one function.


class _PartLibrary(JITCodeLibrary):
    """The intermediate code of one part alone, and the libraries of what it calls."""

    def finalize(self) -> None:
        self._finalized = True
        self._whole: Any = None
        self.alone = _Alone(self)

    def all_parts(self) -> list[Any]:
        """The libraries that a kernel links for this part: itself and its callees, each once."""
        found: dict[Any, None] = {}
        waiting = [self]
        while waiting:
            library = waiting.pop()
            if isinstance(library, _PartLibrary):
                if library.alone not in found:
                    found[library.alone] = None
                    waiting += library._linking_libraries
            else:
                found[library] = None
        return list(found)

    def _get_module_for_linking(self) -> Any:
        """One module with the part and all that it calls, for callers outside this package."""
        if self._whole is None:
            first, *others = self.all_parts()
            self._whole = first._get_module_for_linking().clone()
            for other in others:
                self._whole.link_in(other._get_module_for_linking(), preserve=True)
        return self._whole


class _Alone:
    """A part's library without its callees, as a library to link."""

    _reload_init = ()  # no code to run when a kernel is loaded from the cache

    def __init__(self, library: _PartLibrary) -> None:
        module = library._final_module.clone()
        for function in module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        self._module = module

    def _get_module_for_linking(self) -> Any:
        return self._module

    def _ensure_finalized(self) -> None:
        """Do nothing: the module is a finished copy."""


class LeafLibrary(JITCodeLibrary):
    """A function with all the parts that it calls, to be optimised together before it is linked.

    Attributes:
        own: the names of its own functions, which callers see.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.own: set[str] = set()

    def add_llvm_module(self, module: Any) -> None:
        """Note the names of a module of its own."""
        self.own.update(each.name for each in module.functions if not each.is_declaration)
        super().add_llvm_module(module)

    def add_linking_library(self, library: Any) -> None:
        """Link a library, and all parts that it links."""
        library._ensure_finalized()
        for each in library.all_parts() if isinstance(library, _PartLibrary) else [library]:
            super().add_linking_library(each)

    def all_parts(self) -> list[Any]:
        """The libraries that a kernel links for it: itself."""
        return [self]

    def _finalize_final_module(self) -> None:
        self._finalized = True


# Compilers: from the function to its library.


class _FlaggedCompiler(Compiler):
    """Compiles with more of numba's flags switched on."""

    switched_on: tuple[str, ...] = ()

    def __init__(
        self,
        typing: Any,
        target: Any,
        library: Any,
        args: Any,
        result: Any,
        flags: Any,
        local_types: Any,
    ) -> None:
        for flag in self.switched_on:
            setattr(flags, flag, True)
        super().__init__(typing, target, library, args, result, flags, local_types)


class _PartCompiler(_FlaggedCompiler):
    """Makes intermediate code only."""

    library = _PartLibrary
    switched_on: tuple[str, ...] = ("no_cpython_wrapper", "no_cfunc_wrapper", "no_compile")

    def compile_extra(self, function: Any) -> Any:
        target = self.state.targetctx
        self.state.library = self.library(target.codegen(), function.__qualname__)
        result = super().compile_extra(function)
        entry_point = object()  # stands in for code: callers look the function up by it
        target.insert_user_function(entry_point, result.fndesc, [result.library])
        return result._replace(entry_point=entry_point)


class _LeafCompiler(_PartCompiler):
    """Makes a `LeafLibrary`, under the promise that arguments never overlap."""

    library = LeafLibrary
    switched_on = (*_PartCompiler.switched_on, "noalias")


@contextmanager
def _without_collections() -> Iterator[None]:
    """A context without Python's searches for garbage, which take a tenth of a compilation."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Callee(CPUDispatcher):
    """Called from compiled code only; signed integers of any width come in as int64.

    Otherwise a constant, an int32 and an int64 would make three copies of the function.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(_widened, args)), kws)

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres


def _widened(kind: Any) -> Any:
    return types.intp if getattr(kind, "signed", False) else kind
