"""Compiles a game, and its network for each kind of processor, to functions over one buffer.

The arrays of a game lie in the caller's buffer, see ``buffer``. The library holds everything that
is only read: the constants of the rules, and the network, whose weights and `SHARED` arrays all
processors share where they are equal. `glue.c` writes the network's weights into the buffer, in the
order in which the kernels of the machine's processor read them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ludarium.envs.engine.compile import recipe_of
from ludarium.envs.engine.game import Game
from ludarium.machine.machines import Machine
from ludarium.machine.making.exports import InMemory, as_word, callees, constant
from ludarium.machine.making.numba_names import cgutils
from ludarium.machine.marks import part
from ludarium.models.kernels.packing import PackedNetwork
from ludarium.models.kernels.target import Target, compile_for

from ..wasm import kernels
from ..wasm.memory import LINE, Limits, address_of, named_arrays
from ..wasm.network import part_of
from . import answering
from .buffer import (
    PACKED,
    SHARED,
    Layout,
    arrays_in_buffer,
    game_layout,
    is_constant,
    memory_in_buffer,
    network_layout,
)

#: The kernels that the library calls.
KERNELS = (
    *("game_seed", "game_start", "game_set_up", "game_play", "game_score", "game_random_action"),
    *("game_view", "game_word", "game_write_text", "game_read_text"),
    *("search_seed", "search_begin", "search_run", "search_results"),
    *("level_begin", "level_choose"),
)
_WORD, _BYTE = ir.IntType(64), ir.IntType(8)
_POINTER = _BYTE.as_pointer()


def compile_game(
    game: Game, limits: Limits, prefix: str, machines: Sequence[Machine]
) -> list[bytes]:
    """Object files of rules and search, for each machine; call this in a dedicated process.

    They define ``PREFIX_KERNEL(buffer, ...)`` for each of `KERNELS`, which take and return int64;
    ``PREFIX_fill(buffer)``, which writes initial values other than 0; and call
    ``PREFIX_ask(buffer)``.
    """
    recipe = recipe_of(kernels, game)
    compiled = callees(recipe, {"ask": _asking(f"{prefix}_ask")})
    memory = memory_in_buffer(game, limits)
    exports = _BufferExports(prefix, memory, Layout.of(memory))
    exports.names.add(f"{prefix}_ask")  # which `glue.c` defines
    exports.add_fill()
    for name in KERNELS:
        template = getattr(kernels, name)
        exports.add(name, template, compiled(template))
    return [exports.object_code(machine) for machine in machines]


def write_network(prefix: str, plain: PackedNetwork, machines: Sequence[Machine]) -> list[bytes]:
    """Object files, one for each machine, with the arrays of a network that processors share.

    They define ``PREFIX_network_NAME`` for each name in `PACKED` and `SHARED`; weights are
    int8, in the order of `PLAIN`. Call this in a process of its own.
    """
    exports = _BufferExports(prefix, {}, Layout({}, 0))
    for name in (*PACKED, *SHARED):
        array = getattr(plain, name)
        content = array.astype(np.int8) if name in PACKED else array
        exports.add_data(f"network_{name}", content.tobytes())
    return [exports.object_code(machine) for machine in machines]


def compile_network(
    game: Game,
    limits: Limits,
    prefix: str,
    kind: str,
    target: Target,
    packed: PackedNetwork,
    plain: PackedNetwork,
    machines: Sequence[Machine],
) -> list[bytes]:
    """Object files, one for each machine, with a network's kernels; ``target`` has their blocks.

    They define ``PREFIX_KIND_network_answer(buffer)``, and use the arrays that `write_network`
    writes for ``plain``. Call this in a process of its own.
    """
    compile_for(target)
    compiled = callees(recipe_of(answering, game), {"ask": part_of(game)})
    memory = {"search": memory_in_buffer(game, limits)["search"], "network": packed}
    layout = game_layout(game, limits)
    of_network = network_layout(packed, layout.end)
    both = Layout({**layout.offsets, **of_network.offsets}, of_network.end)
    shared = {
        f"network_{name}"
        for name in SHARED
        if np.array_equal(getattr(packed, name), getattr(plain, name))
    }
    exports = _BufferExports(prefix, memory, both, shared)
    template = answering.network_answer
    exports.add(f"{kind}_network_answer", template, compiled(template))
    return [exports.object_code(machine) for machine in machines]


def _asking(symbol: str) -> Callable:
    """A part that calls a function of this name with the buffer, for the network's answer."""

    @intrinsic
    def call(typing_context: Any, buffer: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(_WORD, [_POINTER])
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.call(function, [array.data])

        return types.int64(buffer), generate

    @part
    def ask(net, planes, evaluation, n):
        return call(net.buffer) != 0

    return ask


class _BufferExports(InMemory):
    """Functions that take the buffer and then int64 numbers, and return int64.

    Args:
        prefix: prefix of their names.
        memory: see `InMemory`.
        layout: the places of the arrays that lie in the buffer.
        shared: names of constants that another object defines.
    """

    number = _WORD

    def __init__(
        self,
        prefix: str,
        memory: Mapping[str, Any],
        layout: Layout,
        shared: Collection[str] = (),
    ) -> None:
        super().__init__(memory)
        self._prefix = prefix
        self._buffer: Any = None  # the buffer in the export that is being written
        self._offsets: dict[int, int] = {}
        self._constants: dict[int, Any] = {}
        for name, array in arrays_in_buffer(memory):
            self._offsets[address_of(array)] = layout.offsets[name]
        for name, value in memory.items():
            for full_name, array in named_arrays(name, value).items():
                if is_constant(full_name):
                    self._add_constant(full_name, array, full_name in shared)

    def begin(self, name: str, numbers: int) -> tuple[ir.IRBuilder, list[Any]]:
        """See `InMemory.begin`."""
        kind = ir.FunctionType(_WORD, [_POINTER] + [_WORD] * numbers)
        export = ir.Function(self.module, kind, f"{self._prefix}_{name}")
        self.names.add(export.name)
        self._buffer, *given = export.args
        return ir.IRBuilder(export.append_basic_block()), given

    def as_number(self, builder: ir.IRBuilder, signed: bool, value: Any) -> Any:
        """See `Exports.as_number`."""
        return as_word(builder, signed, value)

    def place(self, builder: ir.IRBuilder, array: np.ndarray) -> tuple[Any, Any]:
        """A place in the buffer, or a constant."""
        address = address_of(array)
        if address in self._constants:
            return self._constants[address], None
        return builder.gep(self._buffer, [_WORD(self._offsets[address])], inbounds=True), None

    def finish(self, module: Any) -> None:
        """Also hide names within the library, so that no program calls them by accident."""
        super().finish(module)
        for each in (*module.functions, *module.global_variables):
            if each.name in self.names:
                each.visibility = "hidden"

    def add_fill(self) -> None:
        """Add ``PREFIX_fill``, which writes the initial values of arrays other than 0."""
        builder, _ = self.begin("fill", 0)
        one = ir.IntType(1)
        kind = ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _WORD, one])
        copy = ir.Function(self.module, kind, "llvm.memcpy.p0.p0.i64")
        for name, array in arrays_in_buffer(self.memory):
            content = array.tobytes()
            if any(content):
                start = constant(self.module, f"{name}_at_first", content)
                start.global_constant = True
                target, _ = self.place(builder, array)
                source = builder.bitcast(start, _POINTER)
                builder.call(copy, [target, source, _WORD(len(content)), one(0)])
        builder.ret(_WORD(0))

    def add_data(self, name: str, content: bytes) -> None:
        """Add a constant that other objects see."""
        variable = constant(self.module, f"{self._prefix}_{name}", content)
        variable.global_constant = True
        self.names.add(variable.name)

    def _add_constant(self, name: str, array: np.ndarray, is_shared: bool) -> None:
        if address_of(array) in self._constants:
            return
        if is_shared:
            kind = ir.ArrayType(_BYTE, array.nbytes)
            variable = ir.GlobalVariable(self.module, kind, f"{self._prefix}_{name}")
            variable.align = LINE
            self.names.add(variable.name)
        else:
            variable = constant(self.module, name, array.tobytes())
        variable.global_constant = True
        self._constants[address_of(array)] = variable
