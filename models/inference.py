"""Evaluating observations as fast as the machine allows."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from .backends import ANY_SIZE, BACKENDS, Answer, Backend, prepare, usable_backends
from .network import PolicyValueNetwork

_SECONDS_OF_A_BACKEND = 0.3  # to find the fastest
_WRONG = 0.2  # no number format makes so large an error of a value
_measured: dict[tuple, Backend] = {}


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within it, this thread, and threads that use torch for the first time, use so many cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Deviation:
    """How far the answers of a backend are from those of the network as written, on average.

    Attributes:
        policy: Kullback-Leibler divergence of the policies over all actions, in nats.
        value: absolute difference of the values.
    """

    policy: float
    value: float


class InferenceEngine:
    """A network that answers numpy observations.

    Args:
        network: its weights are copied; call `update` after they change.
        observation_shape: of one observation.
        batch: observations evaluated at a time. More are split; for some backends fewer are filled
            up to the next of ``batch``, ``batch / 2``, ``batch / 4``, ..., because each new size
            costs a preparation.
        backend: one of `BACKENDS`, or ``"auto"`` to measure once per shape of network which is the
            fastest here. Those that fail here, or answer something else than the network as
            written, are left out with a warning.
        device: torch device.
        examples: float32 [n, *observation_shape], some hundred observations of the kind that
            will be asked about. The backend ``onnx-int8`` needs them; without them ``auto`` leaves
            it out.

    Calling it is safe from several threads at once, with full batches; each call uses as many
    cores as torch was set to when the engine was made (ONNX backends), or is in the calling thread.

    Raises:
        ValueError: an unknown backend, or one that does not work here.
    """

    def __init__(
        self,
        network: PolicyValueNetwork,
        observation_shape: tuple[int, ...],
        batch: int,
        backend: Backend = "auto",
        device: str | torch.device = "cpu",
        examples: np.ndarray | None = None,
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ValueError(f"backend is {backend!r}; accepted: auto, {', '.join(BACKENDS)}")
        if backend == "onnx-int8" and examples is None:
            raise ValueError("the backend onnx-int8 needs examples of observations")
        self.batch = batch
        self.device = torch.device(device)
        self._threads = torch.get_num_threads()
        self._observation_shape = observation_shape
        self._examples = examples
        self._network = network.to(self.device)
        self.backend = backend if backend != "auto" else self._fastest()
        self.update(network, examples)

    def update(self, network: PolicyValueNetwork, examples: np.ndarray | None = None) -> None:
        """Take over the weights of ``network``; newer ``examples`` replace the ones before."""
        self._network = copy.deepcopy(network).to(self.device)
        if examples is not None:
            self._examples = examples
        self._answers: dict[int, Answer] = {}
        self._answer_for(self.batch)

    def deviation(self, observations: np.ndarray) -> Deviation:
        """How far this backend is from the network as written, on float32 [n, *shape]."""
        exact = prepare(self._network, "eager", observations, self.device, self._threads)
        logits, values = (torch.from_numpy(answers) for answers in exact(observations))
        mine, my_values = (torch.from_numpy(answers) for answers in self(observations))
        policy, my_policy = logits.double().log_softmax(1), mine.double().log_softmax(1)
        divergence = (policy.exp() * (policy - my_policy)).sum(1).clamp(min=0)  # but for rounding
        return Deviation(float(divergence.mean()), float((values - my_values).abs().mean()))

    def _prepared(self, backend: Backend, size: int) -> Answer:
        examples = self._examples
        if backend != "onnx-int8" or examples is None:
            examples = np.zeros((size, *self._observation_shape), np.float32)
        return prepare(self._network, backend, examples, self.device, self._threads)

    def _answer_for(self, size: int) -> Answer:
        """The network prepared for batches of ``size``."""
        if size not in self._answers:
            self._answers[size] = self._prepared(self.backend, size)
        return self._answers[size]

    def _fastest(self) -> Backend:
        backends = usable_backends(self.device, self._examples is not None)
        shapes = tuple(tuple(weight.shape) for weight in self._network.parameters())
        key = (shapes, self.batch, str(self.device), self._threads, *backends)
        if key not in _measured:
            seconds = self._seconds(backends)
            _measured[key] = min(seconds, key=lambda backend: seconds[backend])
        return _measured[key]

    def _seconds(self, backends: list[Backend]) -> dict[Backend, float]:
        """Best time of a batch in each backend.

        They take turns, so that a machine that is slow for a while is slow for all of them.
        """
        example = np.zeros((self.batch, *self._observation_shape), np.float32)
        answers = self._working(backends, example)
        best = dict.fromkeys(answers, float("inf"))
        deadline = time.perf_counter() + _SECONDS_OF_A_BACKEND * len(backends)
        while time.perf_counter() < deadline:
            for backend, answer in answers.items():
                start = time.perf_counter()
                answer(example)
                best[backend] = min(best[backend], time.perf_counter() - start)
        return best

    def _working(self, backends: list[Backend], example: np.ndarray) -> dict[Backend, Answer]:
        """Backends that answer as the network does, called once; warn of the others."""
        _, expected = self._prepared("eager", self.batch)(example)
        answers = {}
        for backend in backends:
            try:
                answer = self._prepared(backend, self.batch)
                error = float(np.abs(answer(example)[1] - expected).max())
            except RuntimeError as failure:  # of a GPU, or of a library that does not fit it
                problem = str(failure)
            else:
                if error < _WRONG:
                    answers[backend] = answer
                    continue
                problem = f"values are wrong by {error:.2g}"
            warnings.warn(
                f"inference goes on without the backend {backend}: {problem}", stacklevel=2
            )
        return answers

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
        if self.backend in ANY_SIZE:
            return self._answer_for(self.batch)(observations)
        size = self.batch
        while size // 2 >= max(count, 1):
            size //= 2
        if count < size:
            filled = np.zeros((size, *self._observation_shape), np.float32)
            filled[:count] = observations
            observations = filled
        logits, values = self._answer_for(size)(observations)
        return logits[:count], values[:count]
