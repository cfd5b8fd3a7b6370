"""Backends: ways to run a network for inference.

Self-play spends most of its time in the network, so its backend matters. From the slowest to the
fastest:

- ``eager``: by PyTorch as written, with channels last;
- ``onnx``: by ONNX Runtime, in float32, normalisation folded into the convolutions;
- ``graph-fp16``: on a GPU, in half precision, captured as a CUDA graph (see `cuda_graphs`);
- ``onnx-int8``: as ``onnx``, with the trunk's convolutions, or a perceptron's matrix products, in
  eight-bit integers; the heads, which cost little, and what lies between the products of a
  perceptron stay in float32. Ranges of activations are taken from example observations (Jacob
  et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
  Inference", 2018).

The ONNX backends run on the processor, and need ``onnx`` and ``onnxruntime``.
"""

from __future__ import annotations

import copy
import platform
import re
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from .architecture import OwnNetwork
from .cuda_graphs import CapturedNetwork
from .evaluation import Evaluation, Evaluator
from .network import Evaluating, Output, PolicyValueNetwork
from .onnx_graph import onnx_model, with_normalisation_folded

if TYPE_CHECKING:
    import onnx

Backend = str
#: Names of all backends, the fastest last.
BACKENDS: tuple[Backend, ...] = ("eager", "onnx", "graph-fp16", "onnx-int8")
#: Backends that are prepared for one batch size; the others accept any batch size.
FIXED_SIZE: tuple[Backend, ...] = ("graph-fp16",)
#: Backends of ONNX Runtime.
ONNX: tuple[Backend, ...] = ("onnx", "onnx-int8")
#: Backends whose output for an observation does not depend on the rest of the batch, bit for bit.
BATCH_INVARIANT: tuple[Backend, ...] = ONNX

# The operators that are quantised, and the modules that they must be in.
_EIGHT_BIT_OF_BOARDS = ("Conv", "Relu", "Add")
_EIGHT_BIT_OF_PERCEPTRONS = ("Gemm", "Relu")
_TRUNK = re.compile(r"(/network)+/(stem|blocks)")

#: Names of the input and of the outputs of a network as an ONNX model, see `Evaluating`.
INPUT = "observation"
OUTPUTS = ("policy_logits", "outcome", "value", "score")


def usable_backends(
    network: PolicyValueNetwork, device: torch.device, with_examples: bool
) -> list[Backend]:
    """The `BACKENDS` that work on this machine for this network.

    Args:
        network: ``onnx-int8`` does not support the user's own classes.
        device: where it shall run.
        with_examples: whether there are example observations, which ``onnx-int8`` needs.
    """
    has_onnx = bool(device.type == "cpu" and find_spec("onnx") and find_spec("onnxruntime"))
    works = {
        "eager": True,
        "onnx": has_onnx,
        "graph-fp16": device.type == "cuda",
        "onnx-int8": has_onnx and with_examples and not isinstance(network, OwnNetwork),
    }
    return [backend for backend in BACKENDS if works[backend]]


def prepare(
    network: PolicyValueNetwork,
    backend: Backend,
    observations: np.ndarray,
    device: torch.device,
    threads: int,
) -> Evaluator:
    """Prepare a network for inference in one of the `BACKENDS`; its weights are copied.

    Args:
        network: in any mode.
        backend: one of the `BACKENDS`.
        observations: float32 [n, *observation_shape]. For ``onnx-int8`` examples of what it will
            see; for backends of `FIXED_SIZE`, as many as there will be at a time.
        device: where it runs.
        threads: threads per call of an ONNX backend; the other backends use torch's setting.

    Raises:
        ValueError: an ONNX backend, without a processor or without the packages; a graph without
            a GPU; or integers for a network of the user's own.
    """
    if backend not in usable_backends(network, device, with_examples=True):
        raise ValueError(_why_unusable(network, backend, device))
    if backend in ONNX:
        return _onnx_evaluator(network, backend, observations, threads)
    network = copy.deepcopy(network).eval()
    if backend == "eager":
        return _eager_evaluator(network, device)
    return _graph_evaluator(network, observations, device)


def _why_unusable(network: PolicyValueNetwork, backend: Backend, device: torch.device) -> str:
    if backend == "graph-fp16":
        return f"the backend {backend!r} runs on a GPU, not on {device}; take another backend"
    if backend == "onnx-int8" and isinstance(network, OwnNetwork):
        return (
            f"the backend {backend!r} is for the networks of ludarium, not for {network.name}; "
            "take onnx or eager"
        )
    return (
        f"the backend {backend!r} runs on the processor, with onnx and onnxruntime: "
        "pip install 'ludarium[train]', device: cpu, or take another one"
    )


def _channels_last(module: nn.Module) -> nn.Module:
    return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _eager_evaluator(network: PolicyValueNetwork, device: torch.device) -> Evaluator:
    module = _channels_last(Evaluating(network.to(device))).eval()

    @torch.inference_mode()
    def evaluate(observations: np.ndarray) -> Evaluation:
        answers = module(_as_input(torch.from_numpy(observations).to(device)))
        return evaluation_of([answer.cpu().numpy() for answer in answers])

    return evaluate


def evaluation_of(outputs: Sequence[np.ndarray]) -> Evaluation:
    """The arrays of `OUTPUTS`, with or without the last, as an `Evaluation`."""
    logits, wdl, values, *score = outputs
    return Evaluation(logits, wdl, score[0] if score else np.full_like(values, np.nan))


def _as_input(observations: Tensor) -> Tensor:
    """Boards in channels-last memory format."""
    if observations.dim() == 4:
        return observations.contiguous(memory_format=torch.channels_last)
    return observations


class HalfPrecision(nn.Module):
    """Runs a network in half precision; input and outputs are float32."""

    def __init__(self, network: PolicyValueNetwork) -> None:
        super().__init__()
        self.network = _channels_last(with_normalisation_folded(network)).half()

    def forward(self, observations: Tensor) -> Output:
        """Evaluate float32 [B, *observation_shape]."""
        output = self.network(_as_input(observations).half())
        return Output(*(None if each is None else each.float() for each in output))


def _graph_evaluator(
    network: PolicyValueNetwork, observations: np.ndarray, device: torch.device
) -> Evaluator:
    module = Evaluating(HalfPrecision(network.to(device))).eval()
    captured = CapturedNetwork(module, observations.shape, device)
    return lambda observations: evaluation_of(captured(observations))


def _onnx_evaluator(
    network: PolicyValueNetwork, backend: Backend, observations: np.ndarray, threads: int
) -> Evaluator:
    import onnxruntime

    module = Evaluating(copy.deepcopy(network))
    model = evaluating_model(module, observations.shape[1:], network.onnx_graphs)
    if backend == "onnx-int8":
        model = quantised(model, observations)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda observations: evaluation_of(session.run(None, {INPUT: observations}))


def evaluating_model(
    module: Evaluating, observation_shape: tuple[int, ...], kept: dict[Any, Any] | None = None
) -> onnx.ModelProto:
    """The ONNX model with input `INPUT` and those of the `OUTPUTS` that the network has.

    Args:
        module: the network, which is moved to the CPU and set to evaluation mode.
        observation_shape: of one observation.
        kept: see `onnx_model`.
    """
    module.cpu().eval()
    with torch.inference_mode():
        outputs = module(torch.zeros(1, *observation_shape))
    return onnx_model(module, observation_shape, INPUT, OUTPUTS[: len(outputs)], kept)


def quantised(model: onnx.ModelProto, observations: np.ndarray) -> onnx.ModelProto:
    """Quantise the trunk of an `evaluating_model`: convolutions or matrix products in eight bits.

    Activations stay in eight bits between neighbouring quantised convolutions.
    """
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    class Examples(CalibrationDataReader):
        """Feeds the example observations to the quantiser in batches."""

        def __init__(self) -> None:
            portions = np.array_split(observations, max(1, len(observations) // 128))
            self.portions = iter([{INPUT: portion} for portion in portions])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.portions, None)

    trunk = [node for node in model.graph.node if _TRUNK.match(node.name)]
    is_of_board = any(node.op_type == "Conv" for node in trunk)
    operators = _EIGHT_BIT_OF_BOARDS if is_of_board else _EIGHT_BIT_OF_PERCEPTRONS
    model = onnx.shape_inference.infer_shapes(model)  # the quantiser asks for every tensor's type
    add_pre_process_metadata(model)  # so that it does not ask for what is done already
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "quantised.onnx"
        quantize_static(
            model,
            file,
            Examples(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            reduce_range=_may_saturate(),
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=list(operators),
            nodes_to_quantize=[node.name for node in trunk if node.op_type in operators],
        )
        return onnx.load(file)


def _may_saturate() -> bool:
    """Whether this processor adds products of eight-bit numbers in sixteen bits, as old x86 do.

    The sums then do not overflow if weights have seven bits: `reduce_range`, which ONNX Runtime's
    guide to quantisation recommends for processors without VNNI.
    """
    known: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    is_x86 = known.get("architecture", platform.machine()).lower() in ("x86_64", "amd64")
    return is_x86 and not (known.get("avx_vnni") or known.get("avx512_vnni"))
