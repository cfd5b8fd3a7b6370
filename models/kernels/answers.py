"""The kernels that answer observations by a network: a board's or a perceptron, in two precisions.

All take the same arguments, so that searches call each by its address: ``handle``, the address of
`address.places_of` a network; ``planes`` float32 [n, rows, cells]; ``logits`` [n, A], ``wdl``
[n, 3] and ``scores`` [n] of an `Evaluation`; the first observation, and the one after the last.
They return whether all numbers of the answers are finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ludarium.machine.marks import kernel

from .emitted import network_in_float32, network_in_int8
from .evaluate import evaluate_boards, evaluate_vectors


def arguments() -> tuple[Any, ...]:
    """Arguments of each kernel."""
    planes, logits, scores = (np.zeros((1,) * n, np.float32) for n in (3, 2, 1))
    return 0, planes, logits, logits, scores, 0, 1


@kernel
def boards_in_float32(handle, planes, logits, wdl, scores, first, end):
    """Answer by a board's network in float32."""
    return evaluate_boards(network_in_float32(handle), planes, logits, wdl, scores, first, end)


@kernel
def boards_in_int8(handle, planes, logits, wdl, scores, first, end):
    """Answer by a board's network in eight bits."""
    return evaluate_boards(network_in_int8(handle), planes, logits, wdl, scores, first, end)


@kernel
def vectors_in_float32(handle, planes, logits, wdl, scores, first, end):
    """Answer by a perceptron in float32."""
    return evaluate_vectors(network_in_float32(handle), planes, logits, wdl, scores, first, end)


@kernel
def vectors_in_int8(handle, planes, logits, wdl, scores, first, end):
    """Answer by a perceptron in eight bits."""
    return evaluate_vectors(network_in_int8(handle), planes, logits, wdl, scores, first, end)
