"""One agent against an opponent: the Gymnasium environments."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from ludarium.envs import GAMES, Game, Position, make_game, opponents
from ludarium.envs.single import SingleAgentEnv
from tests.games import first_legal
from tests.oddity import Oddity
from tests.processes import python
from tests.tictactoe import TicTacToe


def play_one(env: SingleAgentEnv, random: np.random.Generator, seed: int | None = None) -> dict:
    """Play one game of random actions; everything that was returned."""
    observation, info = env.reset(seed=seed)
    seen: dict[str, list] = {"observations": [observation], "masks": [info["action_mask"]]}
    is_over, reward, truncated = False, 0.0, False
    while not is_over:
        action = int(random.choice(np.flatnonzero(info["action_mask"])))
        observation, reward, terminated, truncated, info = env.step(action)
        seen["observations"].append(observation)
        seen["masks"].append(info["action_mask"])
        is_over = terminated or truncated
        assert is_over or reward == 0
    return seen | {"reward": reward, "truncated": truncated}


# Registries.


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seat", [0, 1, "random", "alternate"])
def test_every_game_passes_gymnasiums_check_without_a_warning(name: str, seat: Any) -> None:
    game = GAMES[name]
    env = gymnasium.make(f"ludarium/{game.title}-v{game.version}", seat=seat)
    assert isinstance(env.unwrapped, SingleAgentEnv)
    assert env.unwrapped.game == game()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)


def test_make_takes_the_options_of_the_game() -> None:
    env = gymnasium.make("ludarium/Corso-v0", size=3)
    assert isinstance(env.unwrapped, SingleAgentEnv)
    assert env.unwrapped.game == make_game("corso", size=3)
    with pytest.raises(ValueError, match="option 'size' is 30"):
        gymnasium.make("ludarium/Corso-v0", size=30)


def test_pettingzoos_registry_makes_every_game() -> None:
    pytest.importorskip("pettingzoo.env_registry")
    for name, game in GAMES.items():
        env = pettingzoo.make("aec", f"ludarium/{name}-v{game.version}")
        assert env.unwrapped.game == game()


def test_older_pettingzoos_without_a_registry_are_enough() -> None:
    script = (
        "import sys, pettingzoo\n"
        "sys.modules['pettingzoo.env_registry.registration'] = None\n"
        "import ludarium.envs, gymnasium; gymnasium.make('ludarium/Corso-v0')"
    )
    python(script, check=True, timeout=500)


# Playing.


def test_what_is_returned_has_the_promised_form(default_game: Game) -> None:
    env = SingleAgentEnv(default_game)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation.dtype == np.float32
    assert info["action_mask"].dtype == np.int8
    assert env.action_masks().dtype == np.bool_
    np.testing.assert_array_equal(env.action_masks(), info["action_mask"])
    seen = play_one(env, np.random.default_rng(0), seed=0)
    assert all(observation in env.observation_space for observation in seen["observations"])
    assert all(mask.any() for mask in seen["masks"][:-1])
    assert not seen["masks"][-1].any()
    assert type(seen["reward"]) is float


def test_seats() -> None:
    def seats(seat: Any, seed: int | None = 0) -> list[int]:
        env = SingleAgentEnv("corso", size=3, seat=seat)
        env.reset(seed=seed)
        taken = [env.seat]
        for _ in range(19):
            env.reset()
            taken.append(env.seat)
        return taken

    assert seats(0) == [0] * 20
    assert seats(1) == [1] * 20
    assert seats("alternate") == [0, 1] * 10
    assert seats("alternate", None) == [0, 1] * 10
    assert set(seats("random")) == {0, 1}
    assert seats("random") == seats("random")
    env = SingleAgentEnv("corso", seat="alternate")
    env.reset()
    env.reset()
    env.reset(seed=5)
    assert env.seat == 0
    usual = SingleAgentEnv("corso")
    assert {usual.reset(seed=seed) and usual.seat for seed in range(9)} == {0, 1}  # drawn


def test_a_random_opponent_draws_among_all_its_actions_evenly() -> None:
    env, counts = SingleAgentEnv(TicTacToe(), seat=1), np.zeros(9, int)
    env.reset(seed=2)
    for _ in range(1800):
        counts += env.reset()[1]["action_mask"] == 0
    assert counts.sum() == 1800
    assert np.abs(counts - 200).max() < 60


def test_games_begin_at_starts_of_their_own() -> None:
    env = SingleAgentEnv(Oddity(), seat=0)
    assert len({env.reset()[0].tobytes() for _ in range(30)}) > 9


# Opponents.


class Recorder:
    """Stands for the training package's agents."""

    made: list[tuple] = []

    def __init__(self, spec: str, game: Game, seed: int) -> None:
        if spec != "known:3":
            raise ValueError(f"{spec!r} names no agent")
        self.made.append((spec, game, seed))

    def choose(self, position: Position) -> int:
        return first_legal(position)


class EntryPoint:
    def load(self) -> type:
        return Recorder


def test_other_names_are_made_by_the_installed_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    Recorder.made.clear()
    asked = []

    def entry_points(**wanted: str) -> list[EntryPoint]:
        asked.append(wanted)
        return [EntryPoint()]

    monkeypatch.setattr(opponents, "entry_points", entry_points)
    env = SingleAgentEnv("corso", size=3, opponent="known:3", seat=1)
    assert Recorder.made == [("known:3", env.game, None)]
    env.reset(seed=1)
    env.reset()
    env.reset(seed=1)
    env.reset(seed=2)
    assert asked[0] == {"group": "ludarium.opponents", "name": "make_agent"}
    assert [made[:2] for made in Recorder.made] == [("known:3", env.game)] * 4
    first, again, other = (made[2] for made in Recorder.made[1:])
    assert first == again != other  # seeded again by a reset with a seed
    play_one(env, np.random.default_rng(0))
    with pytest.raises(ValueError, match="'unknown' names no agent"):
        SingleAgentEnv("corso", opponent="unknown")


def test_without_the_training_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        def load(self) -> None:
            raise ModuleNotFoundError("No module named 'torch'")

    for found in ([], [Broken()]):
        monkeypatch.setattr(opponents, "entry_points", lambda found=found, **_: found)
        with pytest.raises(ImportError, match=r'pip install "ludarium\[train\]"'):
            SingleAgentEnv("corso", opponent="uct:10")


# Errors.


def test_an_illegal_action_loses_the_game() -> None:
    env = SingleAgentEnv("corso", size=3, seat=0, opponent=first_legal)
    env.reset(seed=0)
    env.step(np.array(8))
    before = env.aec.position
    observation, reward, terminated, truncated, info = env.step(np.int64(0))
    assert (reward, terminated, truncated) == (-1, True, False)
    reason = "action 0 (a1!) is not legal: the marble on a1 is the opponent's"
    assert env.refusal.startswith(reason)
    assert info["illegal_action"] == 0
    assert not info["action_mask"].any()
    assert not env.action_masks().any()
    assert env.aec.position == before
    record = env.aec.to_record()
    assert (record["result"], record["illegal_action"]) == ([-1, 1], "a1")
    assert observation in env.observation_space
    with pytest.raises(ResetNeeded):
        env.step(1)


def test_an_illegal_action_can_raise_and_change_nothing() -> None:
    env = SingleAgentEnv("corso", size=3, seat=0, opponent=first_legal, illegal="raise")
    env.reset(seed=0)
    env.step(8)
    before = env.aec.position.copy()
    with pytest.raises(ValueError, match=r"action 0 \(a1!\) is not legal"):
        env.step(0)
    assert env.aec.position == before
    _, reward, terminated, _, _ = env.step(4)
    assert (reward, terminated) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "chess"}, "no game is called 'chess'"),
        ({"game": 7}, "game is 7; accepted"),
        ({"game": "corso", "render_mode": "ascii"}, "render_mode is 'ascii'"),
    ],
)
def test_arguments_out_of_their_range_are_named(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SingleAgentEnv(**arguments)


def test_options_go_with_a_name_only() -> None:
    words = r"got an unexpected keyword argument 'size': options go with a game's name"
    with pytest.raises(TypeError, match=words):
        SingleAgentEnv(make_game("corso"), size=3)


# Pictures.


def test_render_modes() -> None:
    env = SingleAgentEnv("corso", size=3, seat=0, render_mode="ansi", opponent=first_legal)
    env.reset(seed=0)
    env.step(8)
    assert env.render() == env.aec.position.board_text()
