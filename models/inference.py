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

from .forms import ANY_SIZE, FORMS, Answer, Form, prepare, usable_forms
from .network import PolicyValueNetwork

_SECONDS_OF_A_FORM = 0.3  # to find the fastest
_WRONG = 0.2  # no number format makes so large an error of a value
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


@dataclass(frozen=True)
class Deviation:
    """How far the answers of a form are from those of the network as written, on average.

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
        batch: observations evaluated at a time. More are split; for some forms fewer are filled
            up to the next of ``batch``, ``batch / 2``, ``batch / 4``, ..., because each new size
            costs a preparation.
        form: one of `FORMS`, or ``"auto"`` to measure once per shape of network which is the
            fastest here. Those that fail here, or answer something else than the network as
            written, are left out with a warning.
        device: torch device.
        examples: float32 [n, *observation_shape], some hundred observations of the kind that
            will be asked about. The form ``onnx-int8`` needs them; without them ``auto`` leaves
            it out.

    Calling it is safe from several threads at once, with full batches; each call uses as many
    cores as torch was set to when the engine was made (ONNX forms), or is in the calling thread.

    Raises:
        ValueError: an unknown form, or one that does not work here.
    """

    def __init__(
        self,
        network: PolicyValueNetwork,
        observation_shape: tuple[int, ...],
        batch: int,
        form: Form = "auto",
        device: str | torch.device = "cpu",
        examples: np.ndarray | None = None,
    ) -> None:
        if form not in ("auto", *FORMS):
            raise ValueError(f"form is {form!r}; accepted: auto, {', '.join(FORMS)}")
        if form == "onnx-int8" and examples is None:
            raise ValueError("the form onnx-int8 needs examples of observations")
        self.batch = batch
        self.device = torch.device(device)
        self._threads = torch.get_num_threads()
        self._observation_shape = observation_shape
        self._examples = examples
        self._network = network.to(self.device)
        self.form = form if form != "auto" else self._fastest()
        self.update(network, examples)

    def update(self, network: PolicyValueNetwork, examples: np.ndarray | None = None) -> None:
        """Take over the weights of ``network``; newer ``examples`` replace the ones before."""
        self._network = copy.deepcopy(network).to(self.device)
        if examples is not None:
            self._examples = examples
        self._answers: dict[int, Answer] = {}
        self._answer_for(self.batch)

    def deviation(self, observations: np.ndarray) -> Deviation:
        """How far this form is from the network as written, on float32 [n, *observation_shape]."""
        exact = prepare(self._network, "eager", observations, self.device, self._threads)
        logits, values = (torch.from_numpy(answers) for answers in exact(observations))
        mine, my_values = (torch.from_numpy(answers) for answers in self(observations))
        policy, my_policy = logits.double().log_softmax(1), mine.double().log_softmax(1)
        divergence = (policy.exp() * (policy - my_policy)).sum(1).clamp(min=0)  # but for rounding
        return Deviation(float(divergence.mean()), float((values - my_values).abs().mean()))

    def _prepared(self, form: Form, size: int) -> Answer:
        examples = self._examples
        if form != "onnx-int8" or examples is None:
            examples = np.zeros((size, *self._observation_shape), np.float32)
        return prepare(self._network, form, examples, self.device, self._threads)

    def _answer_for(self, size: int) -> Answer:
        """The network prepared for batches of ``size``."""
        if size not in self._answers:
            self._answers[size] = self._prepared(self.form, size)
        return self._answers[size]

    def _fastest(self) -> Form:
        forms = usable_forms(self.device, self._examples is not None)
        shapes = tuple(tuple(weight.shape) for weight in self._network.parameters())
        key = (shapes, self.batch, str(self.device), self._threads, *forms)
        if key not in _measured:
            seconds = self._seconds(forms)
            _measured[key] = min(seconds, key=lambda form: seconds[form])
        return _measured[key]

    def _seconds(self, forms: list[Form]) -> dict[Form, float]:
        """Best time of a batch in each form.

        They take turns, so that a machine that is slow for a while is slow for all of them.
        """
        example = np.zeros((self.batch, *self._observation_shape), np.float32)
        answers = self._working(forms, example)
        best = dict.fromkeys(answers, float("inf"))
        deadline = time.perf_counter() + _SECONDS_OF_A_FORM * len(forms)
        while time.perf_counter() < deadline:
            for form, answer in answers.items():
                start = time.perf_counter()
                answer(example)
                best[form] = min(best[form], time.perf_counter() - start)
        return best

    def _working(self, forms: list[Form], example: np.ndarray) -> dict[Form, Answer]:
        """Those of the forms that answer as the network does, called once; warn of the others."""
        _, expected = self._prepared("eager", self.batch)(example)
        answers = {}
        for form in forms:
            try:
                answer = self._prepared(form, self.batch)
                error = float(np.abs(answer(example)[1] - expected).max())
            except RuntimeError as failure:  # of a GPU, or of a library that does not fit it
                problem = str(failure)
            else:
                if error < _WRONG:
                    answers[form] = answer
                    continue
                problem = f"values are wrong by {error:.2g}"
            warnings.warn(f"inference goes on without the form {form}: {problem}", stacklevel=2)
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
        if self.form in ANY_SIZE:
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
