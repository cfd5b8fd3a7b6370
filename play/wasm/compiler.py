"""Compiles a game's kernels to a WebAssembly object file, in which arrays are variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from llvmlite import ir

from ludarium.envs.engine.compile import recipe_of
from ludarium.envs.engine.game import Game
from ludarium.machine.copies import template_functions
from ludarium.machine.machines import Machine
from ludarium.machine.making.exports import InMemory, callees, constant
from ludarium.models.kernels.target import WASM, compile_for

from .memory import address_of, named_arrays, places_of

#: Chrome 91, Firefox 89 and Safari 16.4 have all of these; SIMD (128 bits) came last and is up to
#: twice as fast on large boards.
_FEATURES = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128"
_MACHINE = Machine("wasm32-unknown-unknown", features=_FEATURES, relocation="static")


def compile_object(
    game: Game,
    templates: ModuleType,
    memory: Mapping[str, Any],
    loaded: Mapping[str, Any],
    **given: Callable,
) -> bytes:
    """Compile all kernels of ``templates`` for a game.

    Call this in a process of its own, in which nothing was compiled: it changes how networks are
    compiled there.

    Args:
        game: the rules.
        templates: the template module.
        memory: the kernels' arguments that are arrays, by name: each a tuple of arrays, or of
            such tuples. The module starts with their contents.
        loaded: the same for arrays that are put into the memory once the module runs: tuples of
            one-dimensional arrays, of which only the numbers' types count. The module has an array
            ``NAME_places``, as `places_of` makes it, for their addresses and lengths.
        given: functions that take the place of the templates' parts of these names.

    Returns:
        An object file with a function for each kernel, a variable for each array in ``memory``, and
        a variable for each ``NAME_places``.
    """
    compile_for(WASM)
    compiled = callees(recipe_of(templates, game), given)
    exports = _WasmExports(memory, loaded)
    for name, template in template_functions(templates, "kernel").items():
        exports.add(name, template, compiled(template))
    return exports.object_code(_MACHINE)


class _WasmExports(InMemory):
    """A module's variables for arrays, and exports whose arguments and results are float64."""

    number = ir.DoubleType()

    def __init__(self, memory: Mapping[str, Any], loaded: Mapping[str, Any]) -> None:
        super().__init__({**memory, **loaded})
        self._variables: dict[int, Any] = {}
        self._places: dict[int, tuple[Any, int]] = {}  # places of loaded arrays
        for name, value in memory.items():
            for full_name, array in named_arrays(name, value).items():
                self._add_array(full_name, array)
        for name, value in loaded.items():
            # Fields may share an empty array; copies distinguish them.
            arrays = self.memory[name] = type(value)(*(array.copy() for array in value))
            places = self.memory[f"{name}_places"] = places_of(value)
            self._add_array(f"{name}_places", places)
            for number, array in enumerate(arrays):
                self._places[id(array)] = self._variables[address_of(places)], number

    def begin(self, name: str, numbers: int) -> tuple[ir.IRBuilder, list[Any]]:
        """See `InMemory.begin`."""
        kind = ir.FunctionType(self.number, [self.number] * numbers)
        export = ir.Function(self.module, kind, name)
        builder = ir.IRBuilder(export.append_basic_block())
        return builder, [builder.fptosi(number, ir.IntType(64)) for number in export.args]

    def as_number(self, builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
        """See `Exports.as_number`."""
        return (builder.sitofp if signed else builder.uitofp)(value, self.number)

    def place(self, builder: ir.IRBuilder, array: np.ndarray) -> tuple[Any, Any]:
        """The array's variable; for a loaded array code that reads its address and length."""
        if id(array) not in self._places:
            return self._variables[address_of(array)], None
        places, number = self._places[id(array)]
        whole = ir.IntType(64)
        first = builder.bitcast(places, whole.as_pointer())
        address, length = (
            builder.load(builder.gep(first, [whole(2 * number + k)])) for k in range(2)
        )
        return builder.inttoptr(address, ir.IntType(8).as_pointer()), length

    def _add_array(self, name: str, array: np.ndarray) -> None:
        if address_of(array) in self._variables:
            return  # another view of an existing array
        variable = constant(self.module, name, array.tobytes())
        variable.global_constant = name.endswith("_tables")
        self._variables[address_of(array)] = variable
        self.names.add(name)
