"""Compiles a game's kernels to a WebAssembly object file.

numba translates each kernel to LLVM's intermediate code. What it makes of it after that is for this
machine's processor; here llvmlite, which comes with numba and knows WebAssembly, goes on instead.
Every kernel gets an export: a function that takes and returns plain numbers, and calls the kernel
with arrays whose addresses are constants. Once that is inlined, nothing of numba's ways to pass
arrays is left.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import typeof, types

from ludarium.envs.engine.codegen import intermediate_code, keep_unoptimised
from ludarium.envs.engine.compile import GivenPart, specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.numba_private import RuntimeLinker, normalize_ir_text, populate_array
from ludarium.models.kernels.target import WASM, compile_for

from .memory import LINE, named_arrays

_TRIPLE = "wasm32-unknown-unknown"
#: All in every browser since 2021; SIMD (128 bits) makes large boards up to twice as fast.
_FEATURES = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128"
_NUMBER = ir.DoubleType()  # what exports take and return, as JavaScript does


def exported_kernels(templates: ModuleType) -> dict[str, Callable]:
    """The kernels that a template module defines, by name."""
    return {
        name: value
        for name, value in vars(templates).items()
        if getattr(value, "ludarium_template", "") == "kernel"
        and value.__module__ == templates.__name__
    }


def numbers_of(function: Callable, memory: Mapping[str, Any]) -> list[str]:
    """The arguments of a kernel that are numbers: those that are not the module's memory."""
    return [name for name in inspect.signature(function).parameters if name not in memory]


def compile_object(
    game: Game,
    templates: ModuleType,
    memory: Mapping[str, Any],
    loaded: Mapping[str, Any],
    **given: GivenPart,
) -> bytes:
    """Compile all kernels of ``templates`` for a game.

    For a process of its own: code compiled after this is not optimised, see `keep_unoptimised`.

    Args:
        game: the rules.
        templates: the template module.
        memory: what the kernels' arguments of these names are: tuples of arrays, whose contents
            the module starts with.
        loaded: the same, tuples of one-dimensional arrays that are put into the memory once the
            module runs: only their types count. `places_of` are where they are.
        given: parts for the templates, see `specialise`.

    Returns:
        An object file, which defines a function for each kernel and a variable for each array.
    """
    keep_unoptimised()
    compile_for(WASM)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(
        opt=3, reloc="static", features=_FEATURES
    )
    kernels = specialise(templates, game.rules, game.view, **given)
    exports = _Exports(memory, loaded)
    called: dict[Any, None] = {}
    for name, template in exported_kernels(templates).items():
        function = getattr(kernels, name).py_func
        numbers = numbers_of(template, {**memory, **loaded})
        called.update(dict.fromkeys(exports.add(name, function, numbers)))
    module = exports.parsed()
    for part in called:
        copy = _resolved(part)
        _retarget(copy, machine)
        module.link_in(copy)
    _retarget(module, machine)
    _hide_all_but(module, exports.names)
    _optimise(module, machine)
    module.verify()
    return machine.emit_object(module)


class _Exports:
    """A module of functions that call kernels, and of the arrays that they work on."""

    def __init__(self, memory: Mapping[str, Any], loaded: Mapping[str, Any]) -> None:
        self._memory = {**memory, **loaded}
        self._module = ir.Module("exports")
        self.names: set[str] = set()
        self._variables: dict[int, Any] = {}
        self._places: dict[int, tuple[Any, int]] = {}  # of arrays that are loaded
        for name, value in memory.items():
            for full_name, array in named_arrays(name, value).items():
                self._add_array(full_name, array)
        for name, value in loaded.items():
            # Fields may share an array that is empty; they are told apart by copies.
            arrays = self._memory[name] = type(value)(*(array.copy() for array in value))
            places = self._memory[f"{name}_places"] = places_of(value)
            self._add_array(f"{name}_places", places)
            for number, array in enumerate(arrays):
                self._places[id(array)] = self._variables[_address(places)], number

    def parsed(self) -> Any:
        """The module as LLVM has it."""
        return llvm.parse_assembly(normalize_ir_text(str(self._module)))

    def add(self, name: str, function: Callable, numbers: list[str]) -> list[Any]:
        """Add a kernel's export; return the modules of the kernel and of what it calls."""
        memory = [self._memory[each] for each in self._memory_of(function, numbers)]
        arguments = (*map(typeof, memory), *(types.int64 for _ in numbers))
        result, modules = intermediate_code(function, arguments)
        context = result.target_context
        kind = ir.FunctionType(_NUMBER, [_NUMBER] * len(numbers))
        export = ir.Function(self._module, kind, name)
        builder = ir.IRBuilder(export.append_basic_block())
        values = [
            self._constant(context, builder, type_, value)
            for type_, value in zip(arguments, memory, strict=False)
        ]
        values += [builder.fptosi(number, ir.IntType(64)) for number in export.args]
        kernel = context.declare_function(self._module, result.fndesc)
        returned = result.signature.return_type
        _, answer = context.call_conv.call_function(builder, kernel, returned, arguments, values)
        builder.ret(_as_number(builder, returned, answer))
        self.names.add(name)
        return modules

    def _memory_of(self, function: Callable, numbers: list[str]) -> list[str]:
        return [name for name in inspect.signature(function).parameters if name not in numbers]

    def _add_array(self, name: str, array: np.ndarray) -> None:
        if _address(array) in self._variables:
            return  # another view of an array that is there
        kind = ir.ArrayType(ir.IntType(8), array.nbytes)
        variable = ir.GlobalVariable(self._module, kind, name)
        variable.align = LINE
        content = array.tobytes()
        variable.initializer = ir.Constant(kind, bytearray(content) if any(content) else None)
        variable.global_constant = name.endswith("_tables")
        self._variables[_address(array)] = variable
        self.names.add(name)

    def _constant(self, context: Any, builder: Any, kind: Any, value: Any) -> Any:
        """What numba passes for an array or a tuple of them, with constant addresses."""
        if not isinstance(value, np.ndarray):
            entries = [
                self._constant(context, builder, entry, each)
                for entry, each in zip(kind, value, strict=True)
            ]
            return context.make_tuple(builder, kind, entries)
        pointer = context.get_value_type(types.CPointer(kind.dtype))
        array = context.make_array(kind)(context, builder)
        numbers = [
            [context.get_constant(types.intp, each) for each in sizes]
            for sizes in (value.shape, value.strides)
        ]
        if id(value) in self._places:
            address, numbers[0] = self._place(builder, *self._places[id(value)])
            data = builder.inttoptr(address, pointer)
        else:
            data = builder.bitcast(self._variables[_address(value)], pointer)
        size = context.get_constant(types.intp, value.itemsize)
        populate_array(array, data, *numbers, size, None)
        return array._getvalue()

    def _place(self, builder: Any, places: Any, number: int) -> tuple[Any, list[Any]]:
        """Address and shape of a loaded array, when the kernel runs."""
        whole = ir.IntType(64)
        first = builder.bitcast(places, whole.as_pointer())
        address, length = (
            builder.load(builder.gep(first, [whole(2 * number + k)])) for k in range(2)
        )
        return address, [length]


def places_of(loaded: Any) -> np.ndarray:
    """An array for where loaded arrays are: int64 [arrays, 2], the address and the length."""
    return np.zeros((len(loaded), 2), np.int64)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _as_number(builder: Any, kind: Any, value: Any) -> Any:
    """What a kernel returns as an export does."""
    if kind == types.none:
        return _NUMBER(0)
    if kind == types.boolean:
        return builder.uitofp(value, _NUMBER)
    if isinstance(kind, types.Integer) and getattr(kind, "signed", False):
        return builder.sitofp(value, _NUMBER)
    raise TypeError(f"an export cannot return {kind}: kernels here return whole numbers or nothing")


def _resolved(module: Any) -> Any:
    """A copy of a module in which functions that call themselves find themselves.

    numba lets them call what a variable points at, and sets that when it loads the code.
    """
    text = str(module)
    if RuntimeLinker.PREFIX not in text:
        return module.clone()
    variable = re.compile(rf'^@"{re.escape(RuntimeLinker.PREFIX)}([^"]+)" = .*$', re.MULTILINE)
    name = rf'@"{RuntimeLinker.PREFIX}\1" = internal constant ptr @"\1"'
    return llvm.parse_assembly(variable.sub(name, text))


def _retarget(module: Any, machine: Any) -> None:
    module.triple = _TRIPLE
    module.data_layout = str(machine.target_data)


def _hide_all_but(module: Any, names: set[str]) -> None:
    """Make everything else internal, so that what no export needs vanishes."""
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in names:
            each.linkage = "internal"


def _optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
