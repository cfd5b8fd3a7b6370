"""The inner loop of convolutions and dense layers: a block of activations times one of weights.

Most of a network's time goes into these sums of products. A block is some cells of a row of the
board, or some positions, times some vectors of outputs: as many sums as a processor has registers
for. Each step of the loop takes one input, or two or four neighbouring ones: it loads their weights
for all these outputs once, and each cell's activations once.

The lanes of a vector are outputs, so the products of one output are added in the same order on
every processor and in blocks of every size. The arrays decide the type of number: float32, one
input a step; or int8 weights and activations in eight bits, which may be stored as int16, with
sums in int32 and two or four inputs a step (see `Target` and `PER`).

In float32 a product and its sum are rounded once where the processor can do so, and twice
elsewhere. In an eight-bit network the parts in float32 are rounded twice everywhere, so its answers
are the same, bit for bit, on every processor.

Weights come packed: one block of outputs after another, each [tap][input / per][output][per],
where ``per`` inputs are multiplied at a time; see `packing.packed`.

numba has no vectors, so these functions write LLVM's instructions for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ludarium.machine.making.numba_names import cgutils
from ludarium.models.kernels import target as machine
from ludarium.models.kernels.emitted import LEFT_END, RIGHT_END, STREAMS
from ludarium.models.kernels.target import PER, Target

#: (cells, ends) of every part that the rows of boards may be cut into; ``ends`` has `LEFT_END` and
#: `RIGHT_END` if the row begins and ends with the part.
PARTS = [
    *((cells, LEFT_END | RIGHT_END) for cells in range(1, 7)),
    *((cells, LEFT_END) for cells in (4, 5, 6)),
    *((cells, RIGHT_END) for cells in (3, 4, 5, 6)),
    *((cells, 0) for cells in (4, 5, 6)),
]

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_F32 = ir.FloatType()


class _Block(NamedTuple):
    """A block of a fixed size.

    Attributes:
        cells: cells of a row of the board, or rows of a dense layer's input.
        outputs: `Target.step`, or `Target.narrow`.
        taps: 3 for the convolution's columns, 1 for a dense layer.
        ends: see `PARTS`.
        streams: blocks of weights that are read at once.
    """

    cells: int
    outputs: int
    taps: int
    ends: int = 0
    streams: int = 1

    def read(self, tap: int) -> Iterator[tuple[int, int]]:
        """Yield cells with a neighbour at a tap: (cell, the neighbour's distance from cell 0)."""
        for cell in range(self.cells):
            seen = cell + tap - self.taps // 2
            is_off = (seen < 0 and self.ends & LEFT_END) or (
                seen >= self.cells and self.ends & RIGHT_END
            )
            if not is_off:
                yield cell, seen


class _Operands(NamedTuple):
    """The operands of the instructions of a block.

    Attributes:
        kind: numba's name of the activations' type.
        activations, weights, sums: addresses of cell 0's first input, of the first row's weights,
            and of the sums, [cell][output].
        stride, pitch: steps from one cell to the next, and from one row to the next, in numbers.
        rows, inputs: how many there are.
        stream: the step from one block of weights to the next, in numbers.
        fuses: whether a product in float32 may be added without being rounded first.
    """

    kind: str
    activations: Any
    weights: Any
    sums: Any
    stride: Any
    pitch: Any
    rows: Any
    inputs: Any
    stream: Any
    fuses: bool = True


def _write(builder: ir.IRBuilder, target: Target, block: _Block, given: _Operands) -> None:
    """Write the instructions that multiply a block and store its sums."""
    lanes, per = target.lanes, PER[given.kind]
    of_stream = block.outputs // lanes
    vectors = of_stream * block.streams
    number = _F32 if given.kind == "float32" else _I32
    vector = ir.VectorType(number, lanes)
    sums = []
    for _ in range(block.cells * vectors):
        sums.append(cgutils.alloca_once(builder, vector))
        builder.store(ir.Constant(vector, [number(0)] * lanes), sums[-1])
    weights_of_a_step = _I64(block.outputs * per)
    place = cgutils.alloca_once_value(builder, _I64(0))
    with _loop(builder, given.rows, _I64(1)) as row:
        first = builder.mul(row, given.pitch)
        for tap in range(block.taps):
            read = list(block.read(tap))
            if not read:  # no cell has a neighbour at this tap: skip its weights
                steps = builder.mul(builder.udiv(given.inputs, _I64(per)), weights_of_a_step)
                builder.store(builder.add(builder.load(place), steps), place)
                continue
            starts = [
                builder.gep(
                    given.activations,
                    [builder.add(first, builder.mul(given.stride, _I64(seen)))],
                    inbounds=False,
                )
                for _, seen in read
            ]
            with _loop(builder, given.inputs, _I64(per)) as number_of_input:
                at = builder.load(place)
                loaded = [
                    _weights(builder, given, at, stream, vector_of_it, vector)
                    for stream in range(block.streams)
                    for vector_of_it in range(of_stream)
                ]
                builder.store(builder.add(at, weights_of_a_step), place)
                for (cell, _), start in zip(read, starts, strict=True):
                    activation = _spread(
                        builder, builder.gep(start, [number_of_input]), number, lanes
                    )
                    for k, weight in enumerate(loaded):
                        kept = sums[cell * vectors + k]
                        builder.store(
                            _added(builder, target, given, builder.load(kept), activation, weight),
                            kept,
                        )
    for k, kept in enumerate(sums):
        at = builder.gep(given.sums, [_I64(k * lanes)])
        builder.store(builder.load(kept), builder.bitcast(at, vector.as_pointer()), align=4)


def _weights(
    builder: ir.IRBuilder,
    given: _Operands,
    at: Any,
    stream: int,
    number: int,
    vector: ir.VectorType,
) -> Any:
    """A vector of a stream's weights; each lane has as many inputs as are multiplied at a time."""
    at = builder.add(at, builder.mul(given.stream, _I64(stream)))
    at = builder.add(at, _I64(number * vector.count * PER[given.kind]))
    address = builder.gep(given.weights, [at])
    if given.kind != "int16":
        return builder.load(builder.bitcast(address, vector.as_pointer()), align=1)
    pairs = 2 * vector.count
    small = builder.load(builder.bitcast(address, ir.VectorType(_I8, pairs).as_pointer()), align=1)
    return builder.sext(small, ir.VectorType(_I16, pairs))


def _spread(builder: ir.IRBuilder, address: Any, number: ir.Type, lanes: int) -> Any:
    """Four bytes of activations, repeated in all lanes."""
    loaded = builder.load(builder.bitcast(address, number.as_pointer()), align=1)
    nothing = ir.Constant(ir.VectorType(number, lanes), ir.Undefined)
    one = builder.insert_element(nothing, loaded, _I32(0))
    return builder.shuffle_vector(
        one, nothing, ir.Constant(ir.VectorType(_I32, lanes), [0] * lanes)
    )


def _added(
    builder: ir.IRBuilder,
    target: Target,
    given: _Operands,
    total: Any,
    activation: Any,
    weight: Any,
) -> Any:
    """A vector of sums after adding one, two or four products to each."""
    kind, vector = given.kind, total.type
    lanes = vector.count
    if kind == "float32" and not given.fuses:
        return builder.fadd(total, builder.fmul(activation, weight))
    if kind == "float32":
        name, arguments = f"llvm.fmuladd.v{lanes}f32", [activation, weight, total]
    elif kind == "uint8":
        name, arguments = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", [total, activation, weight]
    elif kind == "int8":
        name = "llvm.aarch64.neon.sdot.v4i32.v16i8"
        sixteen = ir.VectorType(_I8, 16)
        arguments = [total, *(builder.bitcast(each, sixteen) for each in (activation, weight))]
    elif target.pairs:
        factors = [builder.bitcast(activation, weight.type), weight]
        return builder.add(total, _called(builder, target.pairs, vector, factors))
    else:
        return builder.add(total, _pairs(builder, activation, weight))
    return _called(builder, name, vector, arguments)


def _called(builder: ir.IRBuilder, name: str, result: ir.Type, arguments: list[Any]) -> Any:
    """The result of calling one of LLVM's functions."""
    function_type = ir.FunctionType(result, [each.type for each in arguments])
    function = cgutils.get_or_insert_function(builder.module, function_type, name)
    return builder.call(function, arguments)


def _pairs(builder: ir.IRBuilder, activation: Any, weight: Any) -> Any:
    """The sums of two products of int16, in a form that LLVM compiles to pmaddwd or the like."""
    lanes = activation.type.count
    wide = ir.VectorType(_I32, 2 * lanes)
    factors = builder.bitcast(activation, weight.type)
    products = builder.mul(builder.sext(factors, wide), builder.sext(weight, wide))
    of_lane = ir.VectorType(_I32, lanes)
    even, odd = (
        builder.shuffle_vector(
            products,
            ir.Constant(wide, ir.Undefined),
            ir.Constant(of_lane, list(range(start, 2 * lanes, 2))),
        )
        for start in (0, 1)
    )
    return builder.add(even, odd)


@contextmanager
def _loop(builder: ir.IRBuilder, end: Any, step: Any) -> Iterator[Any]:
    """A loop that counts from 0 and runs at least once; yields its counter."""
    before = builder.block
    body, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(body)
    builder.position_at_end(body)
    number = builder.phi(end.type)
    number.add_incoming(end.type(0), before)
    yield number
    following = builder.add(number, step, flags=["nsw", "nuw"])
    number.add_incoming(following, builder.block)
    again = builder.cbranch(builder.icmp_signed("<", following, end), body, after)
    again.set_metadata("llvm.loop", _not_unrolled(builder.module))
    builder.position_at_end(after)


def _not_unrolled(module: ir.Module) -> Any:
    """A note that tells LLVM not to unroll a loop: that makes it no faster, and slow to compile."""
    disable = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([disable])
    loop.operands = (loop, disable)  # such nodes begin with themselves
    return loop


def _address(context: Any, builder: ir.IRBuilder, kind: Any, array: Any, index: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [index])


def _check_arrays(activations: Any, weights: Any, sums: Any) -> None:
    arrays = (activations, weights, sums)
    if not all(isinstance(each, types.Array) and each.ndim == 1 for each in arrays):
        raise TypingError("a block takes one-dimensional arrays")
    kinds = tuple(str(each.dtype) for each in arrays)
    if kinds[0] not in PER or kinds[1:] != (
        ("float32", "float32") if kinds[0] == "float32" else ("int8", "int32")
    ):
        raise TypingError(f"there is no block of activations, weights and sums {kinds}")


@intrinsic
def multiply_part(
    typing_context: Any,
    outputs: Any,
    cells: Any,
    ends: Any,
    activations: Any,
    first: Any,
    stride: Any,
    pitch: Any,
    rows: Any,
    inputs: Any,
    weights: Any,
    first_weight: Any,
    sums: Any,
    first_sum: Any,
) -> Any:
    """Write a convolution's sums for a part of a row, one of `PARTS`, and a block of outputs.

    Of the three rows under the taps it reads the ``rows`` that are on the board. In the first of
    them, the part's first cell has its activations from number ``first`` on; this row's weights are
    from ``first_weight`` on. ``sums`` get [cell][output] from ``first_sum`` on. `_Operands` has
    ``stride``, ``pitch`` and ``inputs``.
    """
    _check_arrays(activations, weights, sums)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        outputs, cells, ends, activations, first, stride, pitch, rows, inputs = arguments[:9]
        weights, first_weight, sums, first_sum = arguments[9:]
        given = _Operands(
            kind=str(kinds[3].dtype),
            activations=_address(context, builder, kinds[3], activations, first),
            weights=_address(context, builder, kinds[9], weights, first_weight),
            sums=_address(context, builder, kinds[11], sums, first_sum),
            stride=stride,
            pitch=pitch,
            rows=rows,
            inputs=inputs,
            stream=_I64(0),
        )
        target = machine.current
        blocks = {
            _number(of_block, part, ends_of_it): _Block(part, of_block, 3, ends_of_it)
            for of_block in {target.step, target.narrow}
            for part, ends_of_it in PARTS
        }
        chosen = _chosen(builder, outputs, cells, ends)
        _write_one_of(builder, chosen, target, blocks, given)
        return context.get_dummy_value()

    whole = types.intp
    return (
        types.void(
            *(whole, whole, whole, activations, whole, whole, whole, whole, whole),
            *(weights, whole, sums, whole),
        ),
        generate,
    )


@intrinsic
def multiply_rows(
    typing_context: Any,
    outputs: Any,
    rows: Any,
    streams: Any,
    activations: Any,
    first: Any,
    stride: Any,
    inputs: Any,
    weights: Any,
    first_weight: Any,
    sums: Any,
    trunk: Any,
) -> Any:
    """Write a dense layer's sums for ``streams`` blocks of ``outputs`` outputs.

    There are `Target.rows` rows and one block, or one row and 1 or `STREAMS` blocks. ``sums`` get
    [row][output], with the outputs of all blocks. ``trunk`` has the weights of the network's trunk:
    unless they are float32, the network has eight bits, and products in float32 are rounded before
    they are added.
    """
    _check_arrays(activations, weights, sums)
    fuses = str(trunk.dtype) == "float32"

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        outputs, rows, streams, activations, first, stride, inputs = arguments[:7]
        weights, first_weight, sums, _ = arguments[7:]
        target = machine.current
        given = _Operands(
            kind=str(kinds[3].dtype),
            activations=_address(context, builder, kinds[3], activations, first),
            weights=_address(context, builder, kinds[7], weights, first_weight),
            sums=_address(context, builder, kinds[9], sums, _I64(0)),
            stride=stride,
            pitch=_I64(0),
            rows=_I64(1),
            inputs=inputs,
            stream=builder.mul(inputs, _I64(target.step)),
            fuses=fuses,
        )
        blocks = {
            _number(of_block, cells, of_streams): _Block(cells, of_block, 1, 0, of_streams)
            for of_block in {target.step, target.narrow}
            for cells, of_streams in ((target.rows, 1), (1, STREAMS), (1, 1))
        }
        chosen = _chosen(builder, outputs, rows, streams)
        _write_one_of(builder, chosen, target, blocks, given)
        return context.get_dummy_value()

    whole = types.intp
    return (
        types.void(
            *(whole, whole, whole, activations, whole, whole, whole, weights, whole, sums, trunk)
        ),
        generate,
    )


def _number(outputs: int, cells: int, other: int) -> int:
    """The number by which a block is chosen."""
    return 256 * outputs + 16 * cells + other


def _chosen(builder: ir.IRBuilder, outputs: Any, cells: Any, other: Any) -> Any:
    """`_number`, computed when the code runs."""
    of_outputs = builder.mul(outputs, _I64(256))
    return builder.add(builder.add(of_outputs, builder.mul(cells, _I64(16))), other)


def _write_one_of(
    builder: ir.IRBuilder,
    chosen: Any,
    target: Target,
    blocks: dict[int, _Block],
    given: _Operands,
) -> None:
    """Write all blocks, and a jump to the one whose number is ``chosen``."""
    after = builder.append_basic_block("multiplied")
    unknown = builder.append_basic_block("no_such_block")
    switch = builder.switch(chosen, unknown)
    for number, block in sorted(blocks.items()):
        case = builder.append_basic_block(f"block_{number}")
        switch.add_case(_I64(number), case)
        builder.position_at_end(case)
        _write(builder, target, block, given)
        builder.branch(after)
    builder.position_at_end(unknown)
    builder.unreachable()
    builder.position_at_end(after)
