"""Inference: evaluates observations in a fast backend."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from .backends import (
    BACKENDS,
    FIXED_SIZE,
    Answer,
    Backend,
    prepare,
    usable_backends,
)
from .network import PolicyValueNetwork

_TRIED = 8  # observations to check the outputs after an update
_WRONG = 0.2  # larger errors of a value are faults, not rounding


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Context that sets torch's threads for this thread and threads that first use torch in it."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Deviation:
    """Mean difference between a backend's outputs and those of PyTorch (``eager``).

    Attributes:
        policy: Kullback-Leibler divergence of the policies over all actions, in nats.
        value: absolute difference of the values.
    """

    policy: float
    value: float


class InferenceEngine:
    """A network that evaluates numpy observations in a fast backend.

    Args:
        network: its weights are copied; call `update` after they change.
        observation_shape: of one observation.
        batch: largest batch; more observations are split into several batches.
        backend: one of `BACKENDS`, or ``"auto"`` for the last of them that is usable here. ``auto``
            skips, with a warning, backends that fail on this machine or whose outputs differ from
            PyTorch's.
        device: torch device.
        examples: float32 [n, *observation_shape], some hundred typical observations. The backend
            ``onnx-int8`` needs them for calibration; without them ``auto`` skips it.

    Calling it is safe from several threads at once, with full batches; each call uses as many
    cores as torch was set to when the engine was made (ONNX backends), or is in the calling thread.

    Raises:
        ValueError: an unknown backend, or one that does not work here; or the network's answers
            are not finite.
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
        self._network = copy.deepcopy(network).to(self.device)
        self.backend = backend if backend != "auto" else self._first_that_works()
        self.update(network, examples)

    def update(self, network: PolicyValueNetwork, examples: np.ndarray | None = None) -> None:
        """Load the weights of ``network``; newer ``examples`` replace the old ones.

        Args:
            network: its weights are copied.
            examples: see the class.

        Raises:
            ValueError: the network's answers are not finite.
        """
        self._network = copy.deepcopy(network).to(self.device)
        if examples is not None:
            self._examples = examples
        self._answers: dict[int, Answer] = {}
        tried = self._observations(min(_TRIED, self.batch))
        _check_finite(self._prepared("eager", len(tried))(tried), "eager")
        _check_finite(self(tried), self.backend)

    def deviation(self, observations: np.ndarray) -> Deviation:
        """Mean difference from PyTorch's outputs on float32 [n, *shape]."""
        exact = prepare(self._network, "eager", observations, self.device, self._threads)
        logits, values = (torch.from_numpy(answers) for answers in exact(observations))
        mine, my_values = (torch.from_numpy(answers) for answers in self(observations))
        policy, my_policy = logits.double().log_softmax(1), mine.double().log_softmax(1)
        divergence = (policy.exp() * (policy - my_policy)).sum(1).clamp(min=0)  # up to rounding
        return Deviation(float(divergence.mean()), float((values - my_values).abs().mean()))

    def _observations(self, size: int) -> np.ndarray:
        """``count`` observations for checks: examples, or zeros and ones."""
        if self._examples is not None:
            return np.resize(self._examples, (size, *self._observation_shape))
        random = np.random.default_rng(0)
        return random.integers(0, 2, (size, *self._observation_shape)).astype(np.float32)

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

    def _first_that_works(self) -> Backend:
        """The last of the `usable_backends` whose values agree with PyTorch's; warns of others."""
        backends = usable_backends(self._network, self.device, self._examples is not None)
        tried = self._observations(self.batch)
        expected = self._prepared("eager", self.batch)(tried)
        _check_finite(expected, "eager")
        for backend in reversed(backends[1:]):
            try:
                _, values = self._prepared(backend, self.batch)(tried)
                error = float(np.abs(values - expected[1]).max())
            except Exception as failure:  # an unsuitable library may raise anything
                problem = str(failure)[:300]
            else:
                if error < _WRONG:  # false for NaN
                    return backend
                problem = f"values are wrong by {error:.2g}"
            warnings.warn(
                f"inference goes on without the backend {backend}: {problem}", stacklevel=3
            )
        return "eager"

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
        if self.backend not in FIXED_SIZE:
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


def _check_finite(answers: tuple[np.ndarray, np.ndarray], backend: Backend) -> None:
    """Raise ``ValueError`` unless the outputs of a backend are finite."""
    if not all(np.isfinite(array).all() for array in answers):
        raise ValueError(
            f"the network's answers are not finite numbers (backend {backend}): its weights are "
            "damaged, or its training has diverged"
        )
