"""What runs in the processes of a cluster, in this one; room for actors; and a Ray that fails."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ludarium.configs import apply_settings, load_config
from ludarium.configs.schema import Cluster as ClusterConfig
from ludarium.envs.engine.progress import UNWATCHED
from ludarium.models import kernels
from ludarium.models.kernels import block, parts, target
from ludarium.training.alphazero.actors import Weights, search_settings
from ludarium.training.alphazero.mixture import Mixture
from ludarium.training.cluster import actors, joined
from ludarium.training.cluster.actors import ClusterActors, part_of, room_in
from ludarium.training.cluster.evaluator import ClusterEvaluator
from ludarium.training.cluster.worker import SelfPlayer, identity_of
from ludarium.training.networks import fresh_network
from ludarium.training.random_positions import random_observations
from ludarium.training.runs.evaluation import Evaluation, Measure
from ludarium.training.runs.games import games_of

SETTINGS = [
    "options={size: 3}",
    "network={channels: 8, blocks: 1}",
    "self_play={games: 16, positions: 64, simulations: 4}",
    "bootstrap={positions: 64, playouts: 4}",
]


def new_player(measures=True, backend="eager", identity=None):
    """An actor, as it is after a journey, the whole configuration, and two versions of weights."""
    config = apply_settings(load_config("corso/demo"), [*SETTINGS, f"backend={backend}"])
    games = games_of(config)
    (game, _) = games[0]
    mixture = Mixture([game], config.learner.search_value, False, 1.0)
    examples = random_observations(game, 64, 1)
    weights = []
    for version in (3, 4):
        own = Weights(version, fresh_network(game, config.network), examples)
        weights.append(replace(own, of_games=(own,)))
    told = (games, mixture, part_of(config, 2, 1), identity or identity_of(game), measures)
    told, weights = pickle.loads(pickle.dumps((told, weights)))
    return SelfPlayer(*told), config, weights


@pytest.mark.parametrize("backend", ["eager", "compiled", "compiled-int8"])
def test_an_actor_plays_chunks_with_the_weights_that_come_with_them(backend):
    player, config, (first, second) = new_player(backend=backend)
    settings = search_settings(config, 0.0)
    chunks = [player.play(weights, settings) for weights in (first, second, second)]
    assert [chunk.version for chunk in chunks] == [3, 4, 4]
    most = 16 if backend == "eager" else 16 + 9  # whole games
    assert all(16 <= chunk.result.positions <= most for chunk in chunks)
    assert chunks[1].result.samples.tobytes() != chunks[2].result.samples.tobytes()
    assert all(np.isfinite(chunk.result.samples["search_value"]).all() for chunk in chunks)
    # The first actor tells what its backend makes of a version, once.
    assert [chunk.metrics.get("backend") for chunk in chunks] == [backend, backend, None]
    assert chunks[0].metrics["policy_deviation"] < 0.1
    other, _, weights = new_player(measures=False)
    assert other.play(weights[0], settings).metrics == {}


def test_an_actor_plays_other_games_of_the_bootstrap_each_time():
    player, _, (weights, _) = new_player()
    first, second = (player.play(weights, None).result for _ in range(2))
    assert first.positions >= 16
    assert first.samples.tobytes() != second.samples.tobytes()


def test_a_node_with_another_version_or_other_rules_is_refused_by_name():
    player, _, (weights, _) = new_player(identity="ludarium 9.9.9, corso version 0 (abc)")
    here = r"^node \S+ has ludarium 0\.\S+, corso version \d+ \(\w+\), compiled networks \(\w+\)"
    with pytest.raises(
        ValueError, match=here + r", this run has ludarium 9\.9\.9, .* \(abc\): inst"
    ):
        player.play(weights, None)


def test_nodes_must_have_the_same_networks_and_not_the_same_processors(monkeypatch):
    (game, _) = games_of(load_config("corso/demo"))[0]
    before = identity_of(game)
    with monkeypatch.context() as patched:
        patched.setattr(target, "current", target.WASM)
        assert identity_of(game) == before
    kernels.source_digest.cache_clear()
    monkeypatch.setattr(parts, "__file__", block.__file__)
    try:
        assert identity_of(game) != before
    finally:
        monkeypatch.undo()
        kernels.source_digest.cache_clear()


@pytest.mark.parametrize(
    ("cpus", "gpus", "settings", "room"),
    [
        (8, 0, {}, 8),
        (8, 0, {"actor_cpus": 3}, 2),
        (8, 2, {}, 8),
        (8, 2, {"actor_gpus": 1}, 2),
        (8, 1, {"actor_gpus": 0.1}, 8),
        (8, 0.3, {"actor_gpus": 0.1}, 3),
        (8, 0, {"actor_gpus": 0.25}, 0),
        (0, 0, {}, 0),
    ],
)
def test_room_is_what_actors_take_of_each_resource(cpus, gpus, settings, room):
    config = ClusterConfig(**settings)
    assert room_in({"CPU": cpus, "GPU": gpus, "memory": 1e9}, config) == room
    assert room_in({}, config) == 0


def test_actors_share_the_positions_of_an_iteration_in_several_chunks():
    config = apply_settings(
        load_config("corso/demo"),
        ["self_play={games: 256, positions: 1000, cache: 32}", "cluster={actor_cpus: 2}"],
    )
    part = part_of(config, 5, 1).self_play
    assert (part.positions, part.games, part.workers, part.cache) == (100, 128, 2, 16.0)
    assert part_of(config, 500, 1).self_play.positions == 16
    on_gpu = apply_settings(config, ["cluster={actor_gpus: 1, games: 2000}"])
    part = part_of(on_gpu, 5, 1).self_play
    assert (part.games, part.workers) == (2000, None)


def test_a_cluster_that_does_not_start_is_an_error_in_one_line(monkeypatch):
    ray = pytest.importorskip("ray")

    def fail(**_):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", fail)
    with (
        pytest.raises(ValueError, match=r"cluster of this machine \(The current node timed out"),
        joined(),
    ):
        raise AssertionError("it has not started")


@pytest.fixture
def cluster_of_this_process(monkeypatch):
    """A Ray whose tasks are run where they are asked for; its ``get`` may be replaced."""
    ray = pytest.importorskip("ray")

    class Remote:
        def __init__(self, function):
            self.remote = function

        def options(self, **_):
            return self

    monkeypatch.setattr(ray, "remote", Remote)
    monkeypatch.setattr(ray, "wait", lambda references, **_: (references, []))
    monkeypatch.setattr(ray, "get", lambda references: references)
    monkeypatch.setattr(ray, "cancel", lambda *_, **__: None)
    return ray


def an_evaluation(backend="eager"):
    """Of a network with random weights, against random actions."""
    config = apply_settings(load_config("corso/demo"), SETTINGS)
    (game, _), *_ = games_of(config)
    measure = Measure("random", 2, {}, None, 1)
    return Evaluation(1, game, fresh_network(game, config.network), 0, measure, None, backend)


@pytest.mark.parametrize("backend", ["eager", "graph-fp16"])
def test_an_evaluation_needs_no_gpu_whatever_actors_have(backend, cluster_of_this_process):
    evaluator = ClusterEvaluator()
    evaluator.submit(an_evaluation(backend), UNWATCHED)
    assert 0 <= evaluator.take(wait=True)["score"] <= 1


def test_an_evaluation_that_the_cluster_has_lost_is_an_error_in_one_line(
    cluster_of_this_process, monkeypatch
):
    ray = cluster_of_this_process

    def fail(_):
        raise ray.exceptions.NodeDiedError("node 7 died")

    monkeypatch.setattr(ray, "get", fail)
    evaluator = ClusterEvaluator()
    evaluator.submit(an_evaluation(), UNWATCHED)
    with pytest.raises(ValueError, match=r"evaluation on the cluster has ended: .*node 7 died"):
        evaluator.take(wait=True)


def test_actors_of_which_nothing_is_heard_are_told_of(cluster_of_this_process, monkeypatch):
    ray, said, now = cluster_of_this_process, [], [0.0]

    def never(*_):
        return "what never comes"

    handle = SimpleNamespace(__ray_ready__=SimpleNamespace(remote=never))
    monkeypatch.setattr(ray, "remote", lambda _: SimpleNamespace(options=lambda **_: made))
    made = SimpleNamespace(remote=lambda *_: handle)
    monkeypatch.setattr(ray, "put", lambda content: content)
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 2})
    monkeypatch.setattr(ray, "wait", lambda references, **_: ([], references))
    monkeypatch.setattr(actors, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    _, config, (weights, _) = new_player()
    games = games_of(config)
    reporter = SimpleNamespace(say=said.append)
    run = SimpleNamespace(config=config, games=games, game=games[0][0], reporter=reporter)
    waiting = ClusterActors(run, None, weights)
    for second in range(0, 700, 50):
        now[0] = float(second)
        assert not waiting._receive()
    assert [line.partition(";")[0] for line in said] == [
        "nothing has come from 2 actors for 5 minutes"
    ] * 2
