"""What the compiler writes itself: vectors, the inner loop, and calls by address.

Each name stands for what ``ludarium.models.making`` emits under it; there is no plain Python.
"""

from ludarium.machine.marks import Emitted

#: Most cells of a row in one block. A row is cut into parts that differ by at most one.
MOST_CELLS = 6
#: Blocks of outputs that are computed at once for a single row of a dense layer's input.
STREAMS = 4

# Parts at the ends of a row lack neighbours to the left or to the right.
LEFT_END = 1
RIGHT_END = 2

_BLOCK, _VECTOR, _ADDRESS = (
    f"ludarium.models.making.{name}:" for name in ("block", "vector", "address")
)

multiply_part = Emitted(f"{_BLOCK}multiply_part")
multiply_rows = Emitted(f"{_BLOCK}multiply_rows")

as_floats = Emitted(f"{_VECTOR}as_floats")
larger = Emitted(f"{_VECTOR}larger")
load = Emitted(f"{_VECTOR}load")
smaller = Emitted(f"{_VECTOR}smaller")
spread = Emitted(f"{_VECTOR}spread")
store = Emitted(f"{_VECTOR}store")
store_activations = Emitted(f"{_VECTOR}store_activations")

#: ``network(handle)``: the `PackedNetwork` at the address of its places, in float32 or eight bits.
network_in_float32 = Emitted(f"{_ADDRESS}network_in_float32")
network_in_int8 = Emitted(f"{_ADDRESS}network_in_int8")
#: ``call(code, handle, planes, logits, wdl, scores, first, end)``: the answer of a kernel of
#: `answers` at the address ``code``.
call = Emitted(f"{_ADDRESS}call")
