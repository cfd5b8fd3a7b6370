"""The checkers of the libraries that the environments are for, where those are installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest

from ludarium.envs import GAMES, make

#: A new game is compiled where it is played first, so the quick tests have one.
each_game = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "corso" else [pytest.mark.slow]) for name in GAMES],
)


def gym_id(name: str) -> str:
    return f"ludarium/{GAMES[name].title}-v{GAMES[name].version}"


@pytest.fixture
def torchrl() -> Iterator[Any]:
    """TorchRL's checker of environments; other warnings than of its own versions are errors."""
    utils = pytest.importorskip("torchrl.envs.utils")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "PettingZoo in TorchRL is tested using version")
        yield utils.check_env_specs


@each_game
def test_torchrl_takes_a_gymnasium_environment_by_name(name: str, torchrl: Any) -> None:
    """It passes ``frameskip`` first, and looks for the words of the TypeError."""
    from torchrl.envs.libs.gym import GymEnv

    torchrl(GymEnv(gym_id(name)))


def test_torchrl_takes_pictures_of_a_gymnasium_environment(torchrl: Any) -> None:
    pytest.importorskip("resvg_py")
    from torchrl.envs.libs.gym import GymEnv

    assert GymEnv(gym_id("corso"), from_pixels=True).reset()["pixels"].shape[-1] == 3


def test_torchrl_takes_many_games(torchrl: Any) -> None:
    from torchrl.envs.libs.gym import GymWrapper

    torchrl(GymWrapper(gymnasium.make_vec(gym_id("corso"), num_envs=3)))


@each_game
def test_torchrl_takes_a_pettingzoo_environment(name: str, torchrl: Any) -> None:
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper

    torchrl(PettingZooWrapper(make(name), use_mask=True))


@each_game
def test_stable_baselines_takes_a_gymnasium_environment(name: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Planes over a board have three dimensions as pictures have.
        warnings.filterwarnings("ignore", r"It seems that your observation|The minimal resolution")
        warnings.filterwarnings("ignore", "Treating image space as channels-last")
        checker.check_env(gymnasium.make(gym_id(name)).unwrapped, skip_render_check=True)


def test_gymnasium_makes_many_games_in_every_way() -> None:
    for mode in ("vector_entry_point", "sync", "async"):
        env = gymnasium.make_vec(
            gym_id("corso"), num_envs=2, vectorization_mode=mode, render_mode=None
        )
        _, infos = env.reset(seed=1)
        observations, *_ = env.step(infos["action_mask"].argmax(axis=1))
        assert observations.shape == (2, 5, 5, 5)
        env.close()
