"""Prefetching: request memory from the processor before it is needed.

The trees of a batch do not fit into the processor's fast caches, and every network call evicts
them. A tree's next simulation would then wait for memory at each node on its path. So while one
tree is searched, the memory of the next one is prefetched. This changes nothing but the speed.
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
    """Prefetch the cache line that holds an entry of a one-dimensional array."""
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
    """Prefetch the first ``size`` bytes at ``array[index]``."""
    for byte in range(0, size, LINE):
        _prefetch(array, index, byte)


@compiled
def prefetch_tree(tree, cache, logits, b):
    """Prefetch what search ``b`` reads first when it continues, and the start of the next.

    ``logits`` [B, A] are the network's.
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
        prefetch(logits[b], 0, logits.shape[1] * logits.itemsize)
        if len(cache.sets) > 0:
            prefetch(cache.sets, set_of(cache, cache.asked[b]), LINE)
