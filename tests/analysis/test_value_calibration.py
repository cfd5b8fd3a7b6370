"""What a search says a position is worth is closer to the exact value than the network's own."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from ludarium.analysis.exact_tests import make_exact_test
from ludarium.envs import make_game
from ludarium.envs.engine.codec import Codec
from ludarium.training.agents import make_agent
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.evaluation.statistics import mean
from ludarium.training.networks import inference_engine, stored_network
from ludarium.training.search import BatchSearch, SearchSettings

pytestmark = pytest.mark.slow


@functools.cache
def positions(name: str):
    """Positions and their exact values, half of them drawn where the game has draws."""
    game = make_game(name)
    if name == "corso":
        test = make_exact_test(game, 1200, seed=7, agent=make_agent("uct:200", game, seed=1))
        return test.states, test.values
    # Nearly all positions of random games are drawn, and called so.
    test = make_exact_test(game, 4000, seed=7)
    decided = np.flatnonzero(test.values)
    drawn = np.flatnonzero(test.values == 0)[: len(decided)]
    assert min(len(decided), len(drawn)) >= 100, "too few positions of one kind to compare"
    chosen = np.concatenate([decided, drawn])
    return test.states[chosen], test.values[chosen]


@functools.cache
def network(name: str):
    """The shipped agent's network, ready to be asked, and the errors of its values."""
    states, exact = positions(name)
    game = make_game(name)
    path = shipped_agent(name, game.options)
    engine = inference_engine(game, stored_network(path, game, name), 64)
    values = engine(Codec(game).encode(states).observations).values
    return engine, np.abs(values - exact)


@pytest.mark.parametrize("simulations", [16, 32, 64, 256])
@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
@pytest.mark.parametrize("name", ["corso", "osiron"])
def test_the_value_after_a_search_is_closer_than_before(name, algorithm, simulations):
    states, exact = positions(name)
    engine, before = network(name)
    settings = SearchSettings(simulations=simulations, algorithm=algorithm)
    found = BatchSearch(make_game(name), settings, seed=0).run(states, engine)
    gain = mean(before - np.abs(found.values - exact))  # of the same positions, in pairs
    assert gain.low > 0
