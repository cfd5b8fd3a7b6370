"""Compiles kernels to object files, for any machine that LLVM knows.

numba translates each kernel to LLVM's intermediate code. numba itself would go on for this
machine's processor; here llvmlite, which comes with numba and knows many processors, continues
instead. Every kernel gets an export: a function that takes and returns plain numbers, and calls the
kernel with arrays at known places. Once the kernel is inlined, numba's way of passing arrays is
gone.

`Blocks` are what Python calls. The C library and the WebAssembly modules have exports of their own.
"""

from __future__ import annotations

import inspect
import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import typeof, types

from ludarium.machine.copies import Copies
from ludarium.machine.layouts import example_of
from ludarium.machine.machines import Machine
from ludarium.machine.marks import Emitted
from ludarium.machine.recipe import Recipe

from .linked import LeafLibrary, compiled, intermediate_code
from .numba_names import RuntimeLinker, normalize_ir_text, populate_array

#: The place of a `constant` is a multiple of this many bytes.
LINE = 64

_WORD, _DOUBLE = ir.IntType(64), ir.DoubleType()

#: What code may use of the system; LLVM calls them for copies, for filling memory, on macOS with
#: zeros too, and on Windows for a large stack.
_SYSTEM = {"memset", "memcpy", "memmove", "bzero", "__bzero", "___chkstk_ms"}


#: Of the format ELF: the type of a section with symbols, and the bytes of a symbol.
_ELF_SYMBOLS, _ELF_BYTES = 2, 24
#: Of Mach-O: the command with the places of symbols and names, the bytes of a symbol, the type of
#: one that another object has.
_MACH_SYMBOLS, _MACH_BYTES, _MACH_OTHER = 2, 16, 1
#: Of COFF: the bytes of a symbol, the kind of an external one.
_COFF_BYTES, _COFF_EXTERNAL = 18, 2


def callees(recipe: Recipe, given: Mapping[str, Any] | None = None) -> Callable[[Any], Any]:
    """A function that gives the compiled form of a template function, see `Copies`.

    Template modules of one game share what they call.

    Args:
        recipe: what stands in ``rules``.
        given: marked functions that take the place of template functions, by name.
    """
    if given:
        return Copies(recipe.rules(), compiled, given, emitter).of
    return _shared_copies(recipe.parts, recipe.values).of


@cache
def _shared_copies(parts: tuple, values: tuple) -> Copies:
    return Copies(Recipe("", parts, values).rules(), compiled, None, emitter)


def emitter(part: Emitted) -> Any:
    """What stands for an `Emitted` where kernels are compiled."""
    module, _, name = part.place.partition(":")
    return getattr(import_module(module), name)


class Exports(ABC):
    """A module of functions that call kernels.

    Attributes:
        module: the functions and everything that they need.
        names: the names that other objects see.
    """

    #: The type that exports return.
    number: ir.Type

    def __init__(self) -> None:
        self.module = ir.Module("exports")
        self.names: set[str] = set()
        self._called: dict[Any, None] = {}

    @abstractmethod
    def as_number(self, builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
        """A whole number of a kernel in the type that exports return."""

    def call(
        self,
        builder: ir.IRBuilder,
        callee: Any,
        kinds: tuple[Any, ...],
        read: Callable[[Any], list[Any]],
    ) -> tuple[Any, Any]:
        """Write a call of a kernel.

        Args:
            builder: writes the export.
            callee: what `linked.compiled` returned.
            kinds: numba's types of the arguments.
            read: gives the arguments, for numba's target context.

        Returns:
            numba's type of what the kernel returns, and its value.
        """
        result, parts = intermediate_code(callee, kinds)
        context = result.target_context
        kernel = context.declare_function(self.module, result.fndesc)
        returned = result.signature.return_type
        _, answer = context.call_conv.call_function(builder, kernel, returned, kinds, read(context))
        self._called.update(dict.fromkeys(parts))
        return returned, answer

    def object_code(self, machine: Machine) -> bytes:
        """An object file for a machine, with everything that the exports call.

        Raises:
            TypeError: the code would call other functions of the system than `_SYSTEM`.
        """
        opened = machine.opened()
        module = llvm.parse_assembly(normalize_ir_text(str(self.module)))
        for part in self._called:
            copy = _resolved(part._get_module_for_linking())
            _retarget(copy, machine, opened)
            if isinstance(part, LeafLibrary):
                _optimise_leaf(copy, part.own, opened)
            module.link_in(copy)
        _retarget(module, machine, opened)
        self.finish(module)
        _optimise(module, opened)
        module.verify()
        code: bytes = opened.emit_object(module)
        others = undefined_symbols(code) - _SYSTEM - self.names
        if others:
            names = ", ".join(sorted(others))
            raise TypeError(
                f"compiled code would call {names} of the system, which differs from one to "
                "another: use ludarium.envs.engine.mathematics"
            )
        return code

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
        if isinstance(kind, types.Integer):
            return self.as_number(builder, getattr(kind, "signed", False), value)
        raise TypeError(f"a kernel cannot return {kind}")


class InMemory(Exports):
    """Exports whose kernels take arrays at known places, and then numbers.

    Args:
        memory: the kernels' arguments that are arrays, or tuples of them, by name.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        super().__init__()
        self.memory = dict(memory)

    @abstractmethod
    def begin(self, name: str, numbers: int) -> tuple[ir.IRBuilder, list[Any]]:
        """Begin an export with some numbers; return its builder, and the numbers as int64."""

    @abstractmethod
    def place(self, builder: ir.IRBuilder, array: np.ndarray) -> tuple[Any, Any]:
        """Address of an array in an export; its length if known only at run time, else None."""

    def add(self, name: str, function: Callable, callee: Any) -> None:
        """Add a kernel's export.

        Args:
            name: the export's name.
            function: the kernel; its arguments that are numbers come last.
            callee: what `linked.compiled` returned for its copy.

        Raises:
            TypeError: the kernel returns something else than a whole number, a truth value or
                nothing.
        """
        parameters = list(inspect.signature(function).parameters)
        entries = [self.memory[each] for each in parameters if each in self.memory]
        numbers = len(parameters) - len(entries)
        kinds = (*map(typeof, entries), *[types.int64] * numbers)
        builder, given = self.begin(name, numbers)

        def read(context: Any) -> list[Any]:
            pairs = zip(kinds, entries, strict=False)
            return [*(self._value(context, builder, *each) for each in pairs), *given]

        builder.ret(self._returned(builder, *self.call(builder, callee, kinds, read)))
        self.names.add(name)

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
        return array_at(context, builder, kind, address, shape, strides, value.itemsize)


class Blocks(Exports):
    """Exports ``int64 NAME(int64 *block)``, which `machine.calling` calls.

    The block holds, argument by argument, an array's address, shape and strides in bytes, or a
    number; entries of tuples follow one another. A kernel that returns a tuple writes its entries
    to the block's first words, and returns 0.
    """

    number = _WORD

    def add(self, name: str, callee: Any, layouts: tuple[Any, ...]) -> str:
        """Add a kernel's export for arguments of these layouts.

        Returns:
            What it returns, see ``machine.calling.add``.

        Raises:
            TypeError: the kernel returns something else than a number, a truth value, nothing, or a
                tuple of these.
        """
        kinds = tuple(typeof(example_of(each)) for each in layouts)
        kind = ir.FunctionType(_WORD, [_WORD.as_pointer()])
        export = ir.Function(self.module, kind, name)
        builder = ir.IRBuilder(export.append_basic_block())
        block = _Block(builder, export.args[0])
        returned, answer = self.call(
            builder, callee, kinds, lambda context: [block.read(context, each) for each in kinds]
        )
        if _is_tuple(returned):
            for number, entry in enumerate(returned):
                word = self._word(builder, entry, builder.extract_value(answer, number))
                builder.store(word, builder.gep(export.args[0], [_WORD(number)]))
            builder.ret(_WORD(0))
        else:
            builder.ret(self._word(builder, returned, answer))
        self.names.add(name)
        return _text_of(returned)

    def as_number(self, builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
        """See `Exports.as_number`."""
        return as_word(builder, signed, value)

    def _word(self, builder: ir.IRBuilder, kind: Any, value: Any) -> Any:
        if kind == types.float32:
            value = builder.fpext(value, _DOUBLE)
        if isinstance(kind, types.Float):
            return builder.bitcast(value, _WORD)
        return self._returned(builder, kind, value)


class _Block:
    """Reads a block's words one after the other."""

    def __init__(self, builder: ir.IRBuilder, address: Any) -> None:
        self._builder, self._address, self._at = builder, address, 0

    def read(self, context: Any, kind: Any) -> Any:
        """numba's representation of the next argument."""
        builder = self._builder
        if _is_tuple(kind):
            return context.make_tuple(builder, kind, [self.read(context, each) for each in kind])
        if kind == types.none:
            return context.get_dummy_value()
        if isinstance(kind, types.Array):
            pointer = ir.IntType(8).as_pointer()
            address = builder.inttoptr(self._word(), pointer)
            shape, strides = ([self._word() for _ in range(kind.ndim)] for _ in range(2))
            size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
            return array_at(context, builder, kind, address, shape, strides, size)
        word = self._word()
        if isinstance(kind, types.Boolean):
            return builder.icmp_unsigned("!=", word, _WORD(0))
        if isinstance(kind, types.Float):
            number = builder.bitcast(word, _DOUBLE)
            return number if kind == types.float64 else builder.fptrunc(number, ir.FloatType())
        return word

    def _word(self) -> Any:
        found = self._builder.load(self._builder.gep(self._address, [_WORD(self._at)]))
        self._at += 1
        return found


def _is_tuple(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple)


def _text_of(kind: Any) -> str:
    """What a kernel returns, see ``machine.calling.add``."""
    if _is_tuple(kind):
        return "T" + "".join(map(_text_of, kind))
    if kind == types.none:
        return "n"
    if isinstance(kind, types.Boolean):
        return "b"
    if isinstance(kind, types.Float):
        return "f" if kind == types.float64 else "g"
    return "i" if getattr(kind, "signed", False) else "u"


def as_word(builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
    """A whole number as int64."""
    if value.type == _WORD:
        return value
    return (builder.sext if signed else builder.zext)(value, _WORD)


def array_at(
    context: Any, builder: Any, kind: Any, address: Any, shape: Any, strides: Any, size: int
) -> Any:
    """numba's representation of an array of a type at an address; ``size`` of an entry in bytes."""
    data = builder.bitcast(address, context.get_value_type(types.CPointer(kind.dtype)))
    array = context.make_array(kind)(context, builder)
    itemsize = context.get_constant(types.intp, size)
    populate_array(array, data, shape, strides, itemsize, None)
    return array._getvalue()


def constant(module: ir.Module, name: str, content: bytes) -> ir.GlobalVariable:
    """Add a variable with this content; content of zeros alone takes no space."""
    kind = ir.ArrayType(ir.IntType(8), len(content))
    variable = ir.GlobalVariable(module, kind, name)
    variable.align = LINE
    variable.initializer = ir.Constant(kind, bytearray(content) if any(content) else None)
    return variable


def undefined_symbols(code: bytes) -> set[str]:
    """The symbols that an object file needs from elsewhere; none if it is WebAssembly."""
    if code[:4] == b"\x7fELF":
        found = _undefined_in_elf(code)
    elif code[:4] == b"\xcf\xfa\xed\xfe":
        found = (each.removeprefix("_") for each in _undefined_in_mach(code))
    elif code[:4] == b"\0asm":
        return set()
    else:
        found = _undefined_in_coff(code)
    return set(found)


def _undefined_in_elf(code: bytes) -> Iterator[str]:
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQII", code, start + k * size) for k in range(count)]
    for _, kind, _, _, at, length, link, _ in sections:
        if kind == _ELF_SYMBOLS:
            names = sections[link][4]
            for symbol in range(at, at + length, _ELF_BYTES):
                name, _, _, section = struct.unpack_from("<IBBH", code, symbol)
                if name and section == 0:
                    yield _text_at(code, names + name)


def _undefined_in_mach(code: bytes) -> Iterator[str]:
    (commands,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == _MACH_SYMBOLS:
            first, count, names, _ = struct.unpack_from("<IIII", code, at + 8)
            for symbol in range(first, first + count * _MACH_BYTES, _MACH_BYTES):
                name, kind = struct.unpack_from("<IB", code, symbol)
                if kind == _MACH_OTHER:
                    yield _text_at(code, names + name)
        at += size


def _undefined_in_coff(code: bytes) -> Iterator[str]:
    first, count = struct.unpack_from("<II", code, 8)
    names = first + count * _COFF_BYTES
    number = 0
    while number < count:
        symbol = first + number * _COFF_BYTES
        is_short, place, _, section, _, kind, more = struct.unpack_from("<IIIhHBB", code, symbol)
        if kind == _COFF_EXTERNAL and section == 0:
            short = code[symbol : symbol + 8].rstrip(b"\0")
            yield short.decode() if is_short else _text_at(code, names + place)
        number += 1 + more


def _text_at(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode()


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


def _optimise_leaf(module: Any, own: set[str], machine: Any) -> None:
    """Optimise a leaf alone: that its arguments never overlap is lost where it is inlined."""
    for each in module.functions:
        if not each.is_declaration:
            each.linkage = "external" if each.name in own else "internal"
    _optimise(module, machine)
    for each in module.functions:
        if not each.is_declaration and each.name in own:
            each.linkage = "linkonce_odr"


def _optimise(module: Any, machine: Any) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
