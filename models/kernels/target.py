"""The properties of a processor that decide how networks are computed on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.machine.machines import OF_NETWORKS, kind_of


@dataclass(frozen=True)
class Target:
    """The blocks that fit a processor's registers, and how it multiplies small integers.

    Attributes:
        lanes: float32 numbers, or int32 sums, in a vector.
        vectors: how many vectors of outputs a block has.
        rows: positions in a block of a dense layer, if there are enough.
        eight_bit: dtype of the activations in eight bits. With uint8 and int8, one instruction
            adds four products to a sum; with int16 it adds two, on x86 and in WebAssembly.
        pairs: LLVM's intrinsic that adds two products; if empty, LLVM recognises the plain form.
    """

    lanes: int
    vectors: int
    rows: int
    eight_bit: np.dtype
    pairs: str = ""

    @property
    def step(self) -> int:
        """Outputs of a full block."""
        return self.lanes * self.vectors

    @property
    def narrow(self) -> int:
        """Outputs of a layer's last blocks, if fewer than `step` are left."""
        return min(PADDED, self.step)

    def activations(self, eight_bit: bool) -> np.dtype:
        """Dtype of the inputs of the trunk's products."""
        return self.eight_bit if eight_bit else np.dtype(np.float32)


#: Outputs of each layer are padded to a multiple of this, on all processors.
PADDED = 16

#: Number of inputs whose products are added to a sum at once, by the dtype of the activations.
PER = {"float32": 1, "int16": 2, "uint8": 4, "int8": 4}

#: Smallest and largest value of eight-bit activations, by their dtype.
RANGES = {"uint8": (0, 255), "int16": (0, 255), "int8": (-128, 127)}


_PAIRS, _QUADS, _SIGNED = np.dtype(np.int16), np.dtype(np.uint8), np.dtype(np.int8)
#: The targets of the machines that networks are compiled for, see `ludarium.machine.machines`.
TARGETS = {
    "v2": Target(4, 2, 4, _PAIRS),
    "v3": Target(8, 2, 4, _PAIRS),
    "vnni": Target(16, 2, 8, _QUADS),
    "neon": Target(4, 4, 4, _PAIRS),
    "dotprod": Target(4, 4, 4, _SIGNED),
}
#: The target of this machine; that of the oldest x86 processors where none is known for it.
HOST = TARGETS[kind_of(OF_NETWORKS) or "v2"]
#: WebAssembly with vectors of 128 bits; machines that run it have at least 16 registers for them.
WASM = Target(4, 2, 4, np.dtype(np.int16), "llvm.wasm.dot")

#: The target of this process; outputs and rows of its blocks; and how many numbers a
#: `vector.Vector` has, which are not `Target.lanes`.
current = HOST
STEP, ROWS, LANES = HOST.step, HOST.rows, HOST.narrow


def compile_for(target: Target | str) -> None:
    """Compile for another target, or kind of processor; call it before anything is compiled."""
    global current, STEP, ROWS, LANES
    current = TARGETS[target] if isinstance(target, str) else target
    STEP, ROWS, LANES = current.step, current.rows, current.narrow
