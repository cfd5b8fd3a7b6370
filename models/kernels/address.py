"""Networks by address: how searches call a network's kernel, which is compiled apart from them.

A kernel that evaluates networks takes the addresses and lengths of a network's arrays, so that one
type of argument fits all networks, and searches need not be compiled for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ludarium.machine.marks import part

from .emitted import call


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


def places_of(network: Any) -> np.ndarray:
    """Address and length of each of a network's arrays, int64 [arrays, 2]."""
    return np.array([(array.ctypes.data, len(array)) for array in network], np.int64)


@part
def answer(net, planes, evaluation, n):
    """Answer observation ``n`` of ``planes`` in row ``n`` of ``evaluation``.

    Args:
        net: a `Called`; None in code for other machines, where searches call no network.
        planes: float32 [B, rows, cells], observations in the canonical frame.
        evaluation: an `Evaluation` with B rows.
        n: the number of the observation.

    Returns:
        Whether there is an answer, and all its numbers are finite.
    """
    if net is None or net.code == 0:
        return False
    logits, wdl, scores = evaluation
    return call(net.code, net.network, planes, logits, wdl, scores, n, n + 1)
