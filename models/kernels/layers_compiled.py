"""Layers of a network, made of blocks: dense layers, convolutions, pooling, normalisation.

Activations are rows of ``channels`` numbers, one row for each cell of a board or for each position;
channels are padded with zeros to a multiple of `target.PADDED`. Sizes are arguments, so the same
machine code serves all networks.

Arrays are one-dimensional. ``layer`` is a record of `packing.LAYER`; it tells where the layer's
numbers begin in ``weights``, ``table`` and ``scale``. An output is its sum plus ``table``, times
``scale``. In a network without eight bits the table is the bias, and the scale 1.
"""

from __future__ import annotations

import math

import numpy as np

from ludarium.envs.engine.mathematics import exp
from ludarium.machine.marks import part

from . import target
from .emitted import (
    LEFT_END,
    MOST_CELLS,
    RIGHT_END,
    STREAMS,
    as_floats,
    larger,
    load,
    multiply_part,
    multiply_rows,
    smaller,
    spread,
    store,
    store_activations,
)

_EPSILON = np.float32(1e-5)  # epsilon of torch's normalisation
#: Partial sums of a row of numbers, side by side: as many as the longest vector has numbers.
SUMS = 16


@part
def finish(sums, begin, rows, width, table, t, scale, s, skips, floor, out, at, stride):
    """Turn sums [rows, width], from ``begin`` on, into outputs: rows of ``out``, ``stride`` apart.

    Outputs begin at ``out[at]``, their table at ``table[t]``, their scale at ``scale[s]``. With
    ``skips`` they are added to the contents of ``out``. Outputs are at least ``floor``.
    """
    least = spread(floor)
    for lane in range(0, width, target.LANES):
        of_table, of_scale = load(table, t + lane), load(scale, s + lane)
        for row in range(rows):
            # y = max((sum + table) * scale + skip, floor)
            place = at + row * stride + lane
            value = as_floats(load(sums, begin + row * width + lane) + of_table) * of_scale
            if skips:
                value = value + load(out, place)
            store(out, place, larger(value, least))


@part
def narrow(values, count, layer, out):
    """Convert values to the activations that a layer reads; in float32 they stay as they are."""
    inverse, zero = spread(layer.inverse), spread(layer.zero)
    least, most = spread(layer.least), spread(layer.most)
    for k in range(0, count, target.LANES):
        # Quantisation: q = clip(x / step + zero, least, most), rounded as it is stored.
        value = load(values, k) * inverse + zero
        store_activations(out, k, smaller(larger(value, least), most))


@part
def widen(ranges, number, values, count):
    """Widen the range at ``ranges[2 * number]``, two numbers, so that it holds the values."""
    for k in range(count):
        ranges[2 * number] = min(ranges[2 * number], values[k])
        ranges[2 * number + 1] = max(ranges[2 * number + 1], values[k])


@part
def add_bias(values, bias, cells, channels):
    """Add a bias to each channel of values [cells, channels]."""
    for channel in range(0, channels, target.LANES):
        added = load(bias, channel)
        for at in range(channel, cells * channels, channels):
            store(values, at, load(values, at) + added)


@part
def block_at(o, outputs):
    """How many outputs the block has that begins with output ``o``."""
    return target.STEP if o + target.STEP <= outputs else target.LANES


@part
def dense(
    rows, x, first, stride, weights, table, scale, layer, sums, trunk, skips, floor, out, at, apart
):
    """Compute a dense layer, from ``rows`` rows of ``x``, ``stride`` apart, to rows of ``out``.

    Rows of ``x`` begin at ``first``; rows of ``out`` begin at ``at`` and are ``apart`` apart. For
    ``trunk`` see ``models.making.block.multiply_rows``.
    """
    inputs, outputs = layer.inputs, layer.outputs
    row = 0
    while row < rows:
        # Several rows at a time read each weight once.
        together = target.ROWS if row + target.ROWS <= rows else 1
        o = 0
        while o < outputs:
            of_block = block_at(o, outputs)
            # Of a single row several blocks at a time, as one alone would wait for its own sums.
            streams = STREAMS if together == 1 and o + STREAMS * target.STEP <= outputs else 1
            multiply_rows(
                *(of_block, together, streams, x, first + row * stride, stride, inputs),
                *(weights, layer.weights + o * inputs, sums, trunk),
            )
            finish(
                *(sums, 0, together, streams * of_block, table, layer.table + o),
                *(scale, layer.scale + o, skips, floor, out, at + row * apart + o, apart),
            )
            o += streams * of_block
        row += together


@part
def multiply_row(y, x, height, width, channels, layer, weights, o, of_block, sums):
    """Write a convolution's sums [width, of_block] for a row of the board, from output ``o`` on."""
    # Rows of the board under the 3 x 3 taps; the weights of taps above the board are skipped.
    inputs = layer.inputs
    first_row, last_row = max(0, y - 1), min(height, y + 2)
    place = layer.weights + 9 * o * inputs + 3 * (first_row - y + 1) * inputs * of_block
    # Even parts of the row, each with at most as many cells as registers hold; ends lack a column.
    parts = (width + MOST_CELLS - 1) // MOST_CELLS
    shortest = width // parts
    longer = width - shortest * parts  # parts with one cell more
    column = 0
    for number in range(parts):
        cells = shortest + (1 if number < longer else 0)
        ends = (LEFT_END if number == 0 else 0) + (RIGHT_END if number == parts - 1 else 0)
        multiply_part(
            *(of_block, cells, ends, x, (first_row * width + column) * channels, channels),
            *(width * channels, last_row - first_row, inputs),
            *(weights, place, sums, column * of_block),
        )
        column += cells


@part
def convolve(x, height, width, channels, weights, table, scale, layer, sums, skips, out):
    """Compute a convolution with a ReLU, from ``x`` [height, width, channels] to ``out``.

    Sums leave out taps off the board. So the table's correction for an activation's zero depends on
    the taps that are on it: the table has entries for 4 kinds of rows and 4 of columns, 1 for the
    first one of the board, plus 2 for the last one.
    """
    o = 0
    while o < channels:
        of_block = block_at(o, channels)
        for y in range(height):
            multiply_row(y, x, height, width, channels, layer, weights, o, of_block, sums)
            kind = (1 if y == 0 else 0) + (2 if y == height - 1 else 0)
            of_row = layer.table + 4 * kind * channels + o
            at = y * width * channels + o
            # The first column, those between, and the last: each kind has a table of its own.
            begin = 0
            for column_kind, cells in ((1, 1), (0, width - 2), (2, 1)):
                if width == 1:
                    column_kind, cells = 3, 1 - begin
                finish(
                    *(
                        sums,
                        begin * of_block,
                        cells,
                        of_block,
                        table,
                        of_row + column_kind * channels,
                    ),
                    *(scale, layer.scale + o),
                    *(skips, np.float32(0), out, at + begin * channels, channels),
                )
                begin += cells
        o += of_block


@part
def fill_rows(row, rows, channels, out):
    """Fill ``out`` with ``rows`` copies of a row."""
    for channel in range(0, channels, target.LANES):
        values = load(row, channel)
        for k in range(rows):
            store(out, k * channels + channel, values)


@part
def add_scaled(factor, weights, place, channels, out, at):
    """Add a row of weights from ``place`` on, times a factor, to the row of ``out`` at ``at``."""
    factors = spread(factor)
    for k in range(0, channels, target.LANES):
        store(out, at + k, load(out, at + k) + factors * load(weights, place + k))


@part
def rectify(values, count):
    """ReLU."""
    zero = spread(np.float32(0))
    for k in range(0, count, target.LANES):
        store(values, k, larger(load(values, k), zero))


@part
def convolve_sparse(observation, height, width, planes, channels, weights, bias, out):
    """Compute the stem, a convolution with a ReLU of planes that are 0 almost everywhere.

    ``observation`` is [planes, height, width], ``weights`` [planes, 3, 3, channels]. Each input
    that is not 0 is added to the up to nine cells around it.
    """
    fill_rows(bias, height * width, channels, out)
    for plane in range(planes):
        for y in range(height):
            for x in range(width):
                value = observation[(plane * height + y) * width + x]
                if value == 0:
                    continue
                # out[row, column] += value * weights[plane, y - row + 1, x - column + 1]
                for row in range(max(0, y - 1), min(height, y + 2)):
                    for column in range(max(0, x - 1), min(width, x + 2)):
                        tap = 3 * (y - row + 1) + x - column + 1
                        add_scaled(
                            *(value, weights, (9 * plane + tap) * channels, channels),
                            *(out, (row * width + column) * channels),
                        )
    rectify(out, height * width * channels)


@part
def pool(x, first, stride, cells, channels, out, at):
    """Write means and then maxima over the board, of rows of ``x``, to ``out`` from ``at`` on."""
    share = spread(np.float32(1.0 / cells))
    for channel in range(0, channels, target.LANES):
        total = most = load(x, first + channel)
        for cell in range(1, cells):
            value = load(x, first + cell * stride + channel)
            total, most = total + value, larger(value, most)
        store(out, at + channel, total * share)
        store(out, at + channels + channel, most)


@part
def normalise(x, first, channels, count, weights, norm, lanes, floor, out, at):
    """Normalise ``count`` of the ``channels`` of a row (layer normalisation); padding becomes 0.

    ``weights`` hold gains [channels] from ``norm`` on, then biases [channels]. ``lanes`` is memory
    for `SUMS` numbers.
    """
    # (x - mean) / sqrt(variance + epsilon) * gain + bias (Ba, Kiros and Hinton, 2016)
    share = np.float32(1.0 / count)
    mean = total_of_row(x, first, count, np.float32(0), False, lanes) * share
    variance = total_of_row(x, first, count, mean, True, lanes) * share
    means, least = spread(mean), spread(floor)
    factor = spread(np.float32(1.0 / math.sqrt(variance + _EPSILON)))
    for k in range(0, channels, target.LANES):
        value = (load(x, first + k) - means) * factor * load(weights, norm + k)
        store(out, at + k, larger(value + load(weights, norm + channels + k), least))


@part
def total_of_row(x, first, count, mean, squares, lanes):
    """The sum of a row's numbers, or of the ``squares`` of their differences from the mean.

    The order of addition is the same with vectors of any length: numbers `SUMS` apart are added
    up in ``lanes``, and then these sums.
    """
    means = spread(mean)
    whole = count // SUMS * SUMS
    for lane in range(0, SUMS, target.LANES):
        total = spread(np.float32(0))
        for k in range(lane, whole, SUMS):
            difference = load(x, first + k) - means
            total = total + (difference * difference if squares else difference)
        store(lanes, lane, total)
    # Then in halves: 16 sums to 8, 4, 2 and 1; numbers behind the last whole 16 come at the end.
    half = SUMS // 2
    while half > 0:
        for lane in range(half):
            lanes[lane] += lanes[half + lane]
        half //= 2
    for k in range(whole, count):
        difference = x[first + k] - mean
        lanes[0] += difference * difference if squares else difference
    return lanes[0]


@part
def write_outcome(heads, first, wdl, scores, n):
    """Write win, draw, loss and score of position ``n`` from the logits at ``heads[first]``."""
    # Softmax: exp(l - max l) / sum of the same
    best = max(heads[first], heads[first + 1], heads[first + 2])
    total = np.float32(0)
    for k in range(3):
        wdl[n, k] = np.float32(exp(heads[first + k] - best))
        total += wdl[n, k]
    for k in range(3):
        wdl[n, k] /= total
    scores[n] = np.float32(1 - 2 / (exp(2 * np.float64(heads[first + 3])) + 1))  # tanh
