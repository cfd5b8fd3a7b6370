"""Networks by address: how searches call a network's kernel, which is compiled apart from them.

A kernel that evaluates networks takes the addresses and lengths of a network's arrays, so that one
type of argument fits all networks, and searches need not be compiled for each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ludarium.envs.engine.jit import part
from ludarium.envs.engine.jit.linked import address_of
from ludarium.envs.engine.jit.private import populate_array

_I64 = ir.IntType(64)

#: Types of the arguments of a kernel that evaluates networks: the address of `places_of` a network;
#: observations [n, rows, cells]; logits [n, A], wdl [n, 3] and scores [n] of an `Evaluation`; the
#: first observation, and the one after the last.
ARGUMENTS = (
    types.int64,
    *(types.Array(types.float32, dimensions, "C") for dimensions in (3, 2, 2, 1)),
    *(types.int64, types.int64),
)


class Called(NamedTuple):
    """A network for compiled searches.

    Attributes:
        code: the address of its kernel, or 0.
        network: the address of its `places_of`.
    """

    code: int
    network: int


#: No network: searches wait for answers from elsewhere.
NONE = Called(0, 0)


@cache
def code_of(kernel: Any) -> int:
    """The ``code`` of a kernel that evaluates networks."""
    return address_of(kernel, ARGUMENTS)


def places_of(network: Any) -> np.ndarray:
    """Address and length of each of a network's arrays, int64 [arrays, 2]."""
    return np.array([(array.ctypes.data, len(array)) for array in network], np.int64)


def reader(kind: Any) -> Callable:
    """A function that turns a handle into the network.

    Args:
        kind: numba's type of the network, a named tuple of one-dimensional arrays.
    """

    @intrinsic
    def read(typing_context: Any, handle: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            places = builder.inttoptr(arguments[0], _I64.as_pointer())
            arrays = []
            for number, of_array in enumerate(kind):
                address, length = (
                    builder.load(builder.gep(places, [_I64(2 * number + k)])) for k in range(2)
                )
                array = context.make_array(of_array)(context, builder)
                data = builder.inttoptr(address, array.data.type)
                size = context.get_constant(
                    types.intp, context.get_abi_sizeof(array.data.type.pointee)
                )
                populate_array(array, data, [length], [size], size, None)
                arrays.append(array._getvalue())
            return context.make_tuple(builder, kind, arrays)

        return kind(types.int64), generate

    return read


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
    """The answer of the kernel at the address ``code``; `ARGUMENTS` are its other arguments."""
    if (planes, logits, wdl, scores) != ARGUMENTS[1:5]:
        raise TypingError(f"a network cannot be called with {(planes, logits, wdl, scores)}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code, *given = arguments
        convention = context.call_conv
        kind = convention.get_function_type(types.boolean, ARGUMENTS)
        function = builder.inttoptr(code, kind.as_pointer())
        return convention.call_function(builder, function, types.boolean, ARGUMENTS, given)[1]

    return types.boolean(types.int64, *ARGUMENTS), generate


@part
def answer(net, planes, evaluation, n):
    """Answer observation ``n`` of ``planes`` in row ``n`` of ``evaluation``.

    Args:
        net: a `Called`; None in code for other machines, where searches call no network.
        planes: float32 [B, rows, cells], observations in the board's own frame.
        evaluation: an `Evaluation` with B rows.
        n: the number of the observation.

    Returns:
        Whether there is an answer, and all its numbers are finite.
    """
    if net is None or net.code == 0:
        return False
    logits, wdl, scores = evaluation
    return call(net.code, net.network, planes, logits, wdl, scores, n, n + 1)
