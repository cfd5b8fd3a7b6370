"""Weights in the order in which the kernels read them, in eight bits if wanted.

The eight-bit scheme follows Jacob et al., "Quantization and Training of Neural Networks for
Efficient Integer-Arithmetic-Only Inference" (2018): ``activation = scale * (number - zero)``, with
a scale and a zero for a layer's activations, and a scale for each output's weights (their zero is
0). The products of numbers are added exactly. Stem of a board's network, residual stream,
normalisation, pooling and heads stay in float32; the heads' weights are whole numbers of eight bits
times a scale for each output, so that files can hold them as int8.

Layers are padded alike for all processors. So for two processors a network in eight bits differs
only in the order of its weights, in its memory and, if activations are int8, in ``table``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludarium.envs.engine.rule import record_dtype
from ludarium.models.layers import BoardLayers, Layers, Linear, VectorLayers

from .emitted import STREAMS
from .evaluate import HEADS, POOLED_BIASES
from .layers_compiled import SUMS
from .target import HOST, PADDED, PER, RANGES, Target

#: A dense layer or a convolution. ``inputs`` and ``outputs`` are padded; both are 0 for an absent
#: layer. Its numbers begin at ``weights``, ``table`` and ``scale``. Values become activations by
#: ``values * inverse + zero``, clipped to ``least`` and ``most``, and in eight bits truncated.
LAYER = record_dtype(
    *((name, np.int64) for name in ("inputs", "outputs", "weights", "table", "scale")),
    *((name, np.float32) for name in ("inverse", "zero", "least", "most")),
)

#: ``channels`` includes padding, ``channels_used`` does not. ``planes``: of a board, or features.
SIZES = record_dtype(
    *(
        (name, np.int64)
        for name in (
            *("height", "width", "planes", "channels", "channels_used", "blocks", "hidden"),
            *("is_placed", "pools_value"),
        )
    ),
)


class PackedNetwork(NamedTuple):
    """A network in the form that the kernels of `evaluate` take.

    All arrays have one dimension; shapes here tell the order of their numbers.

    Attributes:
        sizes: one record of `SIZES`.
        trunk: records of `LAYER`: two convolutions a block, or a perceptron's stem and two a block.
        weights: the trunk's weights, float32 or int8.
        table: the trunk's table, float32 or int32; in a board's network [4, 4, channels] a layer,
            see `layers_compiled.convolve`.
        scale: the trunk's scale, float32.
        stem, stem_bias: float32 [planes, 3, 3, channels] and [channels], of a board's network.
        norms: float32 [blocks + 1, 2, channels], a perceptron's gains and biases.
        heads: records of `LAYER`, see `evaluate`.
        head_weights, head_bias, head_scale: of the heads, float32.
        order: int64 [A], the index in ``policy`` of each action's logit.
        ranges: float32 [layers of the trunk, 2], which the kernels widen so that they hold all
            values that a layer reads; or empty.
        x, y, q, sums, seen, features, cells, policy, pooled, bias, hidden, outcome, head_sums,
            lanes: memory to compute in, for one thread at a time.
    """

    sizes: np.ndarray
    trunk: np.ndarray
    weights: np.ndarray
    table: np.ndarray
    scale: np.ndarray
    stem: np.ndarray
    stem_bias: np.ndarray
    norms: np.ndarray
    heads: np.ndarray
    head_weights: np.ndarray
    head_bias: np.ndarray
    head_scale: np.ndarray
    order: np.ndarray
    ranges: np.ndarray
    x: np.ndarray
    y: np.ndarray
    q: np.ndarray
    sums: np.ndarray
    seen: np.ndarray
    features: np.ndarray
    cells: np.ndarray
    policy: np.ndarray
    pooled: np.ndarray
    bias: np.ndarray
    hidden: np.ndarray
    outcome: np.ndarray
    head_sums: np.ndarray
    lanes: np.ndarray


#: The fields that kernels write; each thread has its own.
WRITTEN = PackedNetwork._fields[PackedNetwork._fields.index("ranges") :]


def pack(layers: Layers, ranges: np.ndarray | None = None, target: Target = HOST) -> PackedNetwork:
    """The network for the kernels.

    Args:
        layers: layers of the network.
        ranges: float32 [layers of the trunk, 2], the least and the greatest number that each layer
            reads, for eight bits; None: float32.
        target: the target of the kernels.
    """
    pack_layers = _pack_board if isinstance(layers, BoardLayers) else _pack_vector
    return pack_layers(layers, ranges, target)  # type: ignore[arg-type]


def empty_network(eight_bit: bool, target: Target) -> PackedNetwork:
    """A network without numbers: its arrays have the dtypes of all networks in this precision."""
    trunk, heads = _Packer(target, eight_bit), _Packer(target, False)
    return _network(np.zeros(1, SIZES), trunk, heads, x=1, order=np.zeros(1, np.int64))


def with_memory_of_its_own(network: PackedNetwork) -> PackedNetwork:
    """The same weights with memory for another thread."""
    return network._replace(**{name: getattr(network, name).copy() for name in WRITTEN})


def packed(weight: np.ndarray, target: Target, per: int) -> np.ndarray:
    """Weights [outputs, inputs, taps], padded, in the order that ``models.making.block`` reads."""
    outputs, inputs, taps = weight.shape
    whole = outputs // target.step * target.step
    parts = []
    for some, step in ((weight[:whole], target.step), (weight[whole:], target.narrow)):
        blocks = some.reshape(len(some) // step, step, inputs // per, per, taps)
        parts.append(blocks.transpose(0, 4, 2, 1, 3).reshape(-1))
    return np.concatenate(parts)


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _padded(array: np.ndarray, *shape: int) -> np.ndarray:
    return np.pad(
        array, [(0, wanted - now) for wanted, now in zip(shape, array.shape, strict=True)]
    )


class _Packer:
    """Collects layers and their arrays.

    Args:
        target: the target of the kernels.
        eight_bit: whether the layers read activations in eight bits.
        rounds: whether weights of layers in float32 are rounded to eight-bit numbers times a scale.
    """

    def __init__(self, target: Target, eight_bit: bool, rounds: bool = False) -> None:
        self.target = target
        self.activations = target.activations(eight_bit)
        self.rounds = rounds
        self.layers: list[Any] = []
        self.weights: list[np.ndarray] = []
        self.table: list[np.ndarray] = []
        self.scale: list[np.ndarray] = []
        self._sizes = [0, 0, 0]

    def skip(self) -> None:
        """Add a record of zeros for a layer that the network does not have."""
        self.layers.append(np.zeros((), LAYER))

    def add(self, linear: Linear, low_high: np.ndarray | None = None, board: bool = False) -> None:
        """Add a layer.

        Args:
            linear: the layer, with the inputs that are used.
            low_high: the range of its inputs, for eight bits.
            board: whether it is a convolution, with a table for each kind of cell.
        """
        per = PER[str(self.activations)]
        outputs = _up(len(linear.bias), PADDED)
        inputs = _up(linear.weight.shape[1], 1 if low_high is None else max(PER.values()))
        weight = linear.weight.reshape(*linear.weight.shape[:2], -1).astype(np.float32)
        weight = _padded(weight, outputs, inputs, weight.shape[2])
        bias = _padded(linear.bias.astype(np.float32), outputs)
        layer = np.zeros((), LAYER)
        layer["inputs"], layer["outputs"] = inputs, outputs
        for name, size in zip(("weights", "table", "scale"), self._sizes, strict=True):
            layer[name] = size
        scale = np.ones(outputs, np.float32)
        layer["inverse"], layer["least"], layer["most"] = 1, -np.inf, np.inf
        zero = 0
        if low_high is not None:
            low, high = min(float(low_high[0]), 0.0), max(float(low_high[1]), 1e-6)
            of_inputs = (high - low) / 255
            smallest, _ = RANGES[str(self.activations)]
            zero = round(-low / of_inputs)
            of_weights = np.abs(weight).max((1, 2)).astype(np.float64) / 127
            # A bias must fit int32; weights that are negligible beside it may round to 0.
            of_weights = np.maximum(of_weights, np.abs(bias) / (of_inputs * 2**30))
            of_weights[of_weights == 0] = 1
            weight = np.rint(weight / of_weights[:, None, None]).astype(np.int8)
            scale = (of_inputs * of_weights).astype(np.float32)
            bias = np.rint(bias / (of_inputs * of_weights))
            layer["inverse"], layer["zero"] = 1 / of_inputs, zero + 0.5
            layer["least"], layer["most"] = 0, 255
            zero += smallest
        elif self.rounds:
            scale = np.abs(weight).max((1, 2)) / np.float32(127)
            scale[scale == 0] = 1
            weight, bias = np.rint(weight / scale[:, None, None]), bias / scale
        table = bias[None] - zero * _weights_on_board(weight) if board else bias
        if zero and not board:
            table = bias - zero * weight[:, :, 0].sum(1, dtype=np.int64)
        table = table.reshape(-1).astype(np.float32 if low_high is None else np.int32)
        self.layers.append(layer)
        self.weights.append(packed(weight, self.target, per))
        self.table.append(table)
        self.scale.append(scale)
        self._sizes = [
            size + len(added)
            for size, added in zip(self._sizes, (self.weights[-1], table, scale), strict=True)
        ]

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Layers, weights, table, scale."""
        eight_bit = self.activations != np.float32
        return (
            np.array(self.layers, LAYER).view(np.recarray),
            _joined(self.weights, np.dtype(np.int8 if eight_bit else np.float32)),
            _joined(self.table, np.dtype(np.int32 if eight_bit else np.float32)),
            _joined(self.scale, np.dtype(np.float32)),
        )


def _joined(arrays: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    return np.concatenate([*arrays, np.zeros(1, dtype)]).astype(dtype, copy=False)


def _weights_on_board(weight: np.ndarray) -> np.ndarray:
    """Sums of the weights [outputs, inputs, 9] of the taps on the board, by kind of row and column.

    Returns:
        int64 [16, outputs]. The kind of a row or column is 1 if it is the first one of the board,
        plus 2 if it is the last one.
    """
    of_taps = weight.sum(1, dtype=np.int64).reshape(-1, 3, 3)
    kinds = [
        [tap for tap in range(3) if not ((tap == 0 and kind & 1) or (tap == 2 and kind & 2))]
        for kind in range(4)
    ]
    sums = [of_taps[:, rows][:, :, columns].sum((1, 2)) for rows in kinds for columns in kinds]
    return np.stack(sums)


def _pack_board(layers: BoardLayers, ranges: np.ndarray | None, target: Target) -> PackedNetwork:
    planes, height, width = layers.shape.observation
    cells, step = height * width, target.step
    used = len(layers.stem.bias)
    channels = _up(used, PADDED)
    hidden = len(layers.value_cells.bias)
    trunk = _Packer(target, ranges is not None)
    heads = _Packer(target, False, rounds=ranges is not None)

    def pooled(linear: Linear) -> Linear:
        """The layer with inputs for the means and the maxima of the padded channels."""
        both = linear.weight[:, : 2 * used].reshape(-1, 2, used)
        padded = _padded(both, len(both), 2, channels).reshape(len(both), -1)
        rest = linear.weight[:, 2 * used :]
        return Linear(np.concatenate([padded, rest], axis=1), linear.bias)

    def by_cell(weight: np.ndarray) -> np.ndarray:
        """Weights with inputs [hidden, cells], reordered to [cells, hidden]."""
        return weight.reshape(-1, hidden, cells).transpose(0, 2, 1).reshape(len(weight), -1)

    for number, block in enumerate(layers.blocks):
        for part, linear in enumerate((block.first, block.second)):
            trunk.add(linear, None if ranges is None else ranges[2 * number + part], board=True)

    both = [layers.policy_cells, layers.value_cells]
    heads.add(Linear(*(np.concatenate(arrays) for arrays in zip(*both, strict=True))))
    is_placed = layers.order is not None
    policy = layers.policy
    heads.add(policy if is_placed else Linear(by_cell(policy.weight), policy.bias))
    if layers.others is None:
        heads.skip()
    else:
        heads.add(pooled(layers.others))
    value = pooled(layers.value_hidden)
    if not layers.pools_value:
        seen = by_cell(value.weight[:, 2 * channels :])
        value = value._replace(
            weight=np.concatenate([value.weight[:, : 2 * channels], seen], axis=1)
        )
    heads.add(value)
    last = [layers.outcome, layers.score]
    heads.add(Linear(*(np.concatenate(arrays) for arrays in zip(*last, strict=True))))
    assert len(heads.layers) == POOLED_BIASES
    for block in layers.blocks:
        if block.bias is None:
            heads.skip()
        else:
            heads.add(pooled(block.bias))

    of_cell, of_policy, of_others, of_value, of_outcome = (
        int(layer["outputs"]) for layer in heads.layers[:POOLED_BIASES]
    )
    if layers.order is None:
        order = np.arange(layers.shape.num_actions)
    else:  # here the planes' logits are [cells, planes], with padding
        on_board = layers.order < len(policy.bias) * cells
        plane, cell = np.divmod(layers.order, cells)
        after = cells * of_policy - len(policy.bias) * cells
        order = np.where(on_board, cell * of_policy + plane, layers.order + after)
    sizes = np.zeros(1, SIZES)
    for name, size in {
        "height": height,
        "width": width,
        "planes": planes,
        "channels": channels,
        "channels_used": used,
        "blocks": len(layers.blocks),
        "hidden": hidden,
        "is_placed": is_placed,
        "pools_value": layers.pools_value,
    }.items():
        sizes[name] = size
    stem = layers.stem.weight.astype(np.float32).transpose(1, 2, 3, 0)
    return _network(
        sizes,
        trunk,
        heads,
        stem=_padded(stem, planes, 3, 3, channels).reshape(-1),
        stem_bias=_padded(layers.stem.bias.astype(np.float32), channels),
        order=order.astype(np.int64),
        x=cells * channels,
        sums=width * step,
        seen=planes * cells,
        features=2 * channels + cells * hidden,
        cells=cells * of_cell,
        policy=cells * of_policy + of_others,
        pooled=2 * max(channels, of_cell),
        bias=channels,
        hidden=of_value,
        outcome=of_outcome,
        head_sums=max(target.rows, STREAMS) * step,
    )


def _pack_vector(layers: VectorLayers, ranges: np.ndarray | None, target: Target) -> PackedNetwork:
    (features,) = layers.shape.observation
    used = len(layers.stem.bias)
    channels = _up(used, PADDED)
    trunk = _Packer(target, ranges is not None)
    heads = _Packer(target, False, rounds=ranges is not None)
    linears = [layers.stem]
    for block in layers.blocks:
        linears += [block.first, block.second]
    for number, linear in enumerate(linears):
        trunk.add(linear, None if ranges is None else ranges[number])
    last = [layers.policy, layers.outcome, layers.score]
    heads.add(Linear(*(np.concatenate(arrays) for arrays in zip(*last, strict=True))))
    norms = [*(block.norm for block in layers.blocks), layers.norm]
    sizes = np.zeros(1, SIZES)
    for name, size in {
        "planes": features,
        "channels": channels,
        "channels_used": used,
        "blocks": len(layers.blocks),
    }.items():
        sizes[name] = size
    rows, inputs = target.rows, int(trunk.layers[0]["inputs"])
    return _network(
        sizes,
        trunk,
        heads,
        norms=np.concatenate(
            [_padded(part.astype(np.float32), channels) for norm in norms for part in norm]
        ),
        order=np.arange(layers.shape.num_actions),
        x=rows * channels,
        q=rows * max(channels, inputs) + target.narrow,
        sums=max(rows, STREAMS) * target.step,
        features=rows * inputs + target.narrow,  # kernels read whole vectors
        policy=rows * int(heads.layers[HEADS]["outputs"]),
        hidden=rows * channels,
        head_sums=max(rows, STREAMS) * target.step,
        lanes=SUMS,
    )


def _network(sizes: np.ndarray, trunk: _Packer, heads: _Packer, **others: Any) -> PackedNetwork:
    """The network made of its layers; ``others`` are arrays, and sizes of the memory."""
    layers, weights, table, scale = trunk.arrays()
    head_layers, head_weights, head_bias, head_scale = heads.arrays()
    of_sums = np.float32 if trunk.activations == np.float32 else np.int32
    dtypes = {"q": trunk.activations, "sums": np.dtype(of_sums)}
    others = {"q": others["x"], "y": others["x"], "ranges": 0} | others
    arrays = (
        dict.fromkeys(("stem", "stem_bias", "norms"), np.zeros(1, np.float32))
        | {name: others.get(name, 1) for name in WRITTEN}
        | {name: each for name, each in others.items() if isinstance(each, np.ndarray)}
    )
    return PackedNetwork(
        sizes=sizes,
        trunk=layers,
        weights=weights,
        table=table,
        scale=scale,
        heads=head_layers,
        head_weights=head_weights,
        head_bias=head_bias,
        head_scale=head_scale,
        **{
            name: each
            if isinstance(each, np.ndarray)
            else np.zeros(each, dtypes.get(name, np.dtype(np.float32)))
            for name, each in arrays.items()
        },
    )
