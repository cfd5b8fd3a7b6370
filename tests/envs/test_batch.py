"""Many games at once: `ludarium.envs.batch` and the threads beneath it."""

from __future__ import annotations

import math
import os
import textwrap
import threading
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from ludarium.base import threads
from ludarium.envs import Game, Position, batch, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.corso import Corso
from ludarium.envs.vector import VectorBoardGameEnv
from tests.games import first_legal
from tests.oddity import Oddity
from tests.processes import python

BUFFERS = (
    "observations",
    "masks",
    "movers",
    "rewards",
    "terminated",
    "truncated",
    "actions",
    "states",
)


def snapshot(games: BatchEnv) -> dict[str, np.ndarray]:
    return {name: getattr(games, name).copy() for name in BUFFERS}


def assert_same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> None:
    for name in BUFFERS:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def played(games: BatchEnv, steps: int) -> dict[str, np.ndarray]:
    """What the buffers hold after each of ``steps`` random steps, one after the other."""
    history = [snapshot(games)]
    for _ in range(steps):
        games.step_random()
        history.append(snapshot(games))
    return {name: np.stack([moment[name] for moment in history]) for name in BUFFERS}


# Playing.


def test_the_buffers_stay_the_same_objects(default_game: Game) -> None:
    games = BatchEnv(default_game, 4, seed=0)
    before = {name: getattr(games, name) for name in BUFFERS if name != "states"}
    games.step_random()
    games.step(games.random_actions())
    games.reset(1)
    games.play([1], games.random_actions()[1:2])
    games.restart([1])
    for name, buffer in before.items():
        assert getattr(games, name) is buffer
        assert np.shares_memory(getattr(games, name), buffer)


def test_the_buffers_have_the_promised_shapes_and_types(default_game: Game) -> None:
    games = BatchEnv(default_game, 5)
    expected: dict[str, tuple[tuple, Any]] = {
        "observations": ((5, *default_game.observation_shape), np.float32),
        "masks": ((5, default_game.num_actions), np.int8),
        "movers": ((5,), np.int8),
        "rewards": ((5, 2), np.float32),
        "terminated": ((5,), np.bool_),
        "truncated": ((5,), np.bool_),
        "actions": ((5,), np.int64),
        "states": ((5,), default_game.state_dtype),
    }
    for name, (shape, dtype) in expected.items():
        assert getattr(games, name).shape == shape
        assert getattr(games, name).dtype == dtype
        assert getattr(games, name).flags.c_contiguous
        assert getattr(games, name).flags.writeable == (name == "states")  # a copy


def test_uint8_observations_equal_those_of_float32(default_game: Game) -> None:
    if not default_game.binary_observation:
        pytest.skip("observations of this game are not binary")
    coarse = BatchEnv(default_game, 16, observation_dtype=np.uint8, seed=5)
    fine = BatchEnv(default_game, 16, seed=5)
    assert coarse.observations.dtype == np.uint8
    for _ in range(40):
        np.testing.assert_array_equal(coarse.observations, fine.observations)
        coarse.step_random()
        fine.step_random()


# Random numbers.


def test_the_same_seed_gives_the_same_games(default_game: Game) -> None:
    first = played(BatchEnv(default_game, 10, seed=7), 60)
    assert_same(first, played(BatchEnv(default_game, 10, seed=7), 60))
    again = BatchEnv(default_game, 10)
    again.reset(7)
    assert_same(first, played(again, 60))


def test_other_seeds_give_other_games(default_game: Game) -> None:
    def line(seed: int | None) -> bytes:
        return played(BatchEnv(default_game, 10, seed=seed), 5)["actions"].tobytes()

    assert len({line(seed) for seed in (0, 1, 2, None, None)}) == 5


def test_games_of_a_batch_differ_from_each_other(default_game: Game) -> None:
    lines = played(BatchEnv(default_game, 10, seed=0), 6)["actions"]
    assert len({tuple(line) for line in lines.T}) == 10


def test_a_reset_without_a_seed_goes_on_with_other_random_numbers(default_game: Game) -> None:
    games = BatchEnv(default_game, 10, seed=0)
    first = played(games, 5)
    games.reset()
    second = played(games, 5)
    assert (second["states"]["ply"][0] == 0).all()
    assert (first["actions"][1:] != second["actions"][1:]).any()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_number_of_threads_changes_nothing(
    default_game: Game, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_WORTH_A_THREAD", 1)
    alone = BatchEnv(default_game, 11, threads=1, seed=4)
    shared = BatchEnv(default_game, 11, threads=count, seed=4)
    assert shared.threads == count
    assert_same(played(alone, 50), played(shared, 50))
    actions = alone.random_actions()
    np.testing.assert_array_equal(actions, shared.random_actions())
    for each in (alone, shared):
        each.step(actions)
    assert_same(snapshot(alone), snapshot(shared))
    actions = alone.random_actions()
    shared.random_actions()
    actions[7] = default_game.num_actions
    with pytest.raises(ValueError, match="game 7: "):
        shared.step(actions)
    assert_same(snapshot(alone), snapshot(shared))


def test_a_batch_too_small_for_threads_has_one() -> None:
    assert batch.make("corso", 4).threads == 1
    assert batch.make("corso", 4, threads=8).threads == 1
    assert batch.make("corso", 1 << 14).threads == threads.available_cores()
    assert batch.make("corso", 1 << 14, threads=1).threads == 1


# Errors.


def test_an_action_that_is_not_legal_now_is_named_with_text_and_reason() -> None:
    games = batch.make("corso", 3, seed=1)
    games.step([6, 7, 8])
    with pytest.raises(ValueError, match="read-only"):
        games.masks[:] = 1
    before = snapshot(games)
    reason = r"game 1: action 7 \(c2!\) is not legal: the marble on c2 is the opponent's"
    with pytest.raises(ValueError, match=reason):
        games.step([0, 7, 8])
    assert_same(before, snapshot(games))


@pytest.mark.parametrize(
    "actions", [[0, 0], [[0, 0, 0]], 0, [0.0, 1.0, 2.0], ["a", "b", "c"], [None] * 3, [True] * 3]
)
def test_what_is_no_list_of_actions_is_refused(actions: Any) -> None:
    games = batch.make("corso", 3, seed=1)
    with pytest.raises(ValueError, match=r"actions must be integers of shape \(3,\)"):
        games.step(actions)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint16, np.uint64, np.int64, list])
def test_actions_may_be_any_integers(kind: Any) -> None:
    games = batch.make("corso", 3, seed=1)
    games.step([4, 5, 6] if kind is list else np.array([4, 5, 6], kind))
    assert games.actions.tolist() == [4, 5, 6]
    assert games.states["ply"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", [-1, "x", 1.5, [], True, math.nan, 2**128])
def test_what_is_no_seed_is_refused_and_changes_nothing(seed: Any) -> None:
    games, twin = (BatchEnv(Oddity(), 3, seed=1) for _ in range(2))
    before = snapshot(games)
    message = "seed is .*; accepted: an integer from 0 to"
    with pytest.raises(ValueError, match=message):
        games.reset(seed)
    with pytest.raises(ValueError, match=message):
        batch.make("corso", 3, seed=seed)
    with pytest.raises(ValueError, match=message):
        make_game("corso").start(seed)
    assert_same(before, snapshot(games))
    for each in (games, twin):
        each.reset()
        each.step_random()
    assert_same(snapshot(games), snapshot(twin))


@pytest.mark.parametrize("index", [-1, 3, "0", 1.0, True])
def test_a_position_is_of_one_of_the_games(index: Any) -> None:
    with pytest.raises(ValueError, match=r"index is .*; accepted: a whole number from 0 to 2"):
        batch.make("corso", 3).position(index)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0; accepted: a whole number from 1 on"),
        ({"num_envs": 10**12}, r"num_envs=1000000000000 would take [\d,.]+ GiB of memory, and "),
        ({"num_envs": 2.0}, r"num_envs is 2\.0"),
        ({"num_envs": 2, "threads": 0}, "threads is 0"),
        ({"num_envs": 2, "threads": True}, "threads is True"),
        ({"num_envs": 2, "observation_dtype": np.int32}, "observation_dtype is .*int32"),
        ({"num_envs": 2, "observation_dtype": "rubbish"}, "observation_dtype is 'rubbish'"),
        ({"num_envs": 2, "canonical": "no"}, "canonical is 'no'; accepted: False or True"),
        ({"num_envs": 2, "size": 1}, "option 'size' is 1"),
    ],
)
def test_arguments_out_of_their_range_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        batch.make("corso", **arguments)


def test_uint8_is_refused_where_observations_are_not_binary() -> None:
    game = Corso()  # of its own, for it is changed
    game.binary_observation = False
    with pytest.raises(ValueError, match="use float32"):
        BatchEnv(game, 2, observation_dtype=np.uint8)


# Some of the games.


def test_some_games_can_be_played_and_restarted_alone(default_game: Game) -> None:
    games = BatchEnv(default_game, 5, seed=2)
    before = snapshot(games)
    finished: Position | None = None
    while finished is None:
        action = int(np.flatnonzero(games.masks[3])[-1])
        position = games.position(3)
        position.play(action)
        games.play([3], [action])
        if position.is_over:
            finished = position
    assert games.position(3) == finished
    assert tuple(games.rewards[3]) == finished.rewards
    assert games.masks[3].sum() == 0
    for player in (0, 1):
        games.observe([3], [player])
        np.testing.assert_array_equal(games.observations[3], finished.observation(player))
    with pytest.raises(ValueError, match=r"game 3: .* the game is over"):
        games.play([3], [0])
    others = [0, 1, 2, 4]
    for name in BUFFERS:
        np.testing.assert_array_equal(getattr(games, name)[others], before[name][others])
    given = {name: getattr(games, name).copy() for name in ("rewards", "terminated")}
    games.restart([0], starts=[games.game.start(0)] * 5)
    for seeds, told in (([5], "seeds has 1 for 2 games"), ([1.5, 2], "seed is 1.5")):
        with pytest.raises(ValueError, match=told):
            games.restart([0, 1], seeds=seeds)
    with pytest.raises(ValueError, match="starts has 1 for 5 games"):
        games.restart([3], starts=[games.game.start(0)])
    for name, values in given.items():  # game 3 keeps its result
        np.testing.assert_array_equal(getattr(games, name), values)
    games.restart([3])
    assert games.states["ply"][3] == 0
    assert games.masks[3].sum() > 0
    assert not games.terminated[3]
    assert not games.rewards[3].any()


# Threads.


def test_work_is_cut_into_even_parts_that_cover_it() -> None:
    for count, parts in ((10, 3), (2, 5), (7, 7), (0, 2), (100, 1)):
        done: list[tuple[int, int]] = []
        threads.parallel_for(lambda begin, end, done=done: done.append((begin, end)), count, parts)
        covered = [i for begin, end in sorted(done) for i in range(begin, end)]
        assert covered == list(range(count))
        sizes = [end - begin for begin, end in done]
        assert max(sizes) - min(sizes) <= 1


def test_an_error_in_a_share_is_raised_when_all_have_ended() -> None:
    ended = []

    def share(begin: int, end: int) -> None:
        if begin == 1:
            raise KeyError("one")
        time.sleep(0.02)
        ended.append(begin)

    for _ in range(3):
        ended.clear()
        with pytest.raises(KeyError, match="one"):
            threads.parallel_for(share, 3, 3)
        assert sorted(ended) == [0, 2]


def test_work_within_work_and_from_two_threads_is_done() -> None:
    done: set[tuple[int, int]] = set()

    def outer(begin: int, end: int) -> None:
        threads.parallel_for(lambda first, last: done.add((begin, first)), 4, 2)

    threads.parallel_for(outer, 3, 3)
    assert done == {(outer, inner) for outer in range(3) for inner in (0, 2)}

    total = []
    callers = [
        threading.Thread(
            target=lambda: [
                threads.parallel_for(lambda *part: total.append(part), 4, 2) for _ in range(50)
            ]
        )
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(300)
    assert len(total) == 4 * 50 * 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_can_use_threads() -> None:
    """In a process of its own: forking the test runner would copy its threads' locks."""
    script = """
        import os, signal, warnings
        from ludarium.envs import batch
        warnings.simplefilter("ignore", DeprecationWarning)  # forking a process with threads
        games = batch.make("corso", 64, threads=3, seed=1)
        twin = batch.make("corso", 64, threads=1, seed=1)
        games.step_random()
        twin.step_random()
        child = os.fork()
        if not child:
            signal.alarm(300)
            for _ in range(20):
                games.step_random()
                twin.step_random()
            os._exit(0 if (games.states == twin.states).all() else 1)
        games.step_random()
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        print("well")
    """
    run = python(textwrap.dedent(script), timeout=500)
    assert run.stdout.strip() == "well", run.stderr


# The Gymnasium vector environment.


def make_vector(**arguments: Any) -> VectorBoardGameEnv:
    return gymnasium.make_vec("ludarium/Corso-v0", **{"num_envs": 12, "size": 3} | arguments)


def test_make_vec_gives_the_vector_environment() -> None:
    vector = make_vector()
    assert isinstance(vector, VectorBoardGameEnv)
    assert vector.num_envs == 12
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert vector.single_action_space == gymnasium.spaces.Discrete(9)
    assert vector.single_observation_space.shape == (5, 3, 3)
    observations, infos = vector.reset(seed=0)
    assert observations in vector.observation_space
    assert infos["action_mask"].shape == (12, 9)
    assert infos["_action_mask"].all()
    assert vector.step(infos["action_mask"].argmax(axis=1))[1].dtype == np.float64
    vector.close()


@pytest.mark.parametrize("canonical", [False, True])
def test_an_agent_may_play_both_sides(canonical: bool) -> None:
    """Each step is a ply; views, rewards and ends are those of positions of their own."""
    games = VectorBoardGameEnv(
        Oddity(), 6, seat="both", canonical=canonical, other_view=True, illegal="raise"
    )
    assert games.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    random = np.random.default_rng(1)
    observations, infos = games.reset(seed=1)
    positions, ended = [games.batch.position(index) for index in range(6)], 0
    while ended < 12:
        for index, position in enumerate(positions):
            mover = position.mover
            assert games.seats[index] == mover
            own, other = (
                position.observation(each, canonical=canonical) for each in (mover, 1 - mover)
            )
            np.testing.assert_array_equal(observations[index], own)
            np.testing.assert_array_equal(infos["other_view"][index], other)
        actions = np.array([random.choice(np.flatnonzero(m)) for m in infos["action_mask"]])
        before = [position.copy() for position in positions]
        for position, action in zip(positions, actions, strict=True):
            position.play(position.turned_action(action) if canonical else action)
        observations, rewards, terminated, truncated, infos = games.step(actions)
        for index, position in enumerate(positions):
            mover = before[index].mover
            assert terminated[index] | truncated[index] == position.is_over
            assert rewards[index] == position.rewards[mover]
            if position.is_over:
                last, info = infos["final_obs"][index], infos["final_info"]
                own, other = (
                    position.observation(each, canonical=canonical)
                    for each in (position.mover, 1 - position.mover)
                )
                np.testing.assert_array_equal(last, own)
                np.testing.assert_array_equal(info["other_view"][index], other)
                positions[index] = games.batch.position(index)
                ended += 1


def test_seats_are_drawn_or_in_turn_from_0_on() -> None:
    games = make_vector(num_envs=400)
    games.reset(seed=3)
    assert abs(games.seats.mean() - 0.5) < 0.1
    assert 0 < games.seats[::2].sum() < 200  # not in turn
    games = make_vector(num_envs=4, seat="alternate")
    for _ in range(2):
        games.reset()
        assert games.seats.tolist() == [0, 1, 0, 1]


def test_with_both_sides_there_is_no_opponent() -> None:
    with pytest.raises(ValueError, match='seat="both" the agent plays both sides: leave out'):
        VectorBoardGameEnv("corso", 2, seat="both", opponent="uct:10")


def test_a_reset_of_some_games_only_is_refused() -> None:
    vector = make_vector()
    vector.reset(seed=0)
    before = snapshot(vector.batch)
    with pytest.raises(ValueError, match="options has reset_mask"):
        vector.reset(options={"reset_mask": np.arange(12) < 3})
    assert_same(before, snapshot(vector.batch))


@pytest.mark.parametrize("limit", [None, 1, 3, 5])
def test_a_limit_of_steps_truncates_as_in_one_game(limit: int | None) -> None:
    """Given to ``make_vec``, or registered with an id of one's own."""
    gymnasium.register(
        id=f"mine/Corso{limit}-v0",
        entry_point="ludarium.envs.single:SingleAgentEnv",
        vector_entry_point="ludarium.envs.vector:VectorBoardGameEnv",
        kwargs={"game": "corso", "size": 3, "seat": 0, "opponent": first_legal},
        max_episode_steps=limit,
    )
    vector = gymnasium.make_vec(f"mine/Corso{limit}-v0", num_envs=2)
    given = make_vector(num_envs=2, seat=0, opponent=first_legal, max_episode_steps=limit or -1)
    single = gymnasium.make(f"mine/Corso{limit}-v0")
    for step in range(14):
        if step % 7 == 0:
            for env in (vector, given, single):
                env.reset(seed=0)
        action = int(single.unwrapped.action_masks().argmax())
        observation, reward, terminated, truncated, info = single.step(action)
        for env in (vector, given):
            found = env.step([action, action])
            for many, one in zip(found[1:4], (reward, terminated, truncated), strict=True):
                assert many.tolist() == [one] * 2
            if terminated or truncated:
                np.testing.assert_array_equal(found[4]["final_obs"][1], observation)
                final = found[4]["final_info"]["action_mask"][1]
                np.testing.assert_array_equal(final, info["action_mask"])
        if terminated or truncated:
            single.reset()
    with pytest.raises(ValueError, match="max_episode_steps is 0; accepted: a whole number from 1"):
        make_vector(max_episode_steps=0)


def test_an_illegal_action_loses_its_game_only() -> None:
    vector = make_vector(seat=0)
    vector.reset(seed=0)
    assert (vector.step([8] * 12)[1] == 0).all()
    before = snapshot(vector.batch)
    for wrong in (-1, 9, 10**9):
        with pytest.raises(ValueError, match=f"game 11: action {wrong} is out of range"):
            vector.step([8] * 11 + [wrong])
        assert_same(before, snapshot(vector.batch))
    taken = [int(np.flatnonzero(mask == 0)[0]) for mask in vector.batch.masks[:3]]
    _, rewards, terminated, _, infos = vector.step([*taken, *[8] * 9])
    assert np.flatnonzero(terminated).tolist() == [0, 1, 2]
    assert rewards.tolist() == [-1] * 3 + [0] * 9
    assert infos["final_obs"][0][4].sum() == 7
    assert infos["final_info"]["illegal_action"].tolist() == [*taken, *[-1] * 9]
    assert not infos["final_info"]["action_mask"].any()
    assert infos["illegal_action"].tolist() == [-1] * 12
    told = {game: f"action {action} " for game, action in enumerate(taken)}
    assert {game: text[:9] for game, text in vector.refusals.items()} == told
    assert (vector.batch.states["ply"] == [0] * 3 + [4] * 9).all()
    vector = make_vector(seat=0, illegal="raise")
    vector.reset(seed=0)
    before = snapshot(vector.batch)
    with pytest.raises(ValueError, match="game 9: action 9 is out of range"):
        vector.step([0] * 9 + [9, 0, 0])
    assert_same(before, snapshot(vector.batch))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"render_mode": "ansi"}, "render_mode is 'ansi'; accepted: None"),
        ({"other_view": "no"}, "other_view is 'no'; accepted: False or True"),
    ],
)
def test_vector_arguments_out_of_their_range_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VectorBoardGameEnv("corso", 2, **arguments)
