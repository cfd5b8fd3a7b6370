"""What runs in the processes of a cluster, in this one; room for actors; and a Ray that fails."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ludarium.base.progress import SILENT
from ludarium.configs import apply_settings, load_config
from ludarium.configs.schema import ClusterConfig
from ludarium.envs.engine.position import contents_of
from ludarium.models import kernels
from ludarium.models.kernels import target
from ludarium.training.alphazero.actors import Weights, search_settings
from ludarium.training.alphazero.self_play import SelfPlayResult
from ludarium.training.alphazero.variants import VariantPacker
from ludarium.training.cluster import actors, connection, joined
from ludarium.training.cluster.actors import ClusterActors, part_of, room_in
from ludarium.training.cluster.worker import PlayedChunk, SelfPlayer, identity_of
from ludarium.training.networks import fresh_network, random_observations
from ludarium.training.runs.trainer import games_of

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
    packer = VariantPacker([game])
    inputs = random_observations(game, 64, 1)
    weights = []
    for version in (3, 4):
        network = fresh_network(game, config.network)
        weights.append(Weights(version, (network,), (inputs,)))
    part = part_of(config, 2, 1)
    told = (games, packer, part, identity or identity_of(game), measures)
    told, weights = pickle.loads(pickle.dumps((told, weights)))
    return SelfPlayer(*told), config, weights


@pytest.mark.slow
def test_an_actor_plays_every_variant():
    settings = [*SETTINGS, "backend=eager", "variants=[{options: {size: [2, 3]}}]"]
    settings += ["self_play.positions=512", "bootstrap.positions=256"]
    config = apply_settings(load_config("corso/demo"), settings)
    games = games_of(config)
    made = [game for game, _ in games]
    networks = tuple(fresh_network(game, config.network) for game in made)
    weights = Weights(3, networks, tuple(random_observations(game, 64, 1) for game in made))
    part = part_of(config, 2, 2)
    player = SelfPlayer(games, VariantPacker(made), part, identity_of(made[0]), True)
    for searched in (None, search_settings(config, 0.0)):
        assert set(player.play(weights, searched, part).result.samples["game"]) == {0, 1}


@pytest.mark.parametrize("backend", ["eager", "compiled", "compiled-int8"])
def test_an_actor_plays_chunks_with_the_weights_that_come_with_them(backend):
    player, config, (first, second) = new_player(backend=backend)
    settings, part = search_settings(config, 0.0), part_of(config, 2, 1)
    chunks = [player.play(weights, settings, part) for weights in (first, second, second)]
    assert [chunk.version for chunk in chunks] == [3, 4, 4]
    most = 16 if backend == "eager" else 16 + 9  # whole games
    assert all(16 <= chunk.result.counts["positions"] <= most for chunk in chunks)
    states = [contents_of(chunk.result.samples["state"]) for chunk in chunks]
    assert states[1] != states[2]
    assert all(np.isfinite(chunk.result.samples["policy"]).all() for chunk in chunks)
    # The first actor tells what its backend makes of a version, once.
    assert [chunk.metrics.get("backend") for chunk in chunks] == [backend, backend, None]
    assert chunks[0].metrics["policy_deviation"] < 0.1
    other, _, weights = new_player(measures=False)
    assert other.play(weights[0], settings, part).metrics == {}


@pytest.mark.parametrize("backend", ["eager", "compiled"])
def test_an_actor_keeps_up_with_its_part_of_the_work(backend):
    """And its games in progress go on."""
    player, config, (weights, _) = new_player(backend=backend)
    played = ended = 0
    for count, wanted in ((1, 32), (2, 16), (1, 32), (1, 32), (2, 16)):
        part = part_of(config, count, 1)
        chunk = player.play(weights, search_settings(config, 0.0), part).result
        assert wanted <= chunk.counts["positions"] <= wanted + (0 if backend == "eager" else 9)
        played, ended = played + chunk.counts["positions"], ended + len(chunk.samples)
    states = player._actors.state().items()
    going = sum(len(array) for name, array in states if name.endswith(".pending"))
    assert ended + going == played
    assert player.play(weights, None, part_of(config, 1, 1)).result.counts["positions"] >= 32


def test_every_chunk_of_every_actor_has_other_games():
    player, config, (weights, _) = new_player()
    part = part_of(config, 2, 1)
    players = [player, player, new_player()[0]]
    chunks = [each.play(weights, None, part).result for each in players]
    assert chunks[0].counts["positions"] >= 16
    assert len({contents_of(chunk.samples["state"]) for chunk in chunks}) == 3


def test_a_node_with_another_version_or_other_rules_is_refused_by_name():
    player, config, (weights, _) = new_player(identity="ludarium 9.9.9, corso version 0 (abc)")
    here = r"^node \S+ has ludarium 0\.\S+, corso version \d+ \(\w+\), compiled networks \(\w+\)"
    with pytest.raises(
        ValueError, match=here + r", this run has ludarium 9\.9\.9, .* \(abc\): inst"
    ):
        player.play(weights, None, part_of(config, 2, 1))


def test_nodes_must_have_the_same_networks_and_not_the_same_processors(monkeypatch):
    (game, _) = games_of(load_config("corso/demo"))[0]
    before = identity_of(game)
    with monkeypatch.context() as patched:
        patched.setattr(target, "current", target.WASM)
        assert identity_of(game) == before
    kernels.source_digest.cache_clear()
    read = Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda file: read(file) + b"\n" * (file.name == "layers_compiled.py")
    )
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
    assert part_of(config, 5, 10).self_play.games == 160  # 16 of each game
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


def test_an_ipv6_address_is_asked_without_its_brackets(monkeypatch):
    asked = []

    def connect(address, timeout):
        asked.append(address)
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr("socket.create_connection", connect)
    for address in ("[::1]:6379", "10.0.0.1:6379"):
        connection._check_answer(address)
    assert asked == [("::1", 6379), ("10.0.0.1", 6379)]


@pytest.mark.parametrize("address", ["host", ":6379", "host:x"])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(ValueError, match="give HOST:PORT, or auto"):
        connection._check_answer(address)


def faked(monkeypatch, *dead, minutes="null"):
    """Two actors of a cluster that is none, with a clock of its own; the ``dead`` do not answer."""
    fake = SimpleNamespace(now=0.0, orders=[], said=[], dead={*dead}, processes=[1, 2])

    def make(number):
        def play(weights, settings, part):
            fake.orders.append(number)
            return number, len(fake.orders), settings and weights.version

        methods = {"play": play, "__ray_ready__": lambda: f"start of {number}"}
        return SimpleNamespace(
            **{name: SimpleNamespace(remote=method) for name, method in methods.items()}
        )

    def wait(references, num_returns=1, timeout=0.0):
        fake.now += timeout
        come = [each for each in references if each[0] not in fake.dead]
        return come[:num_returns], references

    def received(chunk):
        result = SelfPlayResult(np.zeros(16), Counter(positions=16))
        return PlayedChunk(result, chunk[2], fake.processes[chunk[0]], {"backend": "eager"})

    handles = map(make, range(2))
    maker = SimpleNamespace(remote=lambda *_: next(handles))
    ray = SimpleNamespace(
        remote=lambda _: SimpleNamespace(options=lambda **_: maker),
        put=lambda content: content,
        cluster_resources=lambda: {"CPU": 2},
        wait=wait,
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(actors, "time", SimpleNamespace(perf_counter=lambda: fake.now))
    monkeypatch.setattr(actors, "received", received)
    _, config, fake.weights = new_player()
    config = apply_settings(config, [f"budget={{iterations: 1, minutes: {minutes}}}"])
    games, progress = games_of(config), SimpleNamespace(say=fake.said.append)
    run = SimpleNamespace(config=config, games=games, game=games[0][0], progress=progress)
    fake.actors, fake.settings = (
        ClusterActors(run, None, fake.weights[0]),
        search_settings(config, 0),
    )
    return fake


@pytest.mark.parametrize(("is_dead", "played"), [(False, [2, 2]), (True, [4, 1])])
def test_no_more_of_the_bootstrap_is_played_than_it_takes(is_dead, played, monkeypatch):
    """Of four chunks by two actors; after a silence the first replaces the second, if that died.

    If it was only late, its chunk is learnt from, and does not count as self-play.
    """
    fake = faked(monkeypatch, *([1] if is_dead else []))
    found = fake.actors.bootstrap(SILENT)
    assert found.counts["positions"] == 64
    assert [fake.orders.count(number) for number in range(2)] == played
    assert bool(fake.said) == is_dead
    assert "staleness" not in fake.actors.publish(fake.weights[0])
    fake.dead.clear()
    began = fake.now
    found = fake.actors.play(fake.settings, SILENT)
    assert (found.counts["positions"], len(found.samples)) == (64, 80 if is_dead else 64)
    told = {"backend": "eager", "actors": 2, "actors_lost": 0, "staleness": 0}
    told["learner_waited"] = fake.now - began
    assert fake.actors.publish(fake.weights[1]) == told
    fake.now, fake.processes[1] = fake.now + 7, 5  # while it learns, an actor is started again
    found = fake.actors.play(fake.settings, SILENT)
    told |= {"actors_lost": 1, "learner_waited": 4, "staleness": 1}
    assert (found.seconds, fake.actors.publish(fake.weights[1])) == (7 + 4, told)


def test_a_bootstrap_by_actors_takes_its_share_of_the_minutes(monkeypatch):
    fake = faked(monkeypatch, minutes=0.125)  # of which a third is 2.5 seconds, for three chunks
    assert fake.actors.bootstrap(SILENT).counts["positions"] == 3 * 16


def test_actors_of_which_nothing_is_heard_are_told_of(monkeypatch):
    fake = faked(monkeypatch, 0, 1)
    fake.actors._order(fake.settings)
    for _ in range(700):  # seconds
        assert not fake.actors._receive()
    assert [line.partition(";")[0] for line in fake.said] == [
        "nothing has come from 2 actors for 5 minutes"
    ] * 2
