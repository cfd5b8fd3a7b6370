"""Networks as ONNX models: one node per operation of their layers, or by torch's exporter."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .layers import EPSILON, BoardLayers, Layers, Linear, Normalisation, VectorLayers

if TYPE_CHECKING:
    import onnx
    from torch import nn

#: Operator set of `onnx_of`'s models; ONNX Runtime supports it from version 1.12 on.
_OPSET = 17
_IR_VERSION = 8
#: Name of the first axis of input and outputs.
_BATCH = "batch"

INPUT = "observation"
#: Outputs of a model; the last one may be absent.
OUTPUTS = ("policy_logits", "outcome", "value", "score")


def onnx_of(layers: Layers, has_score: bool = True) -> onnx.ModelProto:
    """The ONNX model of a network, for any batch size: from `INPUT` to `OUTPUTS`.

    Args:
        layers: the network's layers.
        has_score: whether the score is among the outputs.

    Returns:
        float32 outputs: logits [batch, A], probabilities of win, draw and loss [batch, 3], win
        minus loss [batch], score [batch].
    """
    graph = _OnnxGraph()
    write = _board if isinstance(layers, BoardLayers) else _vector
    policy, outcome, score = write(graph, layers, INPUT)  # type: ignore[arg-type]
    probabilities = graph.add("Softmax", outcome, axis=1)
    win, loss = (
        graph.add("Gather", probabilities, graph.constant(number), axis=1) for number in (0, 2)
    )
    outputs = [policy, probabilities, graph.add("Sub", win, loss)]
    if has_score:
        flat = graph.add("Reshape", score, graph.constant([-1]))
        outputs.append(graph.add("Tanh", flat))
    sizes: list[list[int]] = [[layers.shape.num_actions], [3], [], []]
    return graph.model(layers.shape.observation, dict(zip(outputs, sizes, strict=False)))


def _board(graph: _OnnxGraph, layers: BoardLayers, observation: str) -> tuple[str, str, str]:
    """Write the operations; return the names of logits, outcome logits, and score before tanh."""
    x = graph.add("Relu", graph.convolution(observation, layers.stem))
    for block in layers.blocks:
        y = graph.add("Relu", graph.convolution(x, block.first))
        if block.bias is not None:
            bias = graph.dense(graph.pooled(y), block.bias)
            y = graph.add("Add", y, graph.add("Unsqueeze", bias, graph.constant([2, 3])))
        x = graph.add("Relu", graph.add("Add", x, graph.convolution(y, block.second)))
    pooled = graph.pooled(x)
    cells = graph.add("Relu", graph.convolution(x, layers.policy_cells))
    if layers.order is None:
        policy = graph.dense(graph.add("Flatten", cells), layers.policy)
    else:
        policy = graph.add("Flatten", graph.convolution(cells, layers.policy))
        if layers.others is not None:
            policy = graph.add("Concat", policy, graph.dense(pooled, layers.others), axis=1)
        policy = graph.add("Gather", policy, graph.constant(layers.order), axis=1)
    cells = graph.add("Relu", graph.convolution(x, layers.value_cells))
    seen = graph.pooled(cells) if layers.pools_value else graph.add("Flatten", cells)
    both = graph.add("Concat", pooled, seen, axis=1)
    hidden = graph.add("Relu", graph.dense(both, layers.value_hidden))
    return policy, graph.dense(hidden, layers.outcome), graph.dense(hidden, layers.score)


def _vector(graph: _OnnxGraph, layers: VectorLayers, observation: str) -> tuple[str, str, str]:
    """`_board` for a perceptron."""
    x = graph.dense(observation, layers.stem)
    for block in layers.blocks:
        y = graph.add("Relu", graph.dense(graph.normalised(x, block.norm), block.first))
        x = graph.add("Add", x, graph.dense(y, block.second))
    x = graph.add("Relu", graph.normalised(x, layers.norm))
    return tuple(  # type: ignore[return-value]
        graph.dense(x, linear) for linear in (layers.policy, layers.outcome, layers.score)
    )


class _OnnxGraph:
    """The nodes and constants of a model; its methods add them and return their names."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""
        from onnx import helper

        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Add an array; whole numbers become int64."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(np.float32 if array.dtype.kind == "f" else np.int64)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def dense(self, x: str, linear: Linear) -> str:
        """Add a dense layer on [batch, inputs]."""
        return self.add("Gemm", x, *map(self.constant, linear), transB=1)

    def convolution(self, x: str, linear: Linear) -> str:
        """Add a convolution on [batch, inputs, height, width]; a dense layer works on each cell."""
        weight = linear.weight
        size = weight.shape[2] if weight.ndim == 4 else 1
        weight = weight.reshape(*weight.shape[:2], size, size)
        constants = map(self.constant, (weight, linear.bias))
        return self.add("Conv", x, *constants, kernel_shape=[size, size], pads=[size // 2] * 4)

    def pooled(self, x: str) -> str:
        """Add the means and then the maxima over the board."""
        parts = (
            self.add(operator, x, axes=[2, 3], keepdims=0)
            for operator in ("ReduceMean", "ReduceMax")
        )
        return self.add("Concat", *parts, axis=1)

    def normalised(self, x: str, norm: Normalisation) -> str:
        """Add a layer normalisation."""
        return self.add("LayerNormalization", x, *map(self.constant, norm), epsilon=EPSILON)

    def model(
        self, observation_shape: Sequence[int], outputs: Mapping[str, Sequence[int]]
    ) -> onnx.ModelProto:
        """The model; ``outputs`` maps nodes to their shapes, in the order of `OUTPUTS`."""
        from onnx import TensorProto, helper

        def described(name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, [_BATCH, *shape])

        named = dict(zip(OUTPUTS, outputs.items(), strict=False))
        self.nodes += [
            helper.make_node("Identity", [node], [name]) for name, (node, _) in named.items()
        ]
        graph = helper.make_graph(
            self.nodes,
            "network",
            [described(INPUT, observation_shape)],
            [described(name, shape) for name, (_, shape) in named.items()],
            self.constants,
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
            producer_name="ludarium",
        )


# Custom networks, written by torch's exporter.


def onnx_by_torch(
    module: nn.Module, observation_shape: Sequence[int], output_names: Sequence[str]
) -> onnx.ModelProto:
    """The ONNX model of any module, for any batch size.

    Args:
        module: a module in evaluation mode on the CPU; it takes float32 [B, *observation_shape]
            and returns a tuple of tensors [B, ...].
        observation_shape: shape of one observation.
        output_names: names of the tensors.

    Raises:
        ImportError: ``onnxscript``, which torch's exporter needs, is not installed.
        ValueError: torch's exporter cannot write the network.
    """
    try:
        import_module("onnxscript")
    except ModuleNotFoundError:
        raise ImportError(
            'a custom network needs torch\'s ONNX exporter: pip install "ludarium[export]"'
        ) from None
    import torch
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    try:
        with _quiet():
            program = torch.onnx.export(
                module,
                (torch.zeros(2, *observation_shape),),
                input_names=[INPUT],
                output_names=list(output_names),
                dynamic_shapes=({0: torch.export.Dim(_BATCH)},),
                dynamo=True,
                optimize=False,
                verbose=False,
            )
            assert program is not None
            ClearMetadataAndDocStringPass()(program.model)  # traces contain paths of this machine
            program.model.metadata_props.clear()
            model: onnx.ModelProto = program.model_proto
    except Exception as error:  # a custom network may make the exporter raise anything
        raise ValueError(f"torch cannot write this network as ONNX: {str(error)[:200]}") from error
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's messages, among them that torchvision is not installed."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
