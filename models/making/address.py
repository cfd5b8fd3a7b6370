"""Networks by address: how a kernel reads a network's arrays, and how searches call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import typeof, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ludarium.machine.making.exports import array_at
from ludarium.machine.making.numba_names import cgutils
from ludarium.models.kernels import target
from ludarium.models.kernels.packing import empty_network

_WORD = ir.IntType(64)
#: Dimensions of a kernel's arrays of float32: observations, logits, wdl, scores.
_DIMENSIONS = (3, 2, 2, 1)
_ARRAYS = tuple(types.Array(types.float32, dimensions, "C") for dimensions in _DIMENSIONS)


def _reader(eight_bit: bool) -> Callable:
    """A function that turns the address of `places_of` a network into the `PackedNetwork`."""
    kind = typeof(empty_network(eight_bit, target.current))

    @intrinsic
    def read(typing_context: Any, handle: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = builder.inttoptr(arguments[0], _WORD.as_pointer())
            arrays = []
            for number, of_array in enumerate(kind):
                address, length = (
                    builder.load(builder.gep(places, [_WORD(2 * number + k)])) for k in range(2)
                )
                pointer = builder.inttoptr(address, ir.IntType(8).as_pointer())
                size = context.get_abi_sizeof(context.get_data_type(of_array.dtype))
                step = context.get_constant(types.intp, size)
                arrays.append(array_at(context, builder, of_array, pointer, [length], [step], size))
            return context.make_tuple(builder, kind, arrays)

        return kind(types.int64), generate

    return read


network_in_float32 = _reader(False)
network_in_int8 = _reader(True)


@intrinsic
def call(
    typing_context: Any,
    code: Any,
    handle: Any,
    planes: Any,
    logits: Any,
    wdl: Any,
    scores: Any,
    first: Any,
    end: Any,
) -> Any:
    """The answer of a kernel of `answers` at the address ``code``: whether its numbers are finite.

    The other arguments are the kernel's. It takes them as a block of words: numbers as they are,
    and of each array the address, the shape and the strides.
    """
    if (planes, logits, wdl, scores) != _ARRAYS:
        raise TypingError(f"a network cannot be called with {(planes, logits, wdl, scores)}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, handle, *arrays, first, end = arguments
        words = [handle]
        for kind, value in zip(_ARRAYS, arrays, strict=True):
            array = context.make_array(kind)(context, builder, value)
            words.append(builder.ptrtoint(array.data, _WORD))
            for sizes in (array.shape, array.strides):
                words += cgutils.unpack_tuple(builder, sizes, kind.ndim)
        words += [first, end]
        block = cgutils.alloca_once(builder, _WORD, size=len(words))
        for number, word in enumerate(words):
            builder.store(word, builder.gep(block, [_WORD(number)]))
        kind = ir.FunctionType(_WORD, [_WORD.as_pointer()])
        answer = builder.call(builder.inttoptr(code, kind.as_pointer()), [block])
        return builder.icmp_unsigned("!=", answer, _WORD(0))

    whole = types.int64
    return types.boolean(whole, whole, *_ARRAYS, whole, whole), generate
