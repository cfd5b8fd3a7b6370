"""Copies, pickles, threads and processes: what is one's own stays so, whatever runs beside it."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import pytest

from ludarium.envs.aec import GuardedBoardGameEnv
from ludarium.envs.batch import BatchEnv
from ludarium.envs.single import SingleAgentEnv
from tests.tictactoe import TicTacToe

ENVIRONMENTS = 1000
MOST_BYTES_EACH = 30_000  # of an environment of tic-tac-toe

COPIES = [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


each_copy = pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])


@each_copy
def test_a_batch_and_its_copy_go_separate_ways(game: TicTacToe, copied: Callable) -> None:
    batch = BatchEnv(game, 3, seed=1)
    batch.step([4, 4, 4])
    twin = copied(batch)
    twin.step([0, 0, 0])
    assert batch.states["ply"].tolist() == batch.movers.tolist() == [1, 1, 1]
    assert batch.masks[:, 0].all()
    assert twin.states["ply"].tolist() == [2, 2, 2]
    assert twin.movers.tolist() == [0, 0, 0]
    assert not twin.masks[:, 0].any()
    assert (twin.observations != batch.observations).any()
    with pytest.raises(ValueError, match="is taken"):
        twin.step([0, 0, 0])
    batch.step([0, 0, 0])
    assert (batch.random_actions() == twin.random_actions()).all()


@each_copy
def test_a_shallow_copy_of_a_batch_is_the_same_games(game: TicTacToe, copied: Callable) -> None:
    batch = BatchEnv(game, 2, seed=1)
    twin = copy.copy(copied(batch))
    twin.step([4, 4])
    assert not twin.masks[:, 4].any()


def test_a_thousand_environments_at_once_take_little_memory(game: TicTacToe) -> None:
    """As Python and numpy count it: 9 KB each, measured."""
    import tracemalloc

    tracemalloc.start()
    try:
        environments = [GuardedBoardGameEnv(game) for _ in range(ENVIRONMENTS)]
        for env in environments:
            env.reset()
            env.step(4)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"{taken / ENVIRONMENTS:,.0f} bytes each")
    assert taken < ENVIRONMENTS * MOST_BYTES_EACH


def _play(game: TicTacToe, seed: int) -> list[bytes]:
    """Some steps of random games: the masks after each."""
    batch = BatchEnv(game, 16, seed=seed, threads=2)
    seen = []
    for _ in range(30):
        batch.step_random()
        seen.append(batch.masks.tobytes())
    return seen


def test_batches_in_threads_play_as_they_do_alone(game: TicTacToe) -> None:
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: _play(game, seed), range(16)))
    assert together == [_play(game, seed) for seed in range(16)]


def _make(opponent: Any = "random") -> SingleAgentEnv:
    return SingleAgentEnv(TicTacToe(), opponent=opponent, seat=0)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_gymnasium_processes_however_they_begin(context: str) -> None:
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {context}")
    env = gymnasium.vector.AsyncVectorEnv([_make, _make], context=context)
    try:
        observations, infos = env.reset(seed=1)
        for _ in range(10):
            actions = infos["action_mask"].argmax(axis=1)
            observations, _, _, _, infos = env.step(actions)
        assert observations.shape == (2, 3, 3, 3)
    finally:
        env.close()


def _in_process(seed: int) -> list[bytes]:
    return _play(TicTacToe(), seed)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_batches_in_processes_play_as_they_do_here(game: TicTacToe, context: str) -> None:
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {context}")
    _play(game, 0)  # threads that a fork would be without
    with multiprocessing.get_context(context).Pool(2) as pool:
        found = pool.map_async(_in_process, range(4)).get(timeout=300)
    assert found == [_play(game, seed) for seed in range(4)]
