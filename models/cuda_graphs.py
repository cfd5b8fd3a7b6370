"""Networks on a GPU, captured as CUDA graphs.

Running a small network's layers takes less time than launching them one by one. A CUDA graph
records all launches of a batch, here together with the copies of the observations to the GPU and of
the outputs back, and replays them with one launch. The host memory is pinned, so the GPU copies
without the CPU, which only fills and reads that memory. Nguyen, Carilli et al., "Accelerating
PyTorch with CUDA Graphs" (2021).
"""

from __future__ import annotations

from queue import SimpleQueue

import numpy as np
import torch
from torch import nn

_WARM_UP = 3  # runs before the capture; libraries choose their algorithms in them
_AT_ONCE = 2  # batches in flight: one is copied while another is computed


class CapturedNetwork:
    """A module captured as CUDA graphs, for batches of one size.

    Args:
        module: a module on the GPU in evaluation mode. It takes float32 [n, *observation_shape]
            and returns a tuple of tensors [n, ...], all on the GPU.
        shape: (n, *observation_shape), the shape of every batch.
        device: the GPU.

    Calling it is safe from several threads at once; the third and later ones wait.
    """

    def __init__(self, module: nn.Module, shape: tuple[int, ...], device: torch.device) -> None:
        self._free: SimpleQueue[_CapturedGraph] = SimpleQueue()
        for _ in range(_AT_ONCE):
            self._free.put(_CapturedGraph(module, shape, device))

    def __call__(self, observations: np.ndarray) -> list[np.ndarray]:
        """Evaluate float32 [n, *observation_shape]; return an array for each output."""
        graph = self._free.get()
        try:
            return graph.replay(observations)
        finally:
            self._free.put(graph)


class _CapturedGraph:
    """One captured graph with its input and output memory, on its own stream."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...], device: torch.device) -> None:
        self.device = device
        self.module = module  # keeps the weights, which the graph reads
        self.asked = torch.zeros(shape).pin_memory()
        with torch.inference_mode(), torch.cuda.device(device):
            self.stream = torch.cuda.Stream()
            self.observations = self.asked.to(device)
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                for _ in range(_WARM_UP):
                    answers = module(self.observations)
            self.stream.synchronize()
            self.answers = [
                torch.zeros(answer.shape, dtype=answer.dtype).pin_memory() for answer in answers
            ]
            self.graph = torch.cuda.CUDAGraph()
            # Other threads may use the GPU meanwhile.
            with torch.cuda.graph(
                self.graph, stream=self.stream, capture_error_mode="thread_local"
            ):
                self.observations.copy_(self.asked, non_blocking=True)
                for room, answer in zip(self.answers, module(self.observations), strict=True):
                    room.copy_(answer, non_blocking=True)

    def replay(self, observations: np.ndarray) -> list[np.ndarray]:
        self.asked.numpy()[...] = observations
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            self.graph.replay()
        self.stream.synchronize()
        return [answer.numpy().copy() for answer in self.answers]
