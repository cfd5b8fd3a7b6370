"""Torch networks as evaluators: run as written, or on a GPU as a half-precision CUDA graph."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import fuse_conv_bn_eval

from .cuda_graphs import CapturedNetwork
from .evaluation import Evaluation, Evaluator
from .network import InferenceModule, Output, PolicyValueNetwork, channels_last


def _with_channels_last(module: nn.Module) -> nn.Module:
    return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def eager_evaluator(network: PolicyValueNetwork, device: Any) -> Evaluator:
    """The network run by PyTorch as written, with channels last; its weights are copied."""
    module = _with_channels_last(InferenceModule(copy.deepcopy(network).to(device))).eval()

    @torch.inference_mode()
    def evaluate(observations: np.ndarray) -> Evaluation:
        answers = module(channels_last(torch.from_numpy(observations).to(device)))
        return evaluation_of([answer.cpu().numpy() for answer in answers])

    return evaluate


def evaluation_of(outputs: Sequence[np.ndarray]) -> Evaluation:
    """The outputs of an `InferenceModule` network, with or without a score, as an `Evaluation`."""
    logits, wdl, values, *score = outputs
    return Evaluation(logits, wdl, score[0] if score else np.full_like(values, np.nan))


def _with_normalisation_folded(module: nn.Module) -> nn.Module:
    """A copy in evaluation mode, batch normalisation folded into the convolution before it.

    That is done where one follows the other in a `Sequential` and the normalisation has running
    statistics. Both must be torch's own classes: a subclass may compute something else.
    """
    module = copy.deepcopy(module).eval().requires_grad_(False)
    for container in list(module.modules()):
        if not isinstance(container, nn.Sequential):
            continue
        for index in range(len(container) - 1):
            first, second = container[index], container[index + 1]
            if (
                type(first) is nn.Conv2d
                and type(second) is nn.BatchNorm2d
                and second.running_mean is not None
            ):
                container[index] = fuse_conv_bn_eval(first, second)
                container[index + 1] = nn.Identity()
    return module


class HalfPrecision(nn.Module):
    """Runs a network in half precision; input and outputs are float32."""

    def __init__(self, network: PolicyValueNetwork) -> None:
        super().__init__()
        self.network = _with_channels_last(_with_normalisation_folded(network)).half()

    def forward(self, observations: Tensor) -> Output:
        """Evaluate float32 [B, *observation_shape]."""
        output = self.network(channels_last(observations).half())
        score = None if output.score is None else output.score.float()
        return Output(output.policy.float(), output.outcome.float(), score)


def graph_evaluator(network: PolicyValueNetwork, shape: tuple[int, ...], device: Any) -> Evaluator:
    """The network in half precision as a CUDA graph; its weights are copied.

    Args:
        network: the network, in any mode.
        shape: (n, *observation_shape), the shape of every batch.
        device: a GPU, as torch names it.
    """
    module = InferenceModule(HalfPrecision(copy.deepcopy(network).to(device))).eval()
    graph = CapturedNetwork(module, shape, torch.device(device))
    return lambda observations: evaluation_of(graph(observations))
