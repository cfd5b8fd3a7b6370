"""Asking for memory before it is needed.

Many trees side by side are more than the processor's nearest caches hold, and each turn of the
network empties these anyway: a tree's next simulation would wait for memory again and again,
once for each node that it comes through. So while one tree is worked on, the next one's memory is
asked for. Nothing else is changed by it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from ludarium.envs.engine.numba_private import cgutils
from ludarium.envs.engine.rule import compiled

from .cache import LINE, set_of


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any, byte: Any) -> Any:
    """Fetch the line with a byte of an entry of a one-dimensional array."""
    if not isinstance(array, types.Array) or array.ndim != 1:
        raise TypingError("prefetch takes an entry of a one-dimensional array")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items = context.make_array(signature.args[0])(context, builder, arguments[0])
        (stride,) = cgutils.unpack_tuple(builder, items.strides)
        start = builder.ptrtoint(items.data, ir.IntType(64))
        offset = builder.add(builder.mul(arguments[1], stride), arguments[2])
        address = builder.inttoptr(builder.add(start, offset), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        of_type = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, of_type, "llvm.prefetch.p0")
        to_read, keep_near, data = number(0), number(3), number(1)
        builder.call(function, [address, to_read, keep_near, data])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@compiled
def prefetch(array, index, size):
    """Ask for the first ``size`` bytes of ``array[index]``, or of what follows it."""
    for byte in range(0, size, LINE):
        _prefetch(array, index, byte)


@compiled
def prefetch_tree(tree, cache, answers, b):
    """Ask for what search ``b`` reads first when it goes on, and for the start of the next one.

    ``answers`` [B, A] are the network's logits.
    """
    if b + 1 < len(tree.roots):
        prefetch(tree.roots, b + 1, LINE)
    if b >= len(tree.roots):
        return
    root = tree.roots[b]
    prefetch(tree.nodes[b], 0, root.size * tree.nodes.itemsize)
    prefetch(tree.edges[b], 0, 4 * LINE)
    if root.waiting >= 0:
        prefetch(tree.states[b], root.waiting, 3 * LINE)
        prefetch(tree.edges[b], tree.nodes[b, root.waiting].first, 4 * LINE)
        prefetch(answers[b], 0, answers.shape[1] * answers.itemsize)
        if len(cache.sets) > 0:
            prefetch(cache.sets, set_of(cache, cache.asked[b]), LINE)
