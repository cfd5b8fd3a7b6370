"""Whole networks, made of the layers in `layers_compiled`; `answers` makes kernels of them.

The functions take a `packing.PackedNetwork`, which holds the weights and memory to compute in. The
dtypes of its arrays decide whether the trunk is computed in float32 or in eight bits.
"""

from __future__ import annotations

import numpy as np

from ludarium.machine.marks import part

from . import target
from .layers_compiled import (
    add_bias,
    convolve,
    convolve_sparse,
    dense,
    narrow,
    normalise,
    pool,
    widen,
    write_outcome,
)

# Indices of the layers in `PackedNetwork.heads`, of a board's network ...
CELLS, POLICY, OTHERS, VALUE, OUTCOME, POOLED_BIASES = range(6)
# ... and of a perceptron.
HEADS = 0

_NONE = np.float32(-np.inf)  # means no floor
_ZERO = np.float32(0)  # the floor of a ReLU


@part
def head(net, rows, x, stride, number, floor, out, at):
    """Compute one dense layer of the heads, from ``rows`` rows of ``x`` to rows of ``out``."""
    layer = net.heads[number]
    dense(
        *(
            rows,
            x,
            0,
            stride,
            net.head_weights,
            net.head_bias,
            net.head_scale,
            layer,
            net.head_sums,
            net.weights,
        ),
        *(False, floor, out, at, layer.outputs),
    )


@part
def read_by_layer(net, number, values, count):
    """Convert values to a trunk layer's activations in ``net.q``; widen its range, if measured."""
    if len(net.ranges) > 0:
        widen(net.ranges, number, values, count)
    narrow(values, count, net.trunk[number], net.q)


@part
def trunk_of_board(net, observation):
    """Write the features [cells, channels] of ``observation`` [planes * cells] to ``net.x``."""
    size = net.sizes[0]
    height, width, channels = size.height, size.width, size.channels
    cells, count = height * width, height * width * channels
    x, y, q, layers = net.x, net.y, net.q, net.trunk
    # x = relu(stem(observation))
    convolve_sparse(observation, height, width, size.planes, channels, net.stem, net.stem_bias, x)
    for block in range(size.blocks):
        # A residual block: y = relu(conv(x)); x = relu(x + conv(y)) (He et al., 2016).
        first, second = layers[2 * block], layers[2 * block + 1]
        read_by_layer(net, 2 * block, x, count)
        convolve(
            *(q, height, width, channels, net.weights, net.table, net.scale, first),
            *(net.sums, False, y),
        )
        # Every other block: y += W pool(y), global pooling as a bias (Wu, "KataGo", 2019).
        bias = net.heads[POOLED_BIASES + block]
        if bias.outputs > 0:
            pool(y, 0, channels, cells, channels, net.pooled, 0)
            head(net, 1, net.pooled, 0, POOLED_BIASES + block, _NONE, net.bias, 0)
            add_bias(y, net.bias, cells, channels)
        read_by_layer(net, 2 * block + 1, y, count)
        convolve(
            *(q, height, width, channels, net.weights, net.table, net.scale, second),
            *(net.sums, True, x),
        )


@part
def heads_of_board(net, logits, wdl, scores, n):
    """Compute the answer to position ``n`` from the trunk's features."""
    size = net.sizes[0]
    cells, channels, hidden = size.height * size.width, size.channels, size.hidden
    # Features of the board as a whole, and for the heads of each cell.
    pool(net.x, 0, channels, cells, channels, net.pooled, 0)
    head(net, cells, net.x, channels, CELLS, _ZERO, net.cells, 0)
    of_cell = net.heads[CELLS].outputs  # ``hidden`` each for policy and value, and padding
    # Policy: a dense layer for each cell if actions belong to cells, else one for all together.
    if size.is_placed:
        head(net, cells, net.cells, of_cell, POLICY, _NONE, net.policy, 0)
        if net.heads[OTHERS].outputs > 0:
            after = cells * net.heads[POLICY].outputs
            head(net, 1, net.pooled, 0, OTHERS, _NONE, net.policy, after)
    else:
        for cell in range(cells):
            for k in range(hidden):
                net.features[cell * hidden + k] = net.cells[cell * of_cell + k]
        head(net, 1, net.features, 0, POLICY, _NONE, net.policy, 0)
    for action in range(len(net.order)):
        logits[n, action] = net.policy[net.order[action]]
    # Value: the board's features, and the cells' pooled or all of them, through two dense layers.
    for k in range(2 * channels):
        net.features[k] = net.pooled[k]
    if size.pools_value:
        pool(net.cells, 0, of_cell, cells, of_cell, net.pooled, 0)
        for k in range(hidden):
            net.features[2 * channels + k] = net.pooled[hidden + k]
            net.features[2 * channels + hidden + k] = net.pooled[of_cell + hidden + k]
    else:
        for cell in range(cells):
            for k in range(hidden):
                net.features[2 * channels + cell * hidden + k] = net.cells[
                    cell * of_cell + hidden + k
                ]
    head(net, 1, net.features, 0, VALUE, _ZERO, net.hidden, 0)
    head(net, 1, net.hidden, 0, OUTCOME, _NONE, net.outcome, 0)
    write_outcome(net.outcome, 0, wdl, scores, n)


@part
def feed(net, rows, values, number, of_each, skips, floor, out):
    """Compute one dense layer of a perceptron's trunk, from rows of ``values`` to rows of ``out``.

    ``of_each`` is the distance between the rows of ``values``.
    """
    layer = net.trunk[number]
    read_by_layer(net, number, values, rows * of_each)
    dense(
        *(rows, net.q, 0, of_each, net.weights, net.table, net.scale, layer, net.sums),
        *(net.weights, skips, floor, out, 0, layer.outputs),
    )


@part
def answer_vectors(net, rows, logits, wdl, scores, start):
    """Answer the ``rows`` observations in ``net.features``, as positions from ``start`` on.

    ``rows`` is 1 or `target.ROWS`.
    """
    size = net.sizes[0]
    channels = size.channels
    x, y = net.x, net.y
    feed(net, rows, net.features, 0, net.trunk[0].inputs, False, _NONE, x)
    # Residual blocks with normalisation first: x += W2 relu(W1 norm(x)); at the end relu(norm(x)).
    of_norm = 2 * channels
    for block in range(size.blocks + 1):
        is_last = block == size.blocks
        floor = _ZERO if is_last else _NONE
        for row in range(rows):
            at = row * channels
            normalise(
                *(x, at, channels, size.channels_used, net.norms, block * of_norm),
                *(net.lanes, floor, y, at),
            )
        if not is_last:
            feed(net, rows, y, 2 * block + 1, channels, False, _ZERO, net.hidden)
            feed(net, rows, net.hidden, 2 * block + 2, channels, True, _NONE, x)
    head(net, rows, y, channels, HEADS, _NONE, net.policy, 0)
    of_each = net.heads[HEADS].outputs
    actions = len(net.order)
    for row in range(rows):
        at = row * of_each
        for action in range(actions):
            logits[start + row, action] = net.policy[at + action]
        write_outcome(net.policy, at + actions, wdl, scores, start + row)


# Whole networks.


@part
def read(planes, n, seen, at):
    """Copy observation ``n`` into ``seen`` from ``at`` on."""
    cells = planes.shape[2]
    for row in range(planes.shape[1]):
        for cell in range(cells):
            seen[at + row * cells + cell] = planes[n, row, cell]


@part
def is_finite_answer(logits, wdl, scores, n):
    """Whether the numbers of answer ``n`` are finite."""
    # x * 0 is NaN for an infinite x and for NaN, else 0.
    total = scores[n] * 0
    for action in range(logits.shape[1]):
        total += logits[n, action] * 0
    for k in range(3):
        total += wdl[n, k] * 0
    return total == 0


@part
def evaluate_boards(net, planes, logits, wdl, scores, first, end):
    """Answer observations ``first`` to before ``end`` by a board's network.

    Args:
        net: a `packing.PackedNetwork`.
        planes: float32 [n, rows, cells], observations.
        logits, wdl, scores: float32 [n, A], [n, 3] and [n], receive the answers.
        first, end: which observations.

    Returns:
        Whether the answers have only finite numbers.
    """
    is_finite = True
    for n in range(first, end):
        read(planes, n, net.seen, 0)
        trunk_of_board(net, net.seen)
        heads_of_board(net, logits, wdl, scores, n)
        is_finite = is_finite_answer(logits, wdl, scores, n) and is_finite
    return is_finite


@part
def evaluate_vectors(net, planes, logits, wdl, scores, first, end):
    """`evaluate_boards` for a perceptron.

    Weights are read once for `target.ROWS` positions: they are too many for the fast caches.
    """
    of_each = net.trunk[0].inputs
    is_finite = True
    n = first
    while n < end:
        rows = target.ROWS if n + target.ROWS <= end else 1
        for row in range(rows):
            read(planes, n + row, net.features, row * of_each)
        answer_vectors(net, rows, logits, wdl, scores, n)
        for row in range(rows):
            is_finite = is_finite_answer(logits, wdl, scores, n + row) and is_finite
        n += rows
    return is_finite


# The part ``ask`` of modules for other machines.


@part
def board_in_search(net, planes, evaluation, n):
    """Answer observation ``n`` of ``planes`` in row ``n`` of an `Evaluation`."""
    logits, wdl, scores = evaluation
    return evaluate_boards(net, planes, logits, wdl, scores, n, n + 1)


@part
def vector_in_search(net, planes, evaluation, n):
    """`board_in_search` for a perceptron."""
    logits, wdl, scores = evaluation
    return evaluate_vectors(net, planes, logits, wdl, scores, n, n + 1)
