"""Backends: ways to run a network for inference.

Most of self-play's time is spent in the network, so it is worth to evaluate it in the backend that
is fastest on the machine at hand:

- ``eager``: as written, with channels last;
- ``frozen``: by TorchScript, normalisation folded into the convolutions, weights laid out for
  the processor, no Python between layers;
- ``frozen-bf16``: the same in bfloat16, which only newer processors do in hardware;
- ``graph-fp16``: on a GPU, frozen, in half precision, captured as a CUDA graph (see `graphs`);
- ``onnx``: by ONNX Runtime, in float32;
- ``onnx-int8``: the same with the trunk's convolutions, or a perceptron's matrix products, in
  eight-bit integers; the heads, which cost little, and what lies between the products of a
  perceptron stay in float32. Ranges of activations are taken from example observations (Jacob
  et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
  Inference", 2018).

The last two run on the processor, and need ``onnx`` and ``onnxruntime``.
"""

from __future__ import annotations

import copy
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .cuda_graphs import CapturedNetwork
from .network import PolicyValueNetwork, expected_value

Backend = str
#: All backends; those that need examples of observations last.
BACKENDS: tuple[Backend, ...] = (
    "eager",
    "frozen",
    "onnx",
    "frozen-bf16",
    "graph-fp16",
    "onnx-int8",
)
#: Number formats of torch's backends that are not in float32.
_DTYPES = {"frozen-bf16": torch.bfloat16, "graph-fp16": torch.float16}
#: Forms that take batches of any size, and answer each observation the same, bit for bit,
#: whatever else is in the batch; the others are prepared anew for each size.
ANY_SIZE = ("onnx", "onnx-int8")

# What of an exported network is quantised: these operators, in these modules.
_EIGHT_BIT_OF_BOARDS = ("Conv", "Relu", "Add")
_EIGHT_BIT_OF_PERCEPTRONS = ("Gemm", "Relu")
_TRUNK = ("/network/stem", "/network/blocks")

#: float32 [n, *observation_shape] -> logits float32 [n, A], values float32 [n].
Answer = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def usable_backends(device: torch.device, with_examples: bool) -> list[Backend]:
    """Those of the `BACKENDS` that work here: on the device, with what is installed and given."""
    has_onnx = device.type == "cpu" and find_spec("onnx") and find_spec("onnxruntime")
    works = {
        "onnx": has_onnx,
        "onnx-int8": has_onnx and with_examples,
        "graph-fp16": device.type == "cuda",
    }
    return [backend for backend in BACKENDS if works.get(backend, True)]


def prepare(
    network: PolicyValueNetwork,
    backend: Backend,
    observations: np.ndarray,
    device: torch.device,
    threads: int,
) -> Answer:
    """The network in one of the `BACKENDS`; its weights are copied.

    Args:
        network: in any mode.
        backend: one of the `BACKENDS`.
        observations: float32 [n, *observation_shape]. For ``onnx-int8`` examples of what it will
            see; for backends that are not of `ANY_SIZE`, as many as there will be at a time.
        device: where it runs.
        threads: that one call of an ONNX backend uses; the others use torch's number.

    Raises:
        ValueError: an ONNX backend, without a processor or without the packages; or a graph without
            a GPU.
    """
    if backend not in usable_backends(device, with_examples=True):
        if backend == "graph-fp16":
            raise ValueError(
                f"the backend {backend!r} runs on a GPU, not on {device}; take another backend"
            )
        raise ValueError(
            f"the backend {backend!r} runs on the processor, with onnx and onnxruntime: "
            f"pip install 'ludarium[train]', device: cpu, or take another one"
        )
    network = copy.deepcopy(network).eval()
    if backend in ANY_SIZE:
        return _onnx_answer(network, observations, backend == "onnx-int8", threads)
    return _torch_answer(network, backend, observations, device)


class _Answers(nn.Module):
    """What a search needs: logits [B, A] and values [B], both float32."""

    def __init__(self, network: PolicyValueNetwork, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.network = network
        self.dtype = dtype

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        if observations.dim() == 4:
            observations = observations.contiguous(memory_format=torch.channels_last)
        output = self.network(observations.to(self.dtype))
        return output.policy.float(), expected_value(output.outcome.float())


def _torch_answer(
    network: PolicyValueNetwork, backend: Backend, observations: np.ndarray, device: torch.device
) -> Answer:
    dtype = _DTYPES.get(backend, torch.float32)
    network = network.to(device, dtype)
    example = torch.from_numpy(observations).to(device)
    if example.dim() == 4:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    module: Any = _Answers(network, dtype).eval()
    if backend != "eager":
        module = _frozen(module, example, optimise=backend == "frozen" and device.type == "cpu")
    if backend == "graph-fp16":
        return CapturedNetwork(module, observations.shape, device)

    @torch.inference_mode()
    def answer(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = module(torch.from_numpy(observations).to(device))
        return logits.cpu().numpy(), values.cpu().numpy()

    return answer


@torch.inference_mode()
def _frozen(module: nn.Module, example: Tensor, optimise: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and still the fastest here
        frozen = torch.jit.freeze(torch.jit.trace(module, example, check_trace=False))
        if optimise:
            frozen = torch.jit.optimize_for_inference(frozen)
        for _ in range(3):  # the first calls specialise
            frozen(example)
    return frozen


def _onnx_answer(
    network: PolicyValueNetwork, observations: np.ndarray, int8: bool, threads: int
) -> Answer:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        _write_onnx(_Answers(network.cpu()).eval(), file, observations[:1])
        if int8:
            file = _quantised(file, observations)
        session = onnxruntime.InferenceSession(
            file.read_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def answer(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = session.run(None, {"observations": observations})
        return logits, values

    return answer


def _write_onnx(module: nn.Module, file: Path, example: np.ndarray) -> None:
    """By the exporter that goes through TorchScript: a tenth of a second instead of several."""
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (torch.from_numpy(example),),
            str(file),
            dynamo=False,
            input_names=["observations"],
            output_names=["logits", "values"],
            dynamic_axes={name: {0: "batch"} for name in ("observations", "logits", "values")},
        )


def _quantised(file: Path, observations: np.ndarray) -> Path:
    """The same network with the trunk's convolutions, or matrix products, in eight bits.

    Convolutions in eight bits hand on eight bits, through what joins them.
    """
    import onnx
    from onnxruntime.quantization import (
        CalibrationDataReader,
        QuantFormat,
        QuantType,
        quantize_static,
    )
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Examples(CalibrationDataReader):
        """Hands out the examples in portions."""

        def __init__(self) -> None:
            portions = np.array_split(observations, max(1, len(observations) // 128))
            self.portions = iter([{"observations": portion} for portion in portions])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.portions, None)

    plain, quantised = file.with_name("plain.onnx"), file.with_name("quantised.onnx")
    # Weights that are equal, as fresh biases are, come from the exporter as one with aliases,
    # which would keep the quantiser from their convolutions.
    quant_pre_process(str(file), str(plain), skip_symbolic_shape=True)
    trunk = [node for node in onnx.load(plain).graph.node if node.name.startswith(_TRUNK)]
    is_of_board = any(node.op_type == "Conv" for node in trunk)
    operators = _EIGHT_BIT_OF_BOARDS if is_of_board else _EIGHT_BIT_OF_PERCEPTRONS
    quantize_static(
        str(plain),
        str(quantised),
        Examples(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=list(operators),
        nodes_to_quantize=[node.name for node in trunk if node.op_type in operators],
    )
    return quantised
