"""Back-pressure and room for actors, as plain arithmetic: no Ray is needed here."""

from __future__ import annotations

import random

import pytest

from ludarium.configs.schema import Cluster as ClusterConfig
from ludarium.training.cluster.flow import Flow, Turns
from ludarium.training.cluster.nodes import Node, Room, difference, room_on


@pytest.mark.parametrize("staleness", [1, 2, 5])
def test_actors_never_play_further_ahead_than_the_limit(staleness):
    """Whoever is fast, what is ordered or waits stays below the limit, and never gets stuck."""
    rng = random.Random(staleness)
    flow = Flow(iteration=1000, staleness=staleness)
    orders: list[int] = []
    taken = learnt = 0
    for _ in range(5000):
        flow.collecting = learnt == taken
        positions = flow.chunk(actors=7, least=16)
        assert positions <= flow.room
        if positions and rng.random() < 0.6:
            flow.order(positions)
            orders.append(positions)
        assert flow.ordered == sum(orders)
        assert flow.ordered + flow.arrived <= staleness * 1000
        if orders and rng.random() < 0.5:
            ordered = orders.pop(rng.randrange(len(orders)))
            if rng.random() < 0.1:
                flow.lose(ordered)
            else:
                flow.arrive(ordered, rng.randint(0, ordered))
        if flow.collecting and flow.arrived >= 1000:
            flow.take(1000)
            taken += 1
        elif learnt < taken and rng.random() < 0.05:
            learnt += 1
    assert taken > 20


def test_while_the_learner_learns_actors_play_for_the_iterations_after():
    waiting = Flow(1000, 1)
    assert waiting.room == 0
    waiting.collecting = True
    assert waiting.room == 1000
    ahead = Flow(1000, 3)
    assert ahead.room == 2000
    ahead.order(1990)
    assert ahead.chunk(2, 64) == 10


def test_every_actor_gets_several_chunks_of_an_iteration_but_none_too_small():
    flow = Flow(1000, 2)
    assert flow.chunk(1, 64) == 500
    assert flow.chunk(5, 64) == 100
    assert flow.chunk(500, 64) == 64


def test_positions_are_stale_when_their_weights_are_more_versions_behind():
    flow = Flow(10, 2)
    assert [flow.is_stale(version, 7) for version in (7, 6, 5, 4)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("cpus", "gpus", "settings", "room"),
    [
        (8, 0, {}, Room(8, 1, 0)),
        (8, 0, {"actor_cpus": 3}, Room(2, 3, 0)),
        (8, 2, {}, Room(2, 4, 1)),
        (1, 2, {}, Room(1, 1, 1)),
        (8, 2, {"actor_gpus": 0}, Room(8, 1, 0)),
        (8, 1, {"actor_gpus": 0.25}, Room(4, 1, 0.25)),
        (8, 0, {"actor_gpus": 0.25}, Room(0, 1, 0.25)),
        (0, 0, {}, Room(0, 1, 0)),
    ],
)
def test_room_on_a_node(cpus, gpus, settings, room):
    assert room_on(Node("a", "a", cpus, gpus), ClusterConfig(**settings)) == room


def test_each_game_gets_its_share_whatever_becomes_of_its_orders():
    rng = random.Random(1)
    shares = [0.5, 0.3, 0.2]
    turns = Turns(shares)
    played = [0, 0, 0]
    for _ in range(2000):
        positions = rng.randrange(1, 500)
        game = turns.take(positions)
        done = rng.choice([0, positions // 2, positions])
        turns.give_back(game, positions - done)
        played[game] += done
        if sum(played) > 2000:
            for share, number in zip(shares, played, strict=True):
                assert abs(number - share * sum(played)) <= 1000


def test_what_differs_is_named():
    here = {"ludarium": "0.1.0", "rules of corso": "version 0 (abc)"}
    assert difference(here, here) is None
    assert difference(here, {}) == "has ludarium missing, this run has 0.1.0"
    other = {**here, "rules of corso": "version 0 (def)"}
    assert difference(here, other) == (
        "has rules of corso version 0 (def), this run has version 0 (abc)"
    )
