"""Gradients on several GPUs: synchronous data parallelism, a process for each GPU but the first.

A step goes as in torch's `DistributedDataParallel` (Li et al., "PyTorch Distributed: Experiences
on Accelerating Data Parallel Training", 2020): each process has a part of the batch, and what they
find is summed over all. But the optimizer is in the learner's process alone, which sends out the
weights before each step. So its peers have no state, and nothing of a saved run depends on them.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch import Tensor, distributed, nn

from .objective import Objective
from .samples import Batch


class Peers:
    """The processes beside the learner's, each with a copy of the network.

    Args:
        network: that learns, with all its heads.
        objective: what it learns.
        devices: torch's names of where the peers compute.
    """

    def __init__(self, network: nn.Module, objective: Objective, devices: Sequence[str]) -> None:
        self._network = network
        self._folder = tempfile.TemporaryDirectory(prefix="ludarium-")
        meeting = (Path(self._folder.name) / "meeting").as_uri()
        twin = copy.deepcopy(network).cpu()
        context = get_context("spawn")
        self._connections: list[Connection] = []
        self._processes = []
        for rank, device in enumerate(devices, 1):
            mine, theirs = context.Pipe()
            arguments = (theirs, meeting, rank, len(devices) + 1, twin, objective, device)
            process = context.Process(target=_serve, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._connections.append(mine)
            self._processes.append(process)
        _meet(meeting, 0, len(devices) + 1, next(network.parameters()).device)

    def begin(self, parts: Sequence[Sequence[Batch]], weights: Sequence[float]) -> None:
        """Have each peer compute on its part of a batch, which has this weight in the mean."""
        for connection, part, weight in zip(self._connections, parts, weights, strict=True):
            connection.send((part, weight))
        distributed.broadcast(_flat(_state(self._network)), src=0)

    def add_to(self, tensors: Sequence[Tensor]) -> None:
        """Add what all peers have found: weighted gradients and terms, and their statistics."""
        flat = _flat(tensors)
        distributed.reduce(flat, dst=0)
        _spread(flat, tensors)

    def close(self) -> None:
        """End the processes."""
        for connection in self._connections:
            connection.send(None)
        for process in self._processes:
            process.join()
        distributed.destroy_process_group()
        self._folder.cleanup()


def statistics(network: nn.Module) -> list[Tensor]:
    """The running statistics of batch normalisation."""
    return [buffer for buffer in network.buffers() if buffer.dtype.is_floating_point]


def _serve(
    connection: Connection,
    meeting: str,
    rank: int,
    size: int,
    network: nn.Module,
    objective: Objective,
    device: str,
) -> None:
    """A peer: computes gradients until the learner ends or says so."""
    if device == "cpu":
        torch.set_num_threads(1)
    where = torch.device(device)
    network = network.to(where).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    _meet(meeting, rank, size, where)
    while True:
        try:
            order = connection.recv()
        except EOFError:  # the learner was killed
            return
        if order is None:
            break
        part, weight = order
        state = _flat(_state(network))
        distributed.broadcast(state, src=0)
        with torch.no_grad():
            _spread(state, _state(network))
        gradients, terms = objective.gradients(network, part, where)
        found = [weight * tensor for tensor in (*gradients, *terms)]
        distributed.reduce(_flat([*found, *statistics(network)]), dst=0)
    distributed.destroy_process_group()


def _meet(meeting: str, rank: int, size: int, device: torch.device) -> None:
    """Wait until all processes are there."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    distributed.init_process_group(backend, init_method=meeting, rank=rank, world_size=size)


def _state(network: nn.Module) -> list[Tensor]:
    """What a peer needs of the learner's network: weights and statistics."""
    return [*(weight.detach() for weight in network.parameters()), *statistics(network)]


def _flat(tensors: Iterable[Tensor]) -> Tensor:
    """All numbers in one vector, so that they travel at once."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _spread(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy the numbers of a vector that `_flat` made back into tensors."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    for part, tensor in zip(parts, tensors, strict=True):
        tensor.copy_(part.view(tensor.shape))
