"""Evaluating observations as fast as the machine allows.

On a processor three forms of a network compete: as written, with channels last; the same
frozen by TorchScript (normalisation folded into the convolutions, weights laid out for the
processor, no Python between layers); and frozen in bfloat16, which only newer processors
do in hardware. `InferenceEngine` measures them once per shape of network and keeps the
fastest.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from .network import PolicyValueNetwork, expected_value

Form = str
FORMS: tuple[Form, ...] = ("eager", "frozen", "frozen-bf16")
_measured: dict[tuple, Form] = {}


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within it, this thread, and threads that use torch for the first time, use so many cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Answers(nn.Module):
    """What a search needs: logits [B, A] and values [B], both float32."""

    def __init__(self, network: PolicyValueNetwork, dtype: torch.dtype) -> None:
        super().__init__()
        self.network = network
        self.dtype = dtype

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        if observations.dim() == 4:
            observations = observations.contiguous(memory_format=torch.channels_last)
        output = self.network(observations.to(self.dtype))
        return output.policy.float(), expected_value(output.outcome.float())


def _prepare(network: PolicyValueNetwork, form: Form, example: Tensor) -> Callable:
    """The network in one of the `FORMS`, for batches like ``example``."""
    dtype = torch.bfloat16 if form == "frozen-bf16" else torch.float32
    twin = copy.deepcopy(network).eval().to(dtype)
    if example.dim() == 4:
        twin = twin.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    module = _Answers(twin, dtype).eval()
    if form == "eager":
        return module
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # TorchScript is deprecated, and still the fastest here
        frozen = torch.jit.freeze(torch.jit.trace(module, example, check_trace=False))
        if form == "frozen" and example.device.type == "cpu":
            frozen = torch.jit.optimize_for_inference(frozen)
        for _ in range(3):  # the first calls specialise
            frozen(example)
    return frozen


class InferenceEngine:
    """A network that answers numpy observations.

    Args:
        network: its weights are copied; call `update` after they change.
        observation_shape: of one observation.
        batch: observations evaluated at a time. More are split; fewer are filled up to the
            next of ``batch``, ``batch / 2``, ``batch / 4``, ..., because each new size costs
            a preparation.
        form: one of `FORMS`, or ``"auto"`` to measure which is the fastest here.
        device: torch device.

    Calling it is safe from several threads at once, with full batches; each call uses torch's
    thread count of the calling thread.
    """

    def __init__(
        self,
        network: PolicyValueNetwork,
        observation_shape: tuple[int, ...],
        batch: int,
        form: Form = "auto",
        device: str | torch.device = "cpu",
    ) -> None:
        if form not in ("auto", *FORMS):
            raise ValueError(f"form is {form!r}; accepted: auto, {', '.join(FORMS)}")
        self.batch = batch
        self.device = torch.device(device)
        self._observation_shape = observation_shape
        self._network = network.to(self.device)
        self.form = form if form != "auto" else self._fastest()
        self.update(network)

    def update(self, network: PolicyValueNetwork) -> None:
        """Take over the weights of ``network``."""
        self._network = copy.deepcopy(network).to(self.device)
        self._answers: dict[int, Callable] = {}
        self._answer_for(self.batch)

    def _example(self, size: int) -> Tensor:
        return torch.zeros((size, *self._observation_shape), device=self.device)

    def _answer_for(self, size: int) -> Callable:
        """The network prepared for batches of ``size``."""
        if size not in self._answers:
            self._answers[size] = _prepare(self._network, self.form, self._example(size))
        return self._answers[size]

    def _fastest(self) -> Form:
        shapes = tuple(tuple(weight.shape) for weight in self._network.parameters())
        key = (shapes, self.batch, str(self.device), torch.get_num_threads())
        if key not in _measured:
            _measured[key] = min(FORMS, key=self._seconds)
        return _measured[key]

    @torch.inference_mode()
    def _seconds(self, form: Form) -> float:
        """Best time of a batch, over about a third of a second."""
        example = self._example(self.batch)
        answer = _prepare(self._network, form, example)
        answer(example)
        best, deadline = float("inf"), time.perf_counter() + 0.3
        while time.perf_counter() < deadline:
            start = time.perf_counter()
            answer(example)[1].cpu()
            best = min(best, time.perf_counter() - start)
        return best

    @torch.inference_mode()
    def __call__(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate float32[n, *observation_shape]: logits float32[n, A], values float32[n]."""
        count = len(observations)
        if count > self.batch:
            parts = [
                self(observations[start : start + self.batch])
                for start in range(0, count, self.batch)
            ]
            return (
                np.concatenate([logits for logits, _ in parts]),
                np.concatenate([values for _, values in parts]),
            )
        size = self.batch
        while size // 2 >= max(count, 1):
            size //= 2
        if count < size:
            filled = np.zeros((size, *self._observation_shape), np.float32)
            filled[:count] = observations
            observations = filled
        logits, values = self._answer_for(size)(torch.from_numpy(observations).to(self.device))
        return logits[:count].cpu().numpy(), values[:count].cpu().numpy()
