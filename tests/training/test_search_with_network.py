"""Searches that call a compiled network themselves find the same as those that wait for it."""

from __future__ import annotations

import _thread
import time
from collections.abc import Callable

import numpy as np
import pytest
import torch

from ludarium.base.threads import one_core
from ludarium.envs import make_game
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.models import Evaluation, InferenceEngine, build_network
from ludarium.models.evaluation import in_canonical_frame
from ludarium.models.kernels import in_search
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.agents.timed import TimedNetworkAgent
from ludarium.training.networks import inference_engine, network_shape, random_observations
from ludarium.training.search import BatchSearch, Budget, SearchResult, SearchSettings
from ludarium.training.search.tree_search import TreeSearch
from tests.games import positions_after, slow_but, states_of

#: A board, boards that a network sees turned for one of the players, a perceptron.
GAMES: dict[str, dict] = {
    "corso": {"size": 3},
    "onyx": {"size": 6},
    "osiron": {},
    "obsidio": {},
    "obelisk": {},
}
BACKENDS = pytest.mark.parametrize("backend", ["compiled", "compiled-int8"])


def engine_of(game: Game, backend: str = "compiled", blocks: int = 2) -> InferenceEngine:
    torch.manual_seed(1)
    network = build_network(network_shape(game), 16, blocks)
    inputs = random_observations(game, 64, 0)
    return inference_engine(game, network, 64, backend, calibration_inputs=inputs)


def from_python(engine: InferenceEngine) -> Callable[[np.ndarray], Evaluation]:
    """The same network as a function that can only be called from Python."""
    return in_canonical_frame(lambda observations: engine(observations))


def assert_same(found: SearchResult, expected: SearchResult) -> None:
    for name in ("actions", "policies", "values", "proven", "visits", "action_values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.simulations == expected.simulations


@BACKENDS
@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_the_same_is_found_bit_for_bit(name, backend):
    game = make_game(name, **GAMES[name])
    engine = engine_of(game, backend)
    assert in_search(engine, 1) is not None
    assert in_search(from_python(engine), 1) is None
    states = np.concatenate(
        [states_of(positions_after(game, plies, 4, seed=plies)) for plies in (1, 2, 7)]
    )
    assert set(states["mover"]) == {0, 1}
    settings = SearchSettings(simulations=40)
    for cache in (0.0, 1.0):
        inside, outside = (BatchSearch(game, settings, 6, seed=0, cache=cache) for _ in range(2))
        found = inside.run(states, engine)
        assert_same(found, outside.run(states, from_python(engine)))
        assert found.evaluations > 100
        assert_same(found, inside.run(states, engine))  # now some answers are cached


def test_a_large_network_is_faster_in_batches_and_waited_for():
    game = make_game("obelisk")
    for backend in ("compiled", "compiled-int8"):
        engine = engine_of(game, backend)
        assert [in_search(engine, searches) is None for searches in (1, 128)] == [False, True]


def test_each_core_searches_some_of_the_positions(monkeypatch):
    game = make_game("corso", size=3)
    engine = engine_of(game)
    states = states_of(positions_after(game, 3, 7))
    settings = SearchSettings(simulations=30, algorithm="puct")
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(
            "ludarium.training.search.batch_search.available_cores", lambda n=cores: n
        )
        found.append(BatchSearch(game, settings, 7, seed=0, cache=1.0).run(states, engine))
    for other in found[1:]:
        assert_same(other, found[0])


def test_long_searches_are_run_in_short_parts_and_find_the_same(monkeypatch):
    game = make_game("corso", size=3)
    engine = engine_of(game)
    states = states_of(positions_after(game, 3, 7))
    found, calls = [], []
    advance = BatchSearch._advance

    def counted(*arguments):
        calls[-1] += 1
        return advance(*arguments)

    monkeypatch.setattr(BatchSearch, "_advance", counted)
    for patience in (1e6, 0.0):  # 0: one answer of the network in each part
        monkeypatch.setattr("ludarium.training.search.batch_search._PATIENCE", patience)
        calls.append(0)
        search = BatchSearch(game, SearchSettings(simulations=30), 7, seed=0, cache=1.0)
        found.append(search.run(states, engine))
    assert_same(*found)
    assert found[0].evaluations == found[1].evaluations
    assert calls[1] >= found[1].evaluations > 50 > calls[0]


def search_in_two_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[BatchSearch, np.ndarray, InferenceEngine]:
    """A search by two cores that leaves compiled code after each answer, positions, a network."""
    game = make_game("corso", size=3)
    monkeypatch.setattr("ludarium.training.search.batch_search.available_cores", lambda: 2)
    monkeypatch.setattr("ludarium.training.search.batch_search._PATIENCE", 0.0)
    search = BatchSearch(game, SearchSettings(simulations=400), 8, seed=0)
    return search, states_of(positions_after(game, 3, 8)), engine_of(game)


def test_ctrl_c_ends_a_search_that_is_under_way(monkeypatch):
    search, states, engine = search_in_two_parts(monkeypatch)
    expected = search.run(states, engine)
    advance = search._advance
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 5:
            _thread.interrupt_main()
        if len(calls) >= 5:
            time.sleep(0.01)  # the main thread looks ten times a second
        return advance(*arguments)

    monkeypatch.setattr(search, "_advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.run(states, engine)
    assert len(calls) < expected.evaluations / 4
    monkeypatch.undo()
    assert_same(search.run(states, engine), expected)


def test_answers_that_are_no_numbers_are_refused_by_name():
    game = make_game("corso", size=3)
    engine = engine_of(game)
    states = states_of(positions_after(game, 3, 5))
    search = BatchSearch(game, SearchSettings(simulations=30), 5, seed=0)
    expected = search.run(states, engine)
    inside = in_search(engine, 1)
    assert inside is not None
    inside.network.arrays.head_bias[:] = np.nan  # the weights of all threads
    with pytest.raises(ValueError, match="InferenceEngine answered logits that are not finite"):
        search.run(states, engine)
    assert_same(search.run(states, engine_of(game)), expected)


def test_answers_of_earlier_weights_are_forgotten():
    game = make_game("corso", size=3)
    engine = engine_of(game)
    states = states_of(positions_after(game, 3, 5))
    agent = NetworkAgent(game, engine, 30)
    before = agent.search(states)
    torch.manual_seed(2)
    engine.update(build_network(network_shape(game), 16, 2))
    found = agent.search(states)
    assert (found.policies != before.policies).any()
    assert_same(found, NetworkAgent(game, engine, 30).search(states))


def test_trees_of_earlier_weights_are_not_gone_on_with():
    game = make_game("corso")
    engine = engine_of(game)
    states = game.start().states
    with one_core():
        kept, fresh = (TimedNetworkAgent(game, engine, 1, lcb=0) for _ in range(2))
        kept.budget = fresh.budget = Budget(simulations=40)
        playing = [GameInPlay(game, 0, 0, 0, states, [])]
        found = []
        for seed in (1, 2):
            torch.manual_seed(seed)
            engine.update(build_network(network_shape(game), 16, 2))
            kept.play(playing, states)
            found.append(playing[0].memory.search.result())
        assert (found[0].policies != found[1].policies).any()
        assert_same(found[1], fresh.search(states))


def test_positions_share_the_memory_with_those_that_are_searched_at_a_time(monkeypatch):
    game, memory = make_game("corso", size=3), []

    def made(*arguments):
        memory.append(arguments[-1])
        return TreeSearch(*arguments)

    with one_core():
        agent = TimedNetworkAgent(game, engine_of(game), 1)
        agent.budget = Budget(simulations=4)
        monkeypatch.setattr("ludarium.training.agents.timed.TreeSearch", made)
        agent.search(game.start().states.repeat(5))
    assert memory == [2**30] * 5
