"""Compiles parts and kernels to machine code; parts are linked into kernels and optimised there.

numba compiles each function on its own: it optimises a callee, makes machine code and two wrappers
of it, then optimises the same code again in every caller. A kernel here has dozens of callees that
nobody calls but kernels, so a *part* is kept as LLVM's intermediate code only, and a *kernel* links
all parts that it needs at once. That takes less than half the time, and because the parts become
internal functions of the kernel, the kernel gets somewhat faster.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import types

from .disk_cache import KernelCache
from .private import (
    Compiler,
    CPUDispatcher,
    JITCodeLibrary,
    NumbasCache,
    lookup_environment,
)

#: Compiler flags of everything. With ``_nrt`` off, compiled code counts no references to arrays:
#: nothing here makes one, and callers keep those that they pass. The counts are atomic, so
#: threads that share an array would wait for each other.
_OPTIONS: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "boundscheck": None,
}

_ENVIRONMENT = "_ZN08NumbaEnv"  # begins the names of variables that point to numba's environments


def kernel(function: Any, name: str, sources: str) -> Callable:
    """Compile an entry point, which Python calls; keep it on disk, see `KernelCache`."""
    dispatcher = CPUDispatcher(
        function, targetoptions=dict(_OPTIONS), pipeline_class=_KernelCompiler
    )
    subject = getattr(function, "ludarium_subject", "")
    is_current = getattr(function, "ludarium_is_current", lambda: True)
    dispatcher._cache = KernelCache(name, sources, subject, is_current)
    return dispatcher


def part(function: Any, forceinline: bool = False, disjoint: bool = False) -> Any:
    """Compile a function to intermediate code for kernels, and for Python if that calls it."""
    options = _OPTIONS | {"forceinline": forceinline}
    return _Part(function, options, _LeafCompiler if disjoint else _PartCompiler)


def address_of(kernel: Any, arguments: tuple[Any, ...]) -> int:
    """The address of a kernel's machine code for numba's types of arguments.

    The code has numba's calling convention; its address is valid as long as the process runs.
    """
    kernel.compile(arguments)
    compiled = kernel.overloads[arguments]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


def keep_unoptimised() -> None:
    """Make this process compile to intermediate code that depends on no particular processor.

    From now on LLVM's passes, which choose by the processor, do not run, and numba's own cache is
    neither read nor written. Call this only in a process that serves `intermediate_code`.
    """
    JITCodeLibrary._optimize_functions = _leave_as_it_is
    JITCodeLibrary._optimize_final_module = _leave_as_it_is
    NumbasCache.load_overload = _leave_as_it_is
    NumbasCache.save_overload = _leave_as_it_is


def _leave_as_it_is(library: Any, *_: Any) -> None:
    """Replaces a step that would optimise, load or store compiled code."""


def intermediate_code(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """Compile a kernel's function to LLVM's intermediate code, which another target then compiles.

    Args:
        function: the function of a kernel, ``py_func``.
        arguments: numba's types of its arguments.

    Returns:
        numba's result of the compilation, which holds the signature and the calling
        convention, and the modules of the function and of all that it calls, each once.
    """
    callee = _Callee(function, targetoptions=dict(_OPTIONS), pipeline_class=_PartCompiler)
    callee.compile(arguments)
    result = callee.overloads[arguments]
    result.library._ensure_finalized()
    return result, [each._get_module_for_linking() for each in result.library.all_parts()]


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


class _KernelLibrary(JITCodeLibrary):
    """A function with all the parts that it calls, optimised together."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._own: set[str] = set()

    def add_llvm_module(self, module: Any) -> None:
        self._own.update(each.name for each in module.functions if not each.is_declaration)
        super().add_llvm_module(module)

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        for each in library.all_parts() if isinstance(library, _PartLibrary) else [library]:
            super().add_linking_library(each)

    def _optimize_final_module(self) -> None:
        # The parts become private to the kernel: one with a single caller is inlined, and no other
        # kernel's part of the same name is mistaken for it.
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._own:
                function.linkage = "internal"
        super()._optimize_final_module()


class _LeafLibrary(_KernelLibrary):
    """A function and its parts as optimised intermediate code, for other libraries to link."""

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
    """Makes optimised intermediate code, under the promise that arguments never overlap."""

    library = _LeafLibrary
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


class _KernelCompiler(_FlaggedCompiler):
    """Makes machine code that Python can call."""

    switched_on = ("no_cfunc_wrapper",)

    def compile_extra(self, function: Any) -> Any:
        codegen = self.state.targetctx.codegen()
        library = self.state.library = _KernelLibrary(codegen, function.__qualname__)
        library.enable_object_caching()
        with _without_collections():
            result = super().compile_extra(function)
        for variable in library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    codegen.set_env(variable.name, environment)
        return result


# Dispatchers: from a call to the compiler.


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


class _Part(CPUDispatcher):
    """Called from Python, as a kernel is, or from compiled code, which then links it."""

    def __init__(self, function: Any, options: dict[str, Any], compiler: type) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_KernelCompiler)
        self._callee = _Callee(function, targetoptions=options, pipeline_class=compiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self._callee.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self._callee.get_overload(sig)

    @property
    def nopython_signatures(self) -> Any:
        return self._callee.nopython_signatures
