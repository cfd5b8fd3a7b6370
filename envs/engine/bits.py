"""Boards as bits of a ``uint64``, for rules: bit ``cell`` is 1 where something stands.

Operands must all be ``uint64``: compiled code makes a float of a ``uint64`` and a signed
number. Fields and tables keep the type (``np.zeros(3, np.uint64)``, ``np.uint64(1)``), and so does
what `bit` and `shifted` return.
"""

import numpy as np

from .rule import rule

ZERO = np.uint64(0)
ONE = np.uint64(1)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_COUNT = np.uint64(0x7F)


@rule
def bit(cell):
    """The ``uint64`` in which only bit ``cell`` (0 to 63) is 1."""
    return ONE << np.uint64(cell)


@rule
def shifted(bits, steps):
    """``bits`` moved ``steps`` (-63 to 63) cells up, or down if ``steps`` is negative.

    Bits that leave the 64 are lost; mask those that must not go round an edge before the call.
    """
    if steps >= 0:
        return bits << np.uint64(steps)
    return bits >> np.uint64(-steps)


@rule
def bit_count(bits):
    """How many of the 64 bits are 1, an ``int`` (H. S. Warren, "Hacker's Delight", section 5-1)."""
    bits = bits - ((bits >> ONE) & _PAIRS)
    bits = (bits & _FOURS) + ((bits >> np.uint64(2)) & _FOURS)
    bits = (bits + (bits >> np.uint64(4))) & _BYTES
    bits = bits + (bits >> np.uint64(8))
    bits = bits + (bits >> np.uint64(16))
    bits = bits + (bits >> np.uint64(32))
    return int(np.int64(bits & _COUNT))  # compiled, an int of a uint64 alone has no sign


@rule
def lowest_cell(bits):
    """The number of the lowest bit that is 1, an ``int``; ``bits`` is not 0.

    To visit each cell, take the lowest and go on with ``bits & (bits - ONE)`` until that is 0.
    """
    return bit_count(~bits & (bits - ONE))
