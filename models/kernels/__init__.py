"""Networks that are compiled, like rules and search, and need no other library. Import what is in
`__all__` from here; `play`, for other machines, also imports `packing` and `target`.

    network = CompiledNetwork(layers(weights, shape))
    evaluation = network(observations)

Compiled searches call a network themselves, see `CompiledNetwork.in_search`.

`answers` are the kernels, `evaluate` the networks, `layers_compiled` their layers, `emitted`
vectors and the inner loop, `packing` the order of the weights, `target` what depends on the
processor, `address` how searches call a network. Sizes are read at run time, so the same code
serves all games, boards and networks.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ludarium.machine.copies import template_functions
from ludarium.machine.machines import OF_NETWORKS
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit, is_compiled, refuse_plain
from ludarium.models.evaluation import Evaluation, Evaluator
from ludarium.models.layers import BoardLayers, Layers
from ludarium.models.shape import NetworkShape

from . import answers, target
from .address import NONE, Called, answer, places_of
from .evaluate import board_in_search, vector_in_search
from .packing import PackedNetwork, pack, with_memory_of_its_own

_SMALLER = 4  # weights in eight bits are smaller by this factor
_BITS = 8  # significant bits of the ends of a range

__all__ = [
    "NONE",
    "Called",
    "CompiledNetwork",
    "NetworkInSearch",
    "answer",
    "digest_of",
    "in_search",
    "network_part",
    "network_units",
    "ranges_of",
    "source_digest",
]


class NetworkInSearch(NamedTuple):
    """A network that compiled searches call themselves.

    Attributes:
        net: the addresses of the network's kernel and arrays, for one thread at a time.
        network: the owner of these arrays, which must live as long as ``net`` is used.
    """

    net: Called
    network: Any


def in_search(evaluate: Evaluator, searches: int) -> NetworkInSearch | None:
    """An evaluator for compiled searches in the calling thread.

    Args:
        evaluate: an evaluator.
        searches: how many searches could have their leaves evaluated at once.

    Returns:
        None if the evaluator can only be called from Python, or is faster so; else a network with
        the same answers, bit for bit, as when called from Python.
    """
    made = getattr(evaluate, "in_search", None)
    return None if made is None else made(searches)


class CompiledNetwork:
    """A network that evaluates observations in compiled code, in the calling thread.

    An answer does not depend on the rest of the batch, bit for bit. Several threads may call at
    once.

    Args:
        layers: the network's layers.
        ranges: ranges of the inputs of the trunk's layers, see `ranges_of`: the trunk's products
            are then of eight-bit integers; None: all is float32.

    Raises:
        ValueError: there is no machine code (``LUDARIUM_CODE=plain``).

    Attributes:
        batch: number of observations from which one call for all of them is faster than calls from
            compiled searches. Infinite, except for perceptrons: their weights do not fit the fast
            caches, and a call reads them once per `Target.rows` observations.
    """

    def __init__(self, layers: Layers, ranges: np.ndarray | None = None) -> None:
        self.shape = layers.shape
        self.batch = math.inf
        if not isinstance(layers, BoardLayers):
            self.batch = target.HOST.rows * (1 if ranges is None else _SMALLER)
        self._packed = pack(layers, ranges)
        self._name = _kernel_name(layers, self._packed)
        self._unit = _unit(self._name)
        self._kernel = self._unit.kernels[self._name]
        self._memory = threading.local()

    def __call__(self, observations: np.ndarray) -> Evaluation:
        """Evaluate float32 [n, *shape.observation].

        Raises:
            ValueError: the observations are of another shape.
        """
        return _evaluated(self._kernel, self._of_thread(), self.shape, observations)

    def in_search(self) -> NetworkInSearch:
        """The network for compiled searches in the calling thread."""
        network = self._of_thread()
        return NetworkInSearch(
            Called(self._unit.address_of(self._name, answers.arguments()), network.handle), network
        )

    def _of_thread(self) -> _Placed:
        """The network with the calling thread's memory."""
        if not hasattr(self._memory, "network"):
            self._memory.network = _Placed(with_memory_of_its_own(self._packed))
        network: _Placed = self._memory.network
        return network


class _Placed:
    """A network's arrays, and their handle for kernels, valid as long as this object exists.

    Attributes:
        arrays: the network.
        handle: the address of its `address.places_of`.
    """

    def __init__(self, arrays: PackedNetwork) -> None:
        self.arrays = arrays
        self._places = places_of(arrays)
        self.handle = self._places.ctypes.data


def ranges_of(layers: Layers, observations: np.ndarray) -> np.ndarray:
    """The least and the greatest number that each layer of the trunk reads, in float32.

    Ranges hold 0 and all numbers seen: cutting off even one in 10,000 makes the answers worse.
    They are rounded outwards to `_BITS` bits, far more coarsely than sums in float32, which
    processors round in two ways. So the ranges of the shipped networks agree on all processors; one
    in some hundred networks may have an end so near a rounding step that two processors differ.

    Args:
        layers: layers of a network.
        observations: float32 [n, *shape.observation], some hundred typical ones.

    Returns:
        float32 [layers of the trunk, 2].

    Raises:
        ValueError: as for `CompiledNetwork`; or the observations are of another shape.
    """
    packed = pack(layers)
    packed = packed._replace(ranges=np.zeros(2 * len(packed.trunk), np.float32))
    name = _kernel_name(layers, packed)
    kernel = _unit(name).kernels[name]
    _evaluated(kernel, _Placed(packed), layers.shape, observations)
    fractions, exponents = np.frexp(packed.ranges.reshape(-1, 2))
    steps = np.copysign(np.ceil(np.abs(fractions) * 2**_BITS), fractions)
    return np.ldexp(steps, exponents - _BITS).astype(np.float32)


def _evaluated(
    kernel: Callable, network: _Placed, shape: NetworkShape, observations: np.ndarray
) -> Evaluation:
    if observations.shape[1:] != shape.observation:
        raise ValueError(
            f"the network takes observations [n, {', '.join(map(str, shape.observation))}], not "
            f"{list(observations.shape)}"
        )
    count = len(observations)
    planes = np.require(observations, np.float32, ["C", "W"])
    planes = planes.reshape(count, 1, math.prod(shape.observation))
    found = Evaluation.empty(count, shape.num_actions)
    kernel(network.handle, planes, *found, 0, count)
    return found


def network_part(kind: str) -> Callable:
    """The part ``ask(net, planes, evaluation, n)`` of modules for other machines.

    Args:
        kind: ``board`` or ``vector``; ``net`` is the `PackedNetwork` of such a network.
    """
    return board_in_search if kind == "board" else vector_in_search


@cache
def network_units() -> dict[str, Unit]:
    """The code of each kind of network, by the name of its kernel in `answers`."""
    recipe = Recipe(answers.__name__, prepare=f"{target.__name__}:compile_for")
    return {
        name: Unit(
            f"networks-{name.replace('_', '-')}",
            "networks",
            recipe,
            lambda name=name: [(name, answers.arguments())],  # type: ignore[misc]
            OF_NETWORKS,
            needs_code=True,
        )
        for name in template_functions(answers, "kernel")
    }


def _kernel_name(layers: Layers, packed: PackedNetwork) -> str:
    """The name of a network's kernel in `answers`."""
    kind = "boards" if isinstance(layers, BoardLayers) else "vectors"
    return f"{kind}_in_{packed.weights.dtype}"


def _unit(name: str) -> Unit:
    """The code of a kernel in `answers`.

    Raises:
        ValueError: there is no machine code (``LUDARIUM_CODE=plain``).
    """
    if not is_compiled():
        refuse_plain()
    return network_units()[name]


@cache
def source_digest() -> str:
    """Digest of the sources of the kernels, the same on all machines."""
    units = network_units()
    return units["boards_in_float32"].ingredients.source_digest(Path.read_bytes)


@cache
def digest_of(compiled_for: target.Target) -> str:
    """Digest of all that the kernels for a target are made of."""
    return hashlib.sha256(f"{source_digest()}{compiled_for!r}".encode()).hexdigest()[:12]
