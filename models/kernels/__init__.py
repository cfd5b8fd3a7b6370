"""Networks compiled by the same compiler as rules and search; they need no other library. Import
what is in `__all__`.

    network = CompiledNetwork(layers(weights, shape))
    evaluation = network(observations)

Compiled searches call a network themselves, see `CompiledNetwork.in_search`.

`block` is the inner loop, `vector` a vector type for the rest, `parts` the layers, `evaluate`
the networks, `packing` the order of the weights, `target` what depends on the processor. Sizes
are known only at run time: a machine compiles each of the kernels once for all games, boards and
networks, and keeps it on disk.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType

import numpy as np

from ludarium.envs.engine import jit, mathematics
from ludarium.envs.engine.compile import GivenPart
from ludarium.models.evaluation import Evaluation, NetworkInSearch
from ludarium.models.layers import BoardLayers, Layers
from ludarium.models.shape import NetworkShape
from ludarium.models.turn import Turn

from . import block, evaluate, packing, parts, target, vector
from .packing import PackedNetwork, pack, turned, with_memory_of_its_own

_SMALLER = 4  # weights in eight bits are smaller by this factor
_BITS = 8  # bits of the ends of a range

__all__ = ["CompiledNetwork", "digest_of", "network_part", "ranges_of", "source_digest"]


class CompiledNetwork:
    """A network that evaluates observations in compiled code, in the calling thread.

    An answer does not depend on the rest of the batch, bit for bit. Several threads may call at
    once.

    Args:
        layers: the network's layers.
        ranges: ranges of the inputs of the trunk's layers, see `ranges_of`: products are then
            of eight-bit integers; None: all is float32.
        turn: the game's turn, for searches, which know the board's own frame only.

    Attributes:
        batch: number of observations from which one call for all of them is faster than calls from
            compiled searches. Infinite, except for perceptrons: their weights do not fit the fast
            caches, and a call for many observations reads them once.
    """

    def __init__(
        self, layers: Layers, ranges: np.ndarray | None = None, turn: Turn | None = None
    ) -> None:
        self.shape = layers.shape
        self.batch = math.inf
        if not isinstance(layers, BoardLayers):
            self.batch = target.HOST.rows * (1 if ranges is None else _SMALLER)
        self._packed = pack(layers, ranges)
        if turn is not None:
            self._packed = turned(self._packed, turn, isinstance(layers, BoardLayers))
        self._evaluate = _kernel_for(layers)
        self._part = network_part(_kind(layers))
        self._memory = threading.local()

    def __call__(self, observations: np.ndarray) -> Evaluation:
        """Evaluate float32 [n, *shape.observation].

        Raises:
            ValueError: the observations are of another shape.
        """
        flat = _flat(observations, self.shape)
        answer = Evaluation.empty(len(observations), self.shape.num_actions)
        self._evaluate(self._of_thread(), flat, *answer)
        return answer

    def in_search(self) -> NetworkInSearch:
        """The network for compiled searches in the calling thread."""
        return NetworkInSearch(self._part, self._of_thread())

    def _of_thread(self) -> PackedNetwork:
        """The network with the calling thread's memory."""
        if not hasattr(self._memory, "packed"):
            self._memory.packed = with_memory_of_its_own(self._packed)
        packed: PackedNetwork = self._memory.packed
        return packed


def ranges_of(layers: Layers, observations: np.ndarray) -> np.ndarray:
    """The least and the greatest number that each layer of the trunk reads, in float32.

    Ranges hold all numbers seen: cutting off even one number in 10,000 makes the answers worse.
    They are rounded outwards to `_BITS` bits, far more coarsely than sums in float32, which
    processors round in two ways. So the ranges of the shipped networks agree on all processors; one
    in some hundred networks may have an end so close to a step that two processors differ.

    Args:
        layers: layers of a network.
        observations: float32 [n, *shape.observation], some hundred typical ones.

    Returns:
        float32 [layers, 2].
    """
    packed = pack(layers)
    packed = packed._replace(ranges=np.zeros(2 * len(packed.trunk), np.float32))
    answer = Evaluation.empty(len(observations), layers.shape.num_actions)
    _kernel_for(layers)(packed, _flat(observations, layers.shape), *answer)
    fractions, exponents = np.frexp(packed.ranges.reshape(-1, 2))
    steps = np.copysign(np.ceil(np.abs(fractions) * 2**_BITS), fractions)
    return np.ldexp(steps, exponents - _BITS).astype(np.float32)


def _flat(observations: np.ndarray, shape: NetworkShape) -> np.ndarray:
    if observations.shape[1:] != shape.observation:
        raise ValueError(
            f"the network takes observations [n, {', '.join(map(str, shape.observation))}], not "
            f"{list(observations.shape)}"
        )
    array = np.ascontiguousarray(observations, np.float32)
    return array.reshape(len(array), math.prod(shape.observation))


@cache
def network_part(kind: str) -> GivenPart:
    """The part ``network(net, planes, evaluation, n)`` of compiled searches.

    Args:
        kind: ``board`` or ``vector``; ``net`` is the `PackedNetwork` of such a network.
    """
    return GivenPart(getattr(evaluate, f"{kind}_in_search"), f"{kind} {digest_of(target.current)}")


def _kind(layers: Layers) -> str:
    return "board" if isinstance(layers, BoardLayers) else "vector"


def _kernel_for(layers: Layers) -> Callable:
    return _kernel(_kind(layers))


@cache
def _kernel(kind: str) -> Callable:
    """An entry point of `evaluate` for Python, kept on disk."""
    template = getattr(evaluate, f"evaluate_{kind}s")
    template = getattr(template, "py_func", template)
    sources = digest_of(target.current)
    function = FunctionType(
        template.__code__, vars(evaluate), template.__name__, template.__defaults__
    )
    function.__module__ = evaluate.__name__
    function.__qualname__ = f"networks_{kind}s_{sources}"  # the message about compiling uses it
    return jit.kernel(function, f"network-{kind}s", sources)


@cache
def digest_of(compiled_for: target.Target) -> str:
    """Digest of all that the kernels are made of, except the processor, which the cache adds."""
    return hashlib.sha256(f"{source_digest()}{compiled_for!r}".encode()).hexdigest()[:12]


@cache
def source_digest() -> str:
    """Digest of the sources of the kernels, the same on all machines."""
    digest = hashlib.sha256()
    modules = (block, evaluate, packing, parts, target, vector, mathematics)
    for path in (*(Path(str(module.__file__)) for module in modules), *jit.SOURCES):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
