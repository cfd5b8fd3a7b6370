"""A network as data: its layers as arrays, with batch normalisation folded in.

The weights have the names that they have in a checkpoint and in `ludarium.models.network`; torch is
not needed. `ludarium.models.kernels` computes the layers, `ludarium.models.onnx_graph` writes them
as ONNX.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .shape import Architecture, NetworkShape, check_member, policy_planes

#: Arrays by name, as in a checkpoint.
Weights = Mapping[str, np.ndarray]

#: Added to a variance before its root is taken: the default of torch's normalisations.
EPSILON = 1e-5


class Linear(NamedTuple):
    """A dense layer, or a convolution with stride 1 and zeros around the board.

    Attributes:
        weight: float32 [outputs, inputs], or [outputs, inputs, 3, 3] of a convolution.
        bias: float32 [outputs].
    """

    weight: np.ndarray
    bias: np.ndarray


class Normalisation(NamedTuple):
    """Layer normalisation over the last axis, with `EPSILON`.

    Attributes:
        weight, bias: float32 [channels].
    """

    weight: np.ndarray
    bias: np.ndarray


class BoardBlock(NamedTuple):
    """``x -> relu(x + second(y + bias(pool(y))))`` with ``y = relu(first(x))``.

    Attributes:
        first, second: convolutions.
        bias: layer from the means and then the maxima over the board, 2 channels, to a number for
            each channel; None adds none.
    """

    first: Linear
    bias: Linear | None
    second: Linear


class BoardLayers(NamedTuple):
    """A network for observations (planes, height, width).

    Attributes:
        shape: shape of observations and actions.
        stem: convolution with a ReLU.
        blocks: the rest of the trunk.
        policy_cells: dense layer on each cell with a ReLU, to ``hidden`` numbers.
        policy: logits from the cells: some planes for each cell, or, if actions have no
            places, from all cells, [A, hidden * cells] in the order [hidden, cells].
        others: logits of actions without a place from the pooled trunk, [others, 2 channels], which
            come after the planes; None if there are no such actions, or if none has a place.
        order: int64 [A], the index of each action's logit among planes [planes, cells] and others;
            None: the action's own number, if no action has a place.
        value_cells: a layer like ``policy_cells``, for the value.
        pools_value: whether ``value_hidden`` reads ``value_cells`` pooled, 2 hidden; else all of
            them, [hidden, cells].
        value_hidden: dense layer with a ReLU, from the pooled trunk and then the value's cells.
        outcome: dense layer to the logits of win, draw and loss.
        score: dense layer to a number; its hyperbolic tangent is the score.
    """

    shape: NetworkShape
    stem: Linear
    blocks: tuple[BoardBlock, ...]
    policy_cells: Linear
    policy: Linear
    others: Linear | None
    order: np.ndarray | None
    value_cells: Linear
    pools_value: bool
    value_hidden: Linear
    outcome: Linear
    score: Linear


class VectorBlock(NamedTuple):
    """``x -> x + second(relu(first(norm(x))))``."""

    norm: Normalisation
    first: Linear
    second: Linear


class VectorLayers(NamedTuple):
    """A perceptron for observations (features,): the heads read ``relu(norm(x))``.

    Attributes:
        shape: shape of observations and actions.
        stem: a layer without a ReLU.
        blocks: the rest of the trunk.
        norm: normalisation after the blocks.
        policy: logits of the actions.
        outcome, score: as in `BoardLayers`.
    """

    shape: NetworkShape
    stem: Linear
    blocks: tuple[VectorBlock, ...]
    norm: Normalisation
    policy: Linear
    outcome: Linear
    score: Linear


Layers = BoardLayers | VectorLayers


def layers(weights: Weights, shape: NetworkShape) -> Layers:
    """The layers of a network of one game.

    Args:
        weights: weights of a `ludarium.models.network.BoardNetwork` or `VectorNetwork`, or those
            that `member_weights` takes from a family's.
        shape: the game's shape.
    """
    return _board(weights, shape) if len(shape.observation) == 3 else _vector(weights, shape)


def answers(layers: Layers, observations: np.ndarray) -> list[np.ndarray]:
    """Logits of actions [B, A], of win, draw and loss [B, 3], and scores [B, 1], in plain numpy.

    Slow: to check layers with. `ludarium.models.kernels` computes them for games.

    Args:
        layers: the layers.
        observations: float32 [B, *shape.observation].
    """
    x = observations
    if isinstance(layers, VectorLayers):
        x = _applied(layers.stem, x)
        for vector_block in layers.blocks:
            hidden = _relu(_applied(vector_block.first, _normalised(vector_block.norm, x)))
            x = x + _applied(vector_block.second, hidden)
        x = _relu(_normalised(layers.norm, x))
        policy = _applied(layers.policy, x)
    else:
        x = _relu(_convolved(layers.stem, x))
        for block in layers.blocks:
            y = _relu(_convolved(block.first, x))
            if block.bias is not None:
                y = y + _applied(block.bias, _pooled(y))[:, :, None, None]
            x = _relu(x + _convolved(block.second, y))
        pooled, cells = _pooled(x), _relu(_convolved(layers.policy_cells, x))
        if layers.order is None:
            policy = _applied(layers.policy, cells.reshape(len(x), -1))
        else:
            policy = _convolved(layers.policy, cells).reshape(len(x), -1)
            if layers.others is not None:
                policy = np.concatenate([policy, _applied(layers.others, pooled)], axis=1)
            policy = policy[:, layers.order]
        cells = _relu(_convolved(layers.value_cells, x))
        seen = _pooled(cells) if layers.pools_value else cells.reshape(len(x), -1)
        x = _relu(_applied(layers.value_hidden, np.concatenate([pooled, seen], axis=1)))
    return [policy, _applied(layers.outcome, x), np.tanh(_applied(layers.score, x))]


def _applied(layer: Linear, x: np.ndarray) -> np.ndarray:
    return x @ layer.weight.T + layer.bias


def _convolved(layer: Linear, x: np.ndarray) -> np.ndarray:
    """A convolution, or a dense layer on each cell."""
    weight = layer.weight if layer.weight.ndim == 4 else layer.weight[:, :, None, None]
    rows, columns = weight.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (0, 0), (rows // 2,) * 2, (columns // 2,) * 2)), (rows, columns), (2, 3)
    )
    summed = np.tensordot(windows, weight, axes=((1, 4, 5), (1, 2, 3)))
    return np.moveaxis(summed, 3, 1) + layer.bias[:, None, None]


def _pooled(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x.mean((2, 3)), x.max((2, 3))], axis=1)


def _normalised(norm: Normalisation, x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(1, keepdims=True) + np.float32(EPSILON))
    return centred / deviation * norm.weight + norm.bias


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def arrays_of(part: tuple[Any, ...], name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of layers, each with a name such as ``blocks.0.first.weight``."""
    fields = getattr(part, "_fields", range(len(part)))
    for field, value in zip(fields, part, strict=True):
        if isinstance(value, np.ndarray):
            yield f"{name}{field}", value
        elif isinstance(value, tuple):
            yield from arrays_of(value, f"{name}{field}.")


def member_weights(
    weights: Weights, family: NetworkShape, member: NetworkShape, features: Sequence[float]
) -> dict[str, np.ndarray]:
    """The weights of one game from those of a `ludarium.models.family.FamilyNetwork`.

    Args:
        weights: the family's weights.
        family: the shape that it was made for.
        member: the shape of the game.
        features: features of the game's options, see `ludarium.models.options.option_features`.

    Raises:
        ValueError: no game of this family has this shape and number of features.
    """
    check_member(family, member)
    of_options = weights["options.weight"]
    if len(features) != of_options.shape[1]:
        raise ValueError(
            f"the network takes {of_options.shape[1]} features of options, not {len(features)}"
        )
    bias = of_options @ np.array(features, of_options.dtype)
    prefix = "network."
    found = {
        name.removeprefix(prefix): array
        for name, array in weights.items()
        if name.startswith(prefix)
    }
    if len(member.observation) == 1:
        found["stem.bias"] = found["stem.bias"] + bias
        return found
    found["stem.0.weight"] = found["stem.0.weight"][:, : member.observation[0]]
    found["stem.0.bias"] = bias
    planes, _ = policy_planes(member)
    for name in ("policy.planes.weight", "policy.planes.bias"):
        found[name] = found[name][:planes]
    return found


def action_order(places: np.ndarray, cells: int, planes: int) -> np.ndarray:
    """The index of each action's logit: on the planes, or after them in turn; int64 [A].

    Args:
        places: `NetworkShape.action_places`, int [A].
        cells: cells of the board.
        planes: planes of the policy.
    """
    without = places < 0
    return np.where(without, planes * cells + without.cumsum() - 1, places).astype(np.int64)


def _linear(weights: Weights, name: str) -> Linear:
    weight = weights[f"{name}.weight"]
    if weight.shape[2:] == (1, 1):
        weight = weight[:, :, 0, 0]
    return Linear(weight, weights[f"{name}.bias"])


def _convolution(weights: Weights, name: str) -> Linear:
    """A convolution, with the batch normalisation after it folded in (Jacob et al. 2018, 3.2)."""
    weight = weights[f"{name}.0.weight"]
    bias = weights.get(f"{name}.0.bias", np.zeros(len(weight), weight.dtype))
    gain, shift, mean, variance = (
        weights[f"{name}.1.{part}"] for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gain / np.sqrt(variance + np.float32(EPSILON))
    return Linear(weight * scale[:, None, None, None], (bias - mean) * scale + shift)


def _count(weights: Weights) -> int:
    """How many blocks the trunk has."""
    return len({name.split(".")[1] for name in weights if name.startswith("blocks.")})


def _board(weights: Weights, shape: NetworkShape) -> BoardLayers:
    cells = int(np.prod(shape.observation[1:]))
    if shape.action_places is None:
        policy, others, order = _linear(weights, "policy.logits"), None, None
    else:
        policy = _linear(weights, "policy.planes")
        others = _linear(weights, "policy.others") if "policy.others.weight" in weights else None
        order = action_order(np.array(shape.action_places), cells, len(policy.bias))
    blocks = [
        BoardBlock(
            _convolution(weights, f"blocks.{k}.first"),
            _linear(weights, f"blocks.{k}.bias") if f"blocks.{k}.bias.weight" in weights else None,
            _convolution(weights, f"blocks.{k}.second"),
        )
        for k in range(_count(weights))
    ]
    return BoardLayers(
        shape=shape,
        stem=_convolution(weights, "stem"),
        blocks=tuple(blocks),
        policy_cells=_linear(weights, "policy_cells"),
        policy=policy,
        others=others,
        order=order,
        value_cells=_linear(weights, "value_cells"),
        pools_value="stem.0.bias" in weights,  # in families, whose weights fit any size
        value_hidden=_linear(weights, "value_hidden"),
        outcome=_linear(weights, "outcome"),
        score=_linear(weights, "score"),
    )


def _vector(weights: Weights, shape: NetworkShape) -> VectorLayers:
    def norm(name: str) -> Normalisation:
        return Normalisation(weights[f"{name}.weight"], weights[f"{name}.bias"])

    blocks = [
        VectorBlock(
            norm(f"blocks.{k}.0"),
            _linear(weights, f"blocks.{k}.1"),
            _linear(weights, f"blocks.{k}.3"),
        )
        for k in range(_count(weights))
    ]
    return VectorLayers(
        shape=shape,
        stem=_linear(weights, "stem"),
        blocks=tuple(blocks),
        norm=norm("norm"),
        policy=_linear(weights, "policy"),
        outcome=_linear(weights, "outcome"),
        score=_linear(weights, "score"),
    )


def weight_shapes(shape: NetworkShape, architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a network's weights; all are float32, except counts of batches, int64.

    Args:
        shape: the network's shape; a family's is the one that it was made for.
        architecture: architecture of a network of this package.
    """
    options = architecture.options
    channels, blocks = options["channels"], options["blocks"]
    found: dict[str, tuple[int, ...]] = {}

    def linear(name: str, inputs: int, outputs: int, *kernel: int) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = (outputs, inputs, *kernel), (outputs,)

    def norm(name: str) -> None:
        found[f"{name}.weight"] = found[f"{name}.bias"] = (channels,)

    def convolution(name: str, inputs: int) -> None:
        found[f"{name}.0.weight"] = (channels, inputs, 3, 3)
        norm(f"{name}.1")
        found[f"{name}.1.running_mean"] = found[f"{name}.1.running_var"] = (channels,)
        found[f"{name}.1.num_batches_tracked"] = ()

    is_family = "features" in options
    if len(shape.observation) == 1:
        linear("stem", shape.observation[0], channels)
        for block in range(blocks):
            norm(f"blocks.{block}.0")
            linear(f"blocks.{block}.1", channels, channels)
            linear(f"blocks.{block}.3", channels, channels)
        norm("norm")
        linear("policy", channels, shape.num_actions)
        last = channels
    else:
        planes, height, width = shape.observation
        hidden, last = max(16, channels // 2), 2 * channels
        convolution("stem", planes)
        for block in range(blocks):
            convolution(f"blocks.{block}.first", channels)
            convolution(f"blocks.{block}.second", channels)
            if block % 2 == 1:
                linear(f"blocks.{block}.bias", 2 * channels, channels)
        linear("policy_cells", channels, hidden, 1, 1)
        if shape.action_places is None:
            linear("policy.logits", hidden * height * width, shape.num_actions)
        else:
            of_policy, others = policy_planes(shape)
            linear("policy.planes", hidden, of_policy, 1, 1)
            if others:
                linear("policy.others", 2 * channels, others)
        linear("value_cells", channels, hidden, 1, 1)
        seen = 2 * hidden if is_family else hidden * height * width
        linear("value_hidden", 2 * channels + seen, last)
    linear("outcome", last, 3)
    linear("score", last, 1)
    if is_family:
        found = {f"network.{name}": size for name, size in found.items()}
        found["options.weight"] = (channels, options["features"])
    return found
