"""Many games as a Stable-Baselines3 environment."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from tests.games import after
from tests.processes import python

pytest.importorskip("stable_baselines3")

import torch

from ludarium.envs import sb3
from ludarium.envs.sb3 import BoardGameVecEnv


@pytest.mark.parametrize("wrong", [-1, 101, 2**70, 1.5, True, None])
def test_opening_plies_are_refused_when_it_is_made(wrong: Any) -> None:
    with pytest.raises(ValueError, match="accepted: a whole number from 0 to 100"):
        BoardGameVecEnv("corso", 1, size=3, opening_plies=wrong)


def test_infos_tell_which_action_lost_its_game() -> None:
    env = BoardGameVecEnv("corso", 2, seed=1, size=3, seat=0, canonical=True)
    env.reset()
    env.step(np.array([8, 8]))
    taken = int(np.flatnonzero(~env.action_masks()[1])[0])
    legal = int(np.flatnonzero(env.action_masks()[0])[0])
    infos = env.step(np.array([legal, taken]))[3]
    assert [info["illegal_action"] for info in infos] == [-1, taken]
    assert [info["action_mask"].any() for info in infos] == [True, False]
    assert env.side.refusals.keys() == {1}
    assert f"action {taken} " in env.side.refusals[1]


def test_a_seed_and_positions_count_for_one_reset() -> None:
    env = BoardGameVecEnv("corso", 3, size=3, seed=5, seat=1)
    first, second = env.reset(), env.reset()
    assert (first != second).any()
    env.seed(5)
    np.testing.assert_array_equal(env.reset(), first)
    env = BoardGameVecEnv("corso", 3, size=3, seat=0)
    texts = [after(env.game.start(), 4, action).text for action in (0, 1, 2)]
    env.set_options([{"position": text} for text in texts])
    for begun in (texts, [env.game.start().text] * 3):
        env.reset()
        assert [env.side.batch.position(number).text for number in range(3)] == begun
    env = BoardGameVecEnv("corso", 3, size=3)
    for _ in range(2):
        env.reset()
        assert env.side.seats.tolist() == [0, 1, 0]  # in turn


def test_games_are_asked_one_by_one() -> None:
    env = BoardGameVecEnv("corso", 3, size=3, seed=1)
    env.reset()
    env.step(np.array([mask.argmax() for mask in env.action_masks()]))
    masks = env.env_method("action_masks")
    assert (masks[0] != masks[1]).any()
    for asked, rows in ((1, masks[[1]]), ([2, 1], masks[[2, 1]]), (None, masks)):
        np.testing.assert_array_equal(env.env_method("action_masks", indices=asked), rows)
        assert env.get_attr("num_envs", asked) == [3] * len(rows)
        assert env.get_attr("render_mode", asked) == [None] * len(rows)
        assert env.env_is_wrapped(gymnasium.Wrapper, asked) == [False] * len(rows)
    with pytest.raises(NotImplementedError, match="no attribute 'size' of their own"):
        env.set_attr("size", 4)
    with pytest.raises(AttributeError, match="no method 'render', only action_masks"):
        env.env_method("render")


def test_sb3_contribs_ppo_learns_on_it() -> None:
    contrib = pytest.importorskip("sb3_contrib")
    env = BoardGameVecEnv("corso", 8, size=3, seed=0)
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1, seed=0)
    before = [weight.clone() for weight in model.policy.parameters()]
    model.learn(256)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))


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


def test_threads_that_do_not_pay_are_told_once_unless_they_were_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(sb3, "_has_warned", False)
    try:
        torch.set_num_threads(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            BoardGameVecEnv("corso", 1, size=3)
            torch.set_num_threads(2)
            monkeypatch.setenv("OMP_NUM_THREADS", "2")
            BoardGameVecEnv("corso", 1, size=3)
        monkeypatch.delenv("OMP_NUM_THREADS")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                BoardGameVecEnv("corso", 1, size=3)
        assert ["add torch.set_num_threads(1)" in str(each.message) for each in told] == [True]
    finally:
        torch.set_num_threads(count)
