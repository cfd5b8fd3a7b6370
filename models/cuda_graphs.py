"""Networks on a GPU, captured as CUDA graphs.

A small network's layers take less time than to launch them one by one. A CUDA graph holds the
launches of a whole batch, here with the copy of the observations to the GPU and that of the
answers back, and starts them all at once; the memory that is copied from and to is pinned, so that
the processor has no part in it. Nguyen, Carilli et al., "Accelerating PyTorch with CUDA Graphs"
(2021).
"""

from __future__ import annotations

from queue import SimpleQueue

import numpy as np
import torch
from torch import Tensor, nn

_WARM_UP = 3  # runs before the capture, in which libraries choose their algorithms
_AT_ONCE = 2  # batches under way at the same time: one is copied while another is worked on


class CapturedNetwork:
    """A module that answers batches of one size by replaying CUDA graphs.

    Args:
        module: on the GPU, in evaluation mode: float32 [n, *observation_shape] there to logits
            float32 [n, A] and values float32 [n] there.
        shape: (n, *observation_shape), of every batch.
        device: the GPU.

    Calling it is safe from several threads at once.
    """

    def __init__(self, module: nn.Module, shape: tuple[int, ...], device: torch.device) -> None:
        self._free: SimpleQueue[_Graph] = SimpleQueue()
        for _ in range(_AT_ONCE):
            self._free.put(_Graph(module, shape, device))

    def __call__(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate float32 [n, *observation_shape]: logits float32 [n, A], values float32 [n]."""
        graph = self._free.get()
        try:
            return graph.replay(observations)
        finally:
            self._free.put(graph)


class _Graph:
    """One graph with the memory that it reads and writes, on a stream of its own."""

    def __init__(self, module: nn.Module, shape: tuple[int, ...], device: torch.device) -> None:
        self.device = device
        self.module = module  # the graph reads its weights
        self.asked = torch.zeros(shape).pin_memory()
        with torch.inference_mode(), torch.cuda.device(device):
            self.stream = torch.cuda.Stream()
            self.observations = self.asked.to(device)
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                for _ in range(_WARM_UP):
                    logits, values = module(self.observations)
            self.stream.synchronize()
            self.logits, self.values = _pinned(logits), _pinned(values)
            self.graph = torch.cuda.CUDAGraph()
            # Other threads may go on with the GPU meanwhile.
            with torch.cuda.graph(
                self.graph, stream=self.stream, capture_error_mode="thread_local"
            ):
                self.observations.copy_(self.asked, non_blocking=True)
                logits, values = module(self.observations)
                self.logits.copy_(logits, non_blocking=True)
                self.values.copy_(values, non_blocking=True)

    def replay(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.numpy()[...] = observations
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            self.graph.replay()
        self.stream.synchronize()
        return self.logits.numpy().copy(), self.values.numpy().copy()


def _pinned(answer: Tensor) -> Tensor:
    """Memory of the processor for an answer."""
    return torch.zeros(answer.shape, dtype=answer.dtype).pin_memory()
