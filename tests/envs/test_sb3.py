"""Many games as a Stable-Baselines3 environment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from ludarium.envs import Game, Position
from ludarium.envs.opponents import FromArrays
from tests.processes import python

pytest.importorskip("stable_baselines3")

from ludarium.envs.sb3 import BoardGameVecEnv

GAMES_AT_ONCE = 8


def first_legal(_: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return masks.argmax(axis=1)


def some_legal(masks: np.ndarray, random: np.random.Generator) -> np.ndarray:
    return (masks * random.random(masks.shape)).argmax(axis=1)


def play_on(position: Position, action: int, seat: int) -> Position:
    """What the agent's ``action`` and the first legal ones of the opponent make of a position."""
    position.play(action)
    while not position.is_over and position.mover != seat:
        position.play(int(position.legal_actions[0]))
    return position


def test_every_step_is_the_agents_action_and_the_opponents_replies(default_game: Game) -> None:
    env = BoardGameVecEnv(default_game, GAMES_AT_ONCE, opponent=FromArrays(first_legal), seed=3)
    random = np.random.default_rng(0)
    observations = env.reset()
    seats_seen, rewards_seen, ends = set(), set(), 0
    for _ in range(400):
        batch, seats = env.side.batch, env.side.seats.copy()
        seats_seen |= set(seats)
        before = [batch.position(i) for i in range(GAMES_AT_ONCE)]
        assert [position.mover for position in before] == list(seats)
        masks = np.stack(env.env_method("action_masks"))
        np.testing.assert_array_equal(masks, [position.mask for position in before])
        np.testing.assert_array_equal(observations, [p.observation() for p in before])
        actions = some_legal(masks, random)
        observations, rewards, dones, infos = env.step(actions)
        for i, position in enumerate(before):
            expected = play_on(position, int(actions[i]), int(seats[i]))
            assert dones[i] == expected.is_over
            assert rewards[i] == expected.rewards[seats[i]]
            if dones[i]:
                ends += 1
                rewards_seen.add(float(rewards[i]))
                last = infos[i]["terminal_observation"]
                np.testing.assert_array_equal(last, expected.observation(int(seats[i])))
                assert infos[i]["TimeLimit.truncated"] == expected.is_truncated
                assert env.side.seats[i] == 1 - seats[i]
            else:
                assert batch.position(i) == expected
                assert infos[i] == {}
    assert seats_seen == {0, 1}
    assert ends > GAMES_AT_ONCE
    assert rewards_seen >= {1.0, -1.0}


def test_what_is_returned_belongs_to_the_caller() -> None:
    env = BoardGameVecEnv("corso", 4, seed=1, size=3)
    observations = env.reset()
    masks = env.action_masks()
    kept = observations.copy(), masks.copy()
    env.step(masks.argmax(axis=1))
    np.testing.assert_array_equal(observations, kept[0])
    np.testing.assert_array_equal(masks, kept[1])


def test_games_repeat_with_their_seed() -> None:
    def line(seed: int) -> list[bytes]:
        env = BoardGameVecEnv("corso", 6, seed=seed, size=3, seat="random", opening_plies=3)
        found = [env.reset().tobytes()]
        steps = (env.step(env.action_masks().argmax(axis=1)) for _ in range(20))
        return [*found, *(observations.tobytes() for observations, *_ in steps)]

    assert line(1) == line(1)
    assert line(1) != line(2)


def test_openings_are_of_all_lengths_and_leave_games_unfinished() -> None:
    env = BoardGameVecEnv("corso", 400, seed=1, size=3, seat=0, opening_plies=4)
    env.reset()
    states = env.side.batch.states
    assert (states["outcome"] == 0).all()
    assert (states["mover"] == 0).all()
    # Player 0 moves after an even number of plies: of the opening, or one more of the opponent.
    assert set(states["ply"]) == {0, 2, 4}


@pytest.mark.parametrize("wrong", [-1, 101, 2**70, 1.5, True, None])
def test_opening_plies_are_refused_when_it_is_made(wrong: Any) -> None:
    with pytest.raises(ValueError, match="accepted: a whole number from 0 to 100"):
        BoardGameVecEnv("corso", 1, size=3, opening_plies=wrong)


def test_sb3_contribs_ppo_learns_on_it() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    env = BoardGameVecEnv("corso", 8, size=3, seed=0)
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, seed=0)
    before = [weight.clone() for weight in model.policy.parameters()]
    model.learn(256)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": 2}, "seat is 2"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"size": 99}, "'size' is 99"),
    ],
)
def test_arguments_out_of_their_range_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BoardGameVecEnv("corso", **arguments)


def test_what_to_call_before_the_first_game_is_said() -> None:
    env = BoardGameVecEnv("corso", 2)
    for call in (lambda: env.step(np.zeros(2, int)), env.action_masks, env.side.renew):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            call()
    with pytest.raises(ValueError, match="seed is -1"):
        env.seed(-1)
    env.reset()


def test_without_stable_baselines3_the_remedy_is_named() -> None:
    script = (
        "import sys; sys.modules['stable_baselines3.common.vec_env'] = None\n"
        "import ludarium.envs.batch\n"
        "try:\n    import ludarium.envs.sb3\n"
        "except ImportError as error:\n    print(error)"
    )
    assert 'pip install "ludarium[train]"' in python(script, check=True).stdout


def test_with_canonical_the_games_are_in_the_movers_frame() -> None:
    vec_env = BoardGameVecEnv(
        "onyx", 4, size=6, swap_rule=True, canonical=True, illegal="raise", seed=2
    )
    observations = vec_env.reset()
    batch = vec_env.side.batch
    for _ in range(30):
        for number in range(4):
            expected = batch.position(number).observation(canonical=True)
            np.testing.assert_array_equal(observations[number], expected)
        observations, *_ = vec_env.step(vec_env.action_masks().argmax(axis=1))
