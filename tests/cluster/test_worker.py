"""What runs in the process of an actor, in this one; and a Ray that does not start."""

from __future__ import annotations

import math
import pickle
from collections import deque

import numpy as np
import pytest

from ludarium.configs import apply_settings, load_config
from ludarium.envs import make_game
from ludarium.models import backends
from ludarium.training.alphazero.actors import Weights, search_settings
from ludarium.training.alphazero.samples import sample_dtype
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.cluster import Cluster
from ludarium.training.cluster.actors import ClusterActors, _Counts
from ludarium.training.cluster.flow import Flow
from ludarium.training.cluster.worker import (
    Delivery,
    Job,
    Order,
    PackedWeights,
    Played,
    SelfPlayer,
)
from ludarium.training.networks import fresh_network
from ludarium.training.random_positions import random_observations

SETTINGS = [
    "options={size: 3}",
    "network={channels: 8, blocks: 1}",
    "self_play={games: 16, positions: 64, simulations: 4}",
]


@pytest.mark.parametrize("backend", ["eager", "onnx", "onnx-int8"])
def test_an_actor_runs_the_network_that_the_driver_has_written(backend, monkeypatch):
    config = apply_settings(load_config("corso/demo"), [*SETTINGS, f"backend={backend}"])
    game = make_game(config.game, **config.options)
    network = fresh_network(game, config.network)
    examples = random_observations(game, 64, 1)
    versions = []
    for version in (1, 2):
        weights = Weights(version, network, examples)
        packed = PackedWeights.pack(weights, {backend})
        assert list(packed.written) == [backend] * (backend in backends.ONNX)
        sent = pickle.loads(pickle.dumps(packed))
        assert packed.size >= sum(array.nbytes for array in sent.arrays.values())
        versions.append(sent)
    played = Played(game, 1.0, sample_dtype(game), network)
    player = SelfPlayer(Job((played,), config, 32, 0), 0, 1, "cpu")
    order = Order(0, 0, 32, search_settings(config, 0.0), math.inf)
    player.play(order, [versions[0]])  # which makes the engine

    def refuse(*_):
        raise AssertionError("it is written again")

    monkeypatch.setattr(backends, "write_onnx", refuse)
    delivery = player.play(order, [versions[1]])
    assert (delivery.version, delivery.backend) == (2, backend)
    assert delivery.result.positions == 32
    assert np.isfinite(delivery.result.samples["search_value"]).all()


def test_stale_deliveries_are_dropped_wherever_they_wait():
    dtype = sample_dtype(make_game("corso", size=3))
    deliveries = [
        Delivery(0, SelfPlayResult.of_playouts(np.zeros(count, dtype), 1), version, 0, 0, None, {})
        for count, version in ((3, 5), (4, 1), (5, 1), (6, 3))
    ]
    actors = object.__new__(ClusterActors)  # without Ray
    actors._version, actors._counts, actors._flow = 5, _Counts(), Flow(32, staleness=2)
    actors._deliveries = deque(deliveries)
    actors._flow.order(18)
    for delivery in deliveries:
        actors._flow.arrive(delivery.result.positions, delivery.result.positions)
    actors._drop_stale()
    assert list(map(id, actors._deliveries)) == [id(deliveries[0]), id(deliveries[3])]
    assert actors._counts.dropped == 9
    assert actors._flow.arrived == 9


def test_a_cluster_that_does_not_start_is_an_error_in_one_line(monkeypatch):
    ray = pytest.importorskip("ray")

    def fail(**_):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(ValueError, match=r"cluster of this machine \(The current node timed out"):
        Cluster(cores=1).join(make_game("corso", size=3), lambda _: None)
