"""The memory of the network's answers: nothing but the number of evaluations may change."""

from __future__ import annotations

import numpy as np
import pytest

from ludarium.envs import make_game
from ludarium.models import Evaluation
from ludarium.training.search import BatchSearch, SearchSettings
from ludarium.training.search.cache import NO_SLOT, hash_of, new_cache
from tests.games import positions_after, slow_but, states_of
from tests.kernels import compiled

from .test_search import random_network

GAMES = {"corso": {"size": 3}, "onyx": {"size": 6}, "obelisk": {}}


class OneByOne:
    """An evaluator whose answers do not depend on what else is asked at the same time."""

    def __init__(self, seed: int, num_actions: int) -> None:
        self.network = random_network(seed, num_actions)
        self.asked: list[bytes] = []

    def __call__(self, observations):
        self.asked += [observation.tobytes() for observation in observations]
        answers = [self.network(observation[None]) for observation in observations]
        return Evaluation(*(np.concatenate(arrays) for arrays in zip(*answers, strict=True)))


@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
@pytest.mark.parametrize("name", slow_but(["corso"], GAMES))
def test_search_finds_the_same_with_fewer_evaluations(name, algorithm):
    game = make_game(name, **GAMES[name])
    states = states_of(positions_after(game, 2, 6))
    settings = SearchSettings(simulations=60, algorithm=algorithm)
    plain, cached = OneByOne(1, game.num_actions), OneByOne(1, game.num_actions)
    without = BatchSearch(game, settings, 4, seed=0)
    with_cache = BatchSearch(game, settings, 4, seed=0, cache=8)
    for _ in range(2):
        expected = without.run(states, plain)
        found = with_cache.run(states, cached)
        for field in ("actions", "policies", "values", "visits", "proven"):
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
        assert found.simulations == expected.simulations
    assert found.evaluations < expected.evaluations / 10  # the second time, all but the roots
    # What was not asked again had been asked before: the cache makes nothing up.
    assert set(cached.asked) == set(plain.asked)
    assert len(cached.asked) < len(plain.asked)


def test_transpositions_are_evaluated_once():
    game = make_game("corso", size=3)
    settings = SearchSettings(simulations=400, solver=False)
    evaluator = OneByOne(1, game.num_actions)
    BatchSearch(game, settings, 1, seed=0, cache=8).run(game.start().states, evaluator)
    assert len(evaluator.asked) == len(set(evaluator.asked)) < 390


def test_another_network_is_asked_about_everything():
    game = make_game("corso", size=3)
    states = states_of(positions_after(game, 2, 5))
    settings = SearchSettings(simulations=30)
    search = BatchSearch(game, settings, 5, seed=0, cache=8)
    search.run(states, OneByOne(1, 9))
    other = OneByOne(2, 9)
    found = search.run(states, other)
    expected = BatchSearch(game, settings, 5, seed=0).run(states, OneByOne(2, 9))
    np.testing.assert_array_equal(found.policies, expected.policies)
    np.testing.assert_array_equal(found.values, expected.values)


def filled(observations: np.ndarray, megabytes: float):
    """A cache that was told, for each observation, its row as the answer."""
    cache = new_cache(observations, 3, megabytes)
    for row in range(len(observations)):
        compiled.set_request(cache, row)
        compiled.store(cache, row, answer_of(row), 0)
    return cache


def answer_of(number: int, actions: int = 3) -> Evaluation:
    """An evaluation of one observation, all numbers of which are the same."""
    return Evaluation(*(np.full_like(each, number) for each in Evaluation.empty(1, actions)))


def test_a_full_cache_keeps_what_was_used_last():
    observations = np.random.default_rng(0).random((2000, 7), np.float32)
    cache = filled(observations, 0.01)
    slots = len(cache.answers.logits)
    assert 0 < slots <= 0.01 * 2**20 / 44 < 400
    kept = [row for row in range(2000) if compiled.lookup(cache, row) != NO_SLOT]
    assert len(kept) == slots
    assert min(kept) > 2000 - 4 * slots
    for row in kept:
        assert cache.answers.score[compiled.lookup(cache, row)] == row


def test_the_answer_not_used_longest_makes_room():
    observations = np.random.default_rng(0).random((6, 7), np.float32)
    cache = new_cache(observations, 3, 4 * 44 / 2**20)
    assert len(cache.answers.score) == 4
    for row in range(6):
        compiled.set_request(cache, row)
    for row in (0, 1, 2, 3):
        compiled.store(cache, row, answer_of(row), 0)
    compiled.lookup(cache, 0)
    compiled.store(cache, 1, answer_of(1), 0)  # once more, as two games side by side do
    compiled.store(cache, 4, answer_of(4), 0)
    compiled.store(cache, 5, answer_of(5), 0)
    assert [compiled.lookup(cache, row) != NO_SLOT for row in range(6)] == [
        True, True, False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("numbers", [(0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 1 / 3, 2 / 3)])
def test_keys_differ_and_are_spread_evenly(numbers):
    """Of planes with few different numbers, whose bits are mostly 0."""
    rng = np.random.default_rng(3)
    observations = np.unique(rng.choice(numbers, (20_000, 40)).astype(np.float32), axis=0)
    cache = new_cache(observations, 1, 0)
    with np.errstate(over="ignore"):  # a hash wraps round
        keys = np.array([hash_of(words, cache.multipliers) for words in cache.words], np.uint64)
    assert len(set(keys)) == len(observations)
    for shift in (0, 8, 31, 56):
        counts = np.bincount((keys >> np.uint64(shift)).astype(np.int64) & 255, minlength=256)
        expected = len(keys) / 256
        assert ((counts - expected) ** 2 / expected).sum() < 360  # 255 on average, +- 23
