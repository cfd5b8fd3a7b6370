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
    Backend,
    prepare,
    usable_backends,
)
from .evaluation import Evaluation, Evaluator
from .network import PolicyValueNetwork
from .turn import Turn

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
        examples: float32 [n, *observation_shape], some hundred typical observations, as the network
            itself sees them. The backend ``onnx-int8`` needs them for calibration; without them
            ``auto`` skips it.
        turn: of the game, if it has one: the engine takes observations in the board's own frame.

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
        turn: Turn | None = None,
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
        self._turn = turn
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
        self._evaluators: dict[tuple[int, int], Evaluator] = {}
        tried = self._observations(min(_TRIED, self.batch))
        _check_finite(self._prepared("eager", len(tried), self._threads)(tried), "eager")
        _check_finite(self(tried), self.backend)

    def deviation(self, observations: np.ndarray) -> Deviation:
        """Mean difference from PyTorch's outputs on float32 [n, *shape], as the network sees it."""
        eager = prepare(self._network, "eager", observations, self.device, self._threads)
        exact, mine = eager(observations), self._evaluate(observations, self._threads)
        policy, my_policy = (
            torch.from_numpy(each.logits).double().log_softmax(1) for each in (exact, mine)
        )
        divergence = (policy.exp() * (policy - my_policy)).sum(1).clamp(min=0)  # up to rounding
        return Deviation(float(divergence.mean()), float(np.abs(exact.values - mine.values).mean()))

    def _observations(self, size: int) -> np.ndarray:
        """``count`` observations for checks: examples, or zeros and ones."""
        if self._examples is not None:
            return np.resize(self._examples, (size, *self._observation_shape))
        random = np.random.default_rng(0)
        return random.integers(0, 2, (size, *self._observation_shape)).astype(np.float32)

    def _prepared(self, backend: Backend, size: int, threads: int) -> Evaluator:
        examples = self._examples
        if backend != "onnx-int8" or examples is None:
            examples = np.zeros((size, *self._observation_shape), np.float32)
        return prepare(self._network, backend, examples, self.device, threads)

    def _evaluator_for(self, size: int, threads: int) -> Evaluator:
        """The network prepared for batches of ``size``."""
        key = size, threads
        if key not in self._evaluators:
            self._evaluators[key] = self._prepared(self.backend, size, threads)
        return self._evaluators[key]

    def _first_that_works(self) -> Backend:
        """The last of the `usable_backends` whose values agree with PyTorch's; warns of others."""
        backends = usable_backends(self._network, self.device, self._examples is not None)
        tried = self._observations(self.batch)
        expected = self._prepared("eager", self.batch, self._threads)(tried)
        _check_finite(expected, "eager")
        for backend in reversed(backends[1:]):
            try:
                found = self._prepared(backend, self.batch, self._threads)(tried)
                error = float(np.abs(found.values - expected.values).max())
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

    def __call__(self, observations: np.ndarray) -> Evaluation:
        """Evaluate float32[n, *observation_shape]."""
        return self._turned(observations, self._threads)

    def in_one_thread(self, observations: np.ndarray) -> Evaluation:
        """The same on one core (ONNX backends), for calls from a thread for each core."""
        return self._turned(observations, 1)

    def _turned(self, observations: np.ndarray, threads: int) -> Evaluation:
        if self._turn is None:
            return self._evaluate(observations, threads)
        return self._turn.ask(lambda seen: self._evaluate(seen, threads), observations)

    def _evaluate(self, observations: np.ndarray, threads: int) -> Evaluation:
        count = len(observations)
        if count > self.batch:
            parts = [
                self._evaluate(observations[start : start + self.batch], threads)
                for start in range(0, count, self.batch)
            ]
            return Evaluation(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        if self.backend not in FIXED_SIZE:
            return self._evaluator_for(self.batch, threads)(observations)
        size = self.batch
        while size // 2 >= max(count, 1):
            size //= 2
        if count < size:
            filled = np.zeros((size, *self._observation_shape), np.float32)
            filled[:count] = observations
            observations = filled
        answer = self._evaluator_for(size, threads)(observations)
        return Evaluation(*(array[:count] for array in answer))


def _check_finite(evaluation: Evaluation, backend: Backend) -> None:
    """Raise ``ValueError`` unless the outputs of a backend are finite; a score may be missing."""
    logits, wdl, score = evaluation
    is_finite = np.isfinite(logits).all() and np.isfinite(wdl).all()
    if not (is_finite and (np.isfinite(score).all() or np.isnan(score).all())):
        raise ValueError(
            f"the network's answers are not finite numbers (backend {backend}): its weights are "
            "damaged, or its training has diverged"
        )
