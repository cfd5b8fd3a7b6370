"""Compiles a game's kernels to object files, for any machine that LLVM knows.

numba translates each kernel to LLVM's intermediate code. numba itself would go on for this
machine's processor; here llvmlite, which comes with numba and knows many processors, continues
instead. Every kernel gets an export: a function that takes and returns plain numbers, and calls the
kernel with arrays at known places. Once the kernel is inlined, numba's way of passing arrays is
gone.
"""

from __future__ import annotations

import inspect
import multiprocessing
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import typeof, types

from ludarium.envs.engine.jit.linked import intermediate_code, keep_unoptimised
from ludarium.envs.engine.jit.private import RuntimeLinker, normalize_ir_text, populate_array
from ludarium.models.kernels.target import Target, compile_for

#: The place of every array is a multiple of this many bytes.
LINE = 64

Built = TypeVar("Built")


@dataclass(frozen=True)
class Machine:
    """A machine for which code is compiled.

    Attributes:
        triple: LLVM's name of processor, vendor and system.
        network: the blocks of networks that fit its registers.
        processor: LLVM's name of the oldest processor that runs it; empty for any.
        features: additional features, in LLVM's notation.
        relocation: ``static``, or ``pic`` for code that may lie anywhere.
    """

    triple: str
    network: Target
    processor: str = ""
    features: str = ""
    relocation: str = "pic"

    def opened(self) -> Any:
        """LLVM's target machine."""
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.processor,
            features=self.features,
            opt=3,
            reloc=self.relocation,
            codemodel="small",
        )


def in_own_process(build: Callable[..., Built], *arguments: Any) -> Built:
    """Run a function in a new process, as `begin_compiling` requires, and return its result."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(build, *arguments).result()


def begin_compiling(network: Target) -> None:
    """Make this process compile for other machines, with these blocks of networks.

    Call this in a dedicated process: code compiled afterwards is not optimised, see
    `keep_unoptimised`.
    """
    keep_unoptimised()
    compile_for(network)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def exported_kernels(templates: ModuleType) -> dict[str, Callable]:
    """The kernels that a template module defines, by name."""
    return {
        name: value
        for name, value in vars(templates).items()
        if getattr(value, "ludarium_template", "") == "kernel"
        and value.__module__ == templates.__name__
    }


def numbers_of(function: Callable, memory: Mapping[str, Any]) -> list[str]:
    """The names of a kernel's arguments that are numbers rather than memory."""
    return [name for name in inspect.signature(function).parameters if name not in memory]


class Exports(ABC):
    """A module of functions that call kernels.

    Args:
        memory: the kernels' arguments that are tuples of arrays, by name.

    Attributes:
        module: the functions and everything that they need.
        names: the names that other objects see.
    """

    #: The type that exports take and return.
    number: ir.Type

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self.memory = dict(memory)
        self.module = ir.Module("exports")
        self.names: set[str] = set()
        self._called: dict[Any, None] = {}

    @abstractmethod
    def begin(self, name: str, numbers: int) -> tuple[ir.IRBuilder, list[Any]]:
        """Begin an export with some numbers; return its builder, and the numbers as int64."""

    @abstractmethod
    def place(self, builder: ir.IRBuilder, array: np.ndarray) -> tuple[Any, Any]:
        """Address of an array in an export; its length if known only at run time, else None."""

    @abstractmethod
    def as_number(self, builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
        """A whole number of a kernel in the type that exports return."""

    def add(self, name: str, function: Callable, numbers: list[str]) -> None:
        """Add a kernel's export.

        Args:
            name: the export's name.
            function: ``py_func`` of a kernel's copy, see `specialise`.
            numbers: names of its arguments that are numbers, which come last.
        """
        entries = [
            self.memory[each]
            for each in inspect.signature(function).parameters
            if each not in numbers
        ]
        arguments = (*map(typeof, entries), *(types.int64 for _ in numbers))
        result, modules = intermediate_code(function, arguments)
        context = result.target_context
        builder, given = self.begin(name, len(numbers))
        values = [
            self._value(context, builder, kind, value)
            for kind, value in zip(arguments, entries, strict=False)
        ]
        kernel = context.declare_function(self.module, result.fndesc)
        returned = result.signature.return_type
        _, answer = context.call_conv.call_function(
            builder, kernel, returned, arguments, values + given
        )
        builder.ret(self._returned(builder, returned, answer))
        self.names.add(name)
        self._called.update(dict.fromkeys(modules))

    def object_code(self, machine: Machine) -> bytes:
        """An object file for a machine, with everything that the exports call."""
        opened = machine.opened()
        module = llvm.parse_assembly(normalize_ir_text(str(self.module)))
        for part in self._called:
            copy = _resolved(part)
            _retarget(copy, machine, opened)
            module.link_in(copy)
        _retarget(module, machine, opened)
        self.finish(module)
        _optimise(module, opened)
        module.verify()
        return opened.emit_object(module)

    def finish(self, module: Any) -> None:
        """Make everything outside `names` internal, so that code that no export needs vanishes."""
        for each in (*module.functions, *module.global_variables):
            if not each.is_declaration and each.name not in self.names:
                each.linkage = "internal"

    def _returned(self, builder: Any, kind: Any, value: Any) -> Any:
        if kind == types.none:
            return self.number(0)
        if kind == types.boolean:
            return self.as_number(builder, False, value)
        if isinstance(kind, types.Integer) and getattr(kind, "signed", False):
            return self.as_number(builder, True, value)
        raise TypeError(
            f"an export cannot return {kind}: kernels here return whole numbers or nothing"
        )

    def _value(self, context: Any, builder: Any, kind: Any, value: Any) -> Any:
        """numba's representation of an array or a tuple of arrays."""
        if not isinstance(value, np.ndarray):
            entries = [
                self._value(context, builder, entry, each)
                for entry, each in zip(kind, value, strict=True)
            ]
            return context.make_tuple(builder, kind, entries)
        shape, strides = (
            [context.get_constant(types.intp, each) for each in sizes]
            for sizes in (value.shape, value.strides)
        )
        address, length = self.place(builder, value)
        if length is not None:
            shape = [length]
        data = builder.bitcast(address, context.get_value_type(types.CPointer(kind.dtype)))
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, value.itemsize)
        populate_array(array, data, shape, strides, size, None)
        return array._getvalue()


def constant(module: ir.Module, name: str, content: bytes) -> ir.GlobalVariable:
    """Add a variable with this content; content of zeros alone takes no space."""
    kind = ir.ArrayType(ir.IntType(8), len(content))
    variable = ir.GlobalVariable(module, kind, name)
    variable.align = LINE
    variable.initializer = ir.Constant(kind, bytearray(content) if any(content) else None)
    return variable


def address_of(array: np.ndarray) -> int:
    """The address of an array in this process, which identifies it up to views."""
    return array.__array_interface__["data"][0]


def _resolved(module: Any) -> Any:
    """A copy of a module in which recursive functions are bound to themselves.

    numba lets them call through a variable, and sets it when it loads the code.
    """
    text = str(module)
    if RuntimeLinker.PREFIX not in text:
        return module.clone()
    variable = re.compile(rf'^@"{re.escape(RuntimeLinker.PREFIX)}([^"]+)" = .*$', re.MULTILINE)
    name = rf'@"{RuntimeLinker.PREFIX}\1" = internal constant ptr @"\1"'
    return llvm.parse_assembly(variable.sub(name, text))


def _retarget(module: Any, machine: Machine, opened: Any) -> None:
    module.triple = machine.triple
    module.data_layout = str(opened.target_data)


def _optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
