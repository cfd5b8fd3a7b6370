"""A vector type, which numba lacks, for the work between a network's products.

A vector has `target.LANES` numbers, float32 or int32; ``+``, ``-`` and ``*`` work by lane. LLVM
splits it where registers are shorter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, lower_builtin, models, register_model

from ludarium.machine.making.numba_names import AbstractTemplate, infer_global, signature
from ludarium.models.kernels import target
from ludarium.models.kernels.target import RANGES

_I32 = ir.IntType(32)


class Vector(types.Type):
    """numba's type of a vector.

    Args:
        dtype: numba's float32 or int32.
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.lanes = dtype, target.LANES
        super().__init__(name=f"Vector({dtype}, {self.lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        of_lane = ir.FloatType() if kind.dtype == types.float32 else _I32
        super().__init__(manager, kind, ir.VectorType(of_lane, kind.lanes))


_OPERATIONS = {
    operator.add: ("fadd", "add"),
    operator.sub: ("fsub", "sub"),
    operator.mul: ("fmul", "mul"),
}


class _Arithmetic(AbstractTemplate):
    """Types of an operation on two vectors of one kind."""

    def generic(self, args: tuple, kws: dict) -> Any:
        if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]:
            return signature(args[0], *args)
        return None


def _register(operation: Callable, of_floats: str, of_integers: str) -> None:
    infer_global(operation)(type("_Arithmetic", (_Arithmetic,), {}))

    @lower_builtin(operation, Vector, Vector)
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of_floating_point = signature.return_type.dtype == types.float32
        return getattr(builder, of_floats if of_floating_point else of_integers)(*arguments)


for _operation, _names in _OPERATIONS.items():
    _register(_operation, *_names)


def _address(context: Any, builder: Any, kind: Any, arguments: Any, of: Any) -> Any:
    """The address of an array's entry as a pointer to ``of``; array and index are the first two."""
    array, index, *_ = arguments
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), of.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """The vector of the numbers from an index on."""
    result = Vector(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of = context.get_value_type(result)
        return builder.load(_address(context, builder, array, arguments, of), align=4)

    return result(array, types.intp), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write a vector's numbers from an index on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, of = arguments[2], arguments[2].type
        builder.store(values, _address(context, builder, array, arguments, of), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def store_activations(typing_context: Any, array: Any, index: Any, vector: Any) -> Any:
    """Write numbers from 0 to 255, truncated and moved to the range of the array's type.

    See `RANGES`; a float32 array takes any float32 unchanged.
    """
    kind = array.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = arguments[2]
        if kind != types.float32:
            whole = ir.VectorType(_I32, target.LANES)
            least, _ = RANGES[str(kind)]
            moved = builder.add(
                builder.fptosi(values, whole), ir.Constant(whole, [_I32(least)] * target.LANES)
            )
            values = builder.trunc(moved, ir.VectorType(ir.IntType(kind.bitwidth), target.LANES))
        address = _address(context, builder, array, arguments, values.type)
        builder.store(values, address, align=kind.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic
def spread(typing_context: Any, value: Any) -> Any:
    """A float32 in all lanes."""
    result = Vector(types.float32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(context.get_value_type(result), ir.Undefined)
        one = builder.insert_element(nothing, arguments[0], _I32(0))
        lanes = ir.Constant(ir.VectorType(_I32, target.LANES), [0] * target.LANES)
        return builder.shuffle_vector(one, nothing, lanes)

    return result(types.float32), generate


@intrinsic
def as_floats(typing_context: Any, vector: Any) -> Any:
    """The numbers as float32."""
    result = Vector(types.float32)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if vector.dtype == types.float32:
            return arguments[0]
        return builder.sitofp(arguments[0], context.get_value_type(result))

    return result(vector), generate


def _choice(comparison: str) -> Any:
    @intrinsic
    def choose(typing_context: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            is_first = builder.fcmp_ordered(comparison, *arguments)
            return builder.select(is_first, *arguments)

        return first(first, second), generate

    return choose


#: ``larger(first, second)``: the larger number of each lane of two float32 vectors.
larger = _choice(">")
#: ``smaller(first, second)``: the smaller number of each lane of two float32 vectors.
smaller = _choice("<")
