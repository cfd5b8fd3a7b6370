"""Inference: evaluates observations in one of several backends.

- ``eager``: PyTorch as written, with channels last, on the CPU or a GPU;
- ``compiled``: the package's own kernels, in float32 on the CPU, see `kernels`;
- ``graph-fp16``: half precision on a GPU, captured as a CUDA graph (see `cuda_graphs`);
- ``compiled-int8``: like ``compiled``, with the products of the trunk in eight-bit integers.

The compiled backends need no torch. They run the networks of this package; a custom network
runs in ``eager``, or on a GPU in ``graph-fp16``.
"""

from __future__ import annotations

import copy
import math
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.threads import available_cores, parallel_for

from .evaluation import Evaluation, Evaluator
from .kernels import CompiledNetwork, NetworkInSearch, ranges_of
from .layers import BoardLayers, Layers, VectorLayers, arrays_of

if TYPE_CHECKING:
    from .network import PolicyValueNetwork

    Network = PolicyValueNetwork | Layers

Key = TypeVar("Key")
Made = TypeVar("Made")

Backend = str
BACKENDS: tuple[Backend, ...] = ("eager", "compiled", "graph-fp16", "compiled-int8")
#: Backends that are prepared for one batch size; the others accept any batch size.
FIXED_SIZE: tuple[Backend, ...] = ("graph-fp16",)
#: Backends in which an observation's output does not depend on the rest of the batch, bit for bit.
BATCH_INVARIANT: tuple[Backend, ...] = ("compiled", "compiled-int8")

_TRIED = 8  # observations on which the outputs are checked after an update
_FEWEST = 8  # fewest observations for each core

#: Multiply-adds below which a batch has one torch thread. With more threads, 16 idle cores are
#: faster by a factor of 2 from a tenth of this number on, and a shared core is slower by a factor
#: of 4 to 100, because every layer then waits for all threads (docs/guide/plugs.md).
_SMALL = 10**9

# Held while a network is prepared, see `_once`. Preparing one evaluator may prepare another.
_preparing = threading.RLock()


def _forget_preparing() -> None:
    """Make a new lock in a forked child, where nobody would release one that was held."""
    global _preparing
    _preparing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_preparing)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """A context with ``count`` torch threads, for this thread and those that first use torch in it.

    If torch is not imported, there is nothing to set.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def torch_threads_for(network: Any, shape: Sequence[int]) -> AbstractContextManager[None]:
    """A context with one torch thread for small batches, and with as many as before for others.

    Args:
        network: a torch module.
        shape: the batch's, [B, *observation_shape].
    """
    weights = sum(weight.numel() for weight in network.parameters() if weight.ndim > 1)
    is_small = weights * math.prod(shape[2:]) * shape[0] < _SMALL
    return torch_threads(1) if is_small else nullcontext()


def is_network(candidate: object) -> bool:
    """Whether this is a network for an `InferenceEngine`: layers, or a `PolicyValueNetwork`."""
    if isinstance(candidate, BoardLayers | VectorLayers):
        return True
    of_torch = sys.modules.get("ludarium.models.network")
    return of_torch is not None and isinstance(candidate, of_torch.PolicyValueNetwork)


@dataclass(frozen=True)
class Deviation:
    """Mean difference between a backend's outputs and the network's in float32.

    Attributes:
        policy: Kullback-Leibler divergence of the policies over all actions, in nats.
        value: absolute difference of the values.
    """

    policy: float
    value: float


class InferenceEngine:
    """A network that evaluates numpy observations in a fast backend.

    Args:
        network: layers, or a `PolicyValueNetwork`; weights are copied, so call `update` after
            changes.
        observation_shape: shape of one observation.
        batch: largest batch; more observations are split into several batches.
        backend: one of `BACKENDS`, or ``"auto"``: on a CUDA device ``graph-fp16``, or ``eager``
            if that fails; on the CPU, for networks of this package, ``compiled-int8`` with
            ``calibration_inputs`` and ``compiled`` without; otherwise ``eager``.
        device: a torch device.
        calibration_inputs: float32 [n, *observation_shape], some hundred typical observations as
            the network sees them; ``compiled-int8`` takes the ranges of its numbers from them.

    Calling it is safe from several threads at once. The compiled backends divide a large batch
    among the available cores, unless another call is using these. ``eager`` has torch's threads,
    or one for a small batch; ``graph-fp16`` runs in the calling thread.

    Attributes:
        canonical: True: networks see the canonical frame, see `evaluation.is_canonical`.
        version: how often weights were loaded; see `evaluation.version_of`.

    Raises:
        ValueError: an unknown backend, or one that does not work here; the network is one for many
            sets of options; or its weights or answers are not finite.
    """

    canonical = True

    def __init__(
        self,
        network: Network,
        observation_shape: tuple[int, ...],
        batch: int,
        backend: Backend = "auto",
        device: Any = "cpu",
        calibration_inputs: np.ndarray | None = None,
    ) -> None:
        if backend not in ("auto", *BACKENDS):
            raise ValueError(f"backend is {quoted(backend)}; accepted: auto, {', '.join(BACKENDS)}")
        self.batch = batch
        self.device = device
        self.backend = backend
        self.version = 0
        self._cores = available_cores()
        self._observation_shape = observation_shape
        self._calibration_inputs = calibration_inputs
        if backend == "auto":
            self.backend = self._usual_backend(network)
        self._check_usable(network)
        try:
            self.update(network, calibration_inputs)
        except Exception as error:
            if (backend, self.backend) != ("auto", "graph-fp16"):
                raise
            warnings.warn(f"inference goes on without graph-fp16: {str(error)[:300]}", stacklevel=2)
            self.backend = "eager"
            self.update(network, calibration_inputs)

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy or pickle; the copy prepares the network again."""
        return vars(self) | {"_evaluators": {}, "_compiled": {}}

    def update(self, network: Network, calibration_inputs: np.ndarray | None = None) -> None:
        """Load the weights of ``network``; newer ``calibration_inputs`` replace the old ones.

        Args:
            network: the network; its weights are copied.
            calibration_inputs: see the class.

        Raises:
            ValueError: the network's weights or answers are not finite.
        """
        _check_weights(network)
        if calibration_inputs is not None:
            self._calibration_inputs = calibration_inputs
        self.version += 1
        self._network = copy.deepcopy(network)
        self._evaluators: dict[tuple[Backend, int], Evaluator] = {}
        self._compiled: dict[Backend, CompiledNetwork] = {}
        tried = self._observations(min(_TRIED, self.batch))
        exact = self._exact_backend()
        _check_finite(self._evaluator_for(exact, len(tried))(tried), exact)
        _check_finite(self._evaluate(tried), self.backend)

    def deviation(self, observations: np.ndarray) -> Deviation:
        """Mean difference from float32 on observations [n, *shape], as the network sees them.

        For a torch network, the reference is PyTorch's outputs.
        """
        exact = self._evaluator_for(self._exact_backend(), self.batch)(observations)
        mine = self._evaluate(observations)
        policy, of_mine = (_log_probabilities(each.logits) for each in (exact, mine))
        divergence = (np.exp(policy) * (policy - of_mine)).sum(1).clip(min=0)  # up to rounding
        return Deviation(float(divergence.mean()), float(np.abs(exact.values - mine.values).mean()))

    def __call__(self, observations: np.ndarray) -> Evaluation:
        """Evaluate float32[n, *observation_shape]."""
        return self._evaluate(observations)

    def in_search(self, searches: int) -> NetworkInSearch | None:
        """See `kernels.in_search`: compiled searches call a network in a compiled backend."""
        if self.backend not in BATCH_INVARIANT:
            return None
        network = self._compiled_network(self.backend)
        return None if searches >= network.batch else network.in_search()

    def _usual_backend(self, network: Network) -> Backend:
        if str(self.device) != "cpu":
            return "graph-fp16" if str(self.device).startswith("cuda") else "eager"
        if not _has_layers(network):
            return "eager"
        return "compiled" if self._calibration_inputs is None else "compiled-int8"

    def _check_usable(self, network: Network) -> None:
        """Raise ``ValueError`` if the backend does not work for this network on this device."""
        device, backend = str(self.device), self.backend
        if not isinstance(network, BoardLayers | VectorLayers):
            from .family import FamilyNetwork

            if isinstance(network, FamilyNetwork):
                raise ValueError(
                    f"{type(network).__name__} is a network for many sets of options: name its "
                    "checkpoint, or give what `ludarium.training.networks.fitted` makes of it"
                )
        if backend == "graph-fp16" and not device.startswith("cuda"):
            raise ValueError(
                f"the backend {backend!r} runs on a GPU, not on {device}; take another backend"
            )
        if backend in BATCH_INVARIANT and device != "cpu":
            raise ValueError(
                f"the backend {backend!r} runs on the CPU, not on {device}: give device: "
                "cpu, or take another one"
            )
        if backend in BATCH_INVARIANT and not _has_layers(network):
            name = getattr(network, "name", type(network).__name__)
            raise ValueError(
                f"the backend {backend!r} is for the networks of ludarium, not for {name}; "
                "take eager"
            )
        if backend not in BATCH_INVARIANT and isinstance(network, BoardLayers | VectorLayers):
            raise ValueError(
                f"the backend {backend!r} is for networks of torch, not for layers; take compiled, "
                "on the CPU"
            )
        if backend == "compiled-int8" and self._calibration_inputs is None:
            raise ValueError(
                f"the backend {backend} needs calibration_inputs: typical observations"
            )

    def _exact_backend(self) -> Backend:
        is_layers = isinstance(self._network, BoardLayers | VectorLayers)
        return "compiled" if is_layers else "eager"

    def _observations(self, size: int) -> np.ndarray:
        """``size`` observations for checks: calibration inputs, or random zeros and ones."""
        if self._calibration_inputs is not None:
            return np.resize(self._calibration_inputs, (size, *self._observation_shape))
        random = np.random.default_rng(0)
        return random.integers(0, 2, (size, *self._observation_shape)).astype(np.float32)

    def _evaluator_for(self, backend: Backend, size: int) -> Evaluator:
        """The network prepared in a backend, for batches of ``size`` if that matters."""
        key = backend, size if backend in FIXED_SIZE else 0
        return _once(self._evaluators, key, lambda: self._prepared(backend, size))

    def _prepared(self, backend: Backend, size: int) -> Evaluator:
        if backend in BATCH_INVARIANT:
            return self._shared(self._compiled_network(backend))
        from . import backends

        network = cast("PolicyValueNetwork", self._network)
        if backend == "eager":
            return _in_few_threads(network, backends.eager_evaluator(network, self.device))
        return backends.graph_evaluator(network, (size, *self._observation_shape), self.device)

    def _compiled_network(self, backend: Backend) -> CompiledNetwork:
        def compiled() -> CompiledNetwork:
            layers, ranges = _layers_of(self._network), None
            if backend == "compiled-int8":
                assert self._calibration_inputs is not None, "checked before"
                ranges = ranges_of(layers, self._calibration_inputs)
            return CompiledNetwork(layers, ranges)

        return _once(self._compiled, backend, compiled)

    def _shared(self, network: CompiledNetwork) -> Evaluator:
        """The network on all available cores."""

        def evaluate(observations: np.ndarray) -> Evaluation:
            count = len(observations)
            cores = min(self._cores, count // _FEWEST)
            if cores < 2:
                return network(observations)
            answer = Evaluation.empty(count, network.shape.num_actions)

            def share(begin: int, end: int) -> None:
                of_share = network(observations[begin:end])
                for whole, part in zip(answer, of_share, strict=True):
                    whole[begin:end] = part

            parallel_for(share, count, cores)
            return answer

        return evaluate

    def _evaluate(self, observations: np.ndarray) -> Evaluation:
        count = len(observations)
        if count > self.batch:
            parts = [
                self._evaluate(observations[start : start + self.batch])
                for start in range(0, count, self.batch)
            ]
            return Evaluation(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        if self.backend not in FIXED_SIZE:
            return self._evaluator_for(self.backend, self.batch)(observations)
        size = self.batch
        while size // 2 >= max(count, 1):
            size //= 2
        if count < size:
            filled = np.zeros((size, *self._observation_shape), np.float32)
            filled[:count] = observations
            observations = filled
        answer = self._evaluator_for(self.backend, size)(observations)
        return Evaluation(*(array[:count] for array in answer))


def _in_few_threads(network: PolicyValueNetwork, evaluate: Evaluator) -> Evaluator:
    """An evaluator by torch that has as many threads as pay, see `torch_threads_for`."""

    def evaluated(observations: np.ndarray) -> Evaluation:
        with torch_threads_for(network, observations.shape):
            return evaluate(observations)

    return evaluated


def _once(made: dict[Key, Made], key: Key, make: Callable[[], Made]) -> Made:
    """What is made for a key, by one thread at a time; what is ready waits for nobody.

    A GPU captures one CUDA graph at a time, whichever engine asks.
    """
    if key not in made:
        with _preparing:
            if key not in made:
                made[key] = make()
    return made[key]


def _has_layers(network: Network) -> bool:
    """Whether the network is one that the compiled backends can run."""
    if isinstance(network, BoardLayers | VectorLayers):
        return True
    from .network import BoardNetwork, VectorNetwork

    return isinstance(network, BoardNetwork | VectorNetwork)


def _layers_of(network: Network) -> Layers:
    if isinstance(network, BoardLayers | VectorLayers):
        return network
    from .network import BoardNetwork, VectorNetwork, layers_of

    assert isinstance(network, BoardNetwork | VectorNetwork), "checked before"
    return layers_of(network)


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
    logits = logits.astype(np.float64)
    logits = logits - logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def _check_weights(network: Network) -> None:
    """Raise ``ValueError`` unless all weights are finite; the answers may hide that they are not.

    The compiled backends hide it, because their ReLU of NaN is 0.
    """
    finite: dict[str, Any]
    if isinstance(network, BoardLayers | VectorLayers):
        finite = {name: np.isfinite(array).all() for name, array in arrays_of(network)}
    else:
        finite = {name: tensor.isfinite().all() for name, tensor in network.state_dict().items()}
    for name, is_finite in finite.items():
        if not is_finite:
            raise ValueError(
                f"the network's weights are not finite numbers ({name}): they are damaged, or its "
                "training has diverged"
            )


def _check_finite(evaluation: Evaluation, backend: Backend) -> None:
    """Raise ``ValueError`` unless the outputs of a backend are finite; a score may be missing."""
    logits, wdl, score = evaluation
    is_finite = np.isfinite(logits).all() and np.isfinite(wdl).all()
    if not (is_finite and (np.isfinite(score).all() or np.isnan(score).all())):
        raise ValueError(
            f"the network's answers are not finite numbers (backend {backend}): its weights are "
            "damaged, or its training has diverged"
        )
