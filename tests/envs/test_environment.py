"""The PettingZoo environment of every game: its contract, its guards, its copies, its records."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from functools import cache, partial
from math import ceil
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.classic.connect_four.connect_four import raw_env as connect_four
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

import ludarium.envs
from ludarium.envs import GAMES, Game, batch, from_record, make, make_game, make_raw
from ludarium.envs.aec import BoardGameEnv, GuardedBoardGameEnv
from ludarium.envs.single import SingleAgentEnv
from tests.oddity import Oddity
from tests.processes import python
from tests.tictactoe import TicTacToe

AGENTS = ["player_0", "player_1"]
MAKERS = pytest.mark.parametrize("maker", [make, make_raw])
Maker = Callable[..., BoardGameEnv]


def is_over(env: BoardGameEnv) -> bool:
    return not env.agents or any(env.terminations.values()) or any(env.truncations.values())


def play_random(env: BoardGameEnv, seed: int, plies: int = 10**6) -> None:
    random = np.random.default_rng(seed)
    for _ in range(plies):
        legal = np.flatnonzero(env.infos[env.agent_selection]["action_mask"])
        if not len(legal):
            break
        env.step(int(random.choice(legal)))


def everything(env: BoardGameEnv) -> dict[str, Any]:
    """All that can be seen of an environment, to compare it before and after."""
    return {
        "state": env.state().tolist(),
        "agents": list(env.agents),
        "agent_selection": env.agent_selection,
        "rewards": dict(env.rewards),
        "cumulative": dict(env._cumulative_rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": {
            agent: {name: value.tolist() for name, value in info.items()}
            for agent, info in env.infos.items()
        },
        "observations": {
            agent: {name: value.tolist() for name, value in env.observe(agent).items()}
            for agent in AGENTS
        },
        "record": env.unwrapped.to_record(),
        "board": env.unwrapped.board_text(),
    }


# PettingZoo's own tests.


@cache
def warnings_of_a_classic_game() -> set[str]:
    """What the API test says of Connect Four once its name is not on the test's own list."""
    env = connect_four()
    env.metadata = {**env.metadata, "name": "a_game_of_no_repute_v0"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=60)
    return {str(warning.message) for warning in caught}


DICT_OBSERVATION = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
}
NO_LEGAL_ACTION_AT_THE_END = {"Action mask numpy array is all zeros (no legal actions)."}


@MAKERS
def test_api(game: Game, maker: Maker) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(maker(game.name, **game.options), num_cycles=60)
    texts = {str(warning.message) for warning in caught}
    assert texts <= DICT_OBSERVATION | NO_LEGAL_ACTION_AT_THE_END
    assert texts & DICT_OBSERVATION <= warnings_of_a_classic_game()


@MAKERS
def test_seeds(game: Game, maker: Maker) -> None:
    seed_test(lambda: maker(game.name, **game.options), num_cycles=100)


@MAKERS
def test_render(default_game: Game, maker: Maker) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")

    def quick(render_mode: str) -> BoardGameEnv:
        env = maker(default_game.name, render_mode=render_mode)
        env.metadata["render_fps"] = 10**6
        return env

    def is_svg(picture: object) -> bool:
        return isinstance(picture, str) and picture.startswith("<svg")

    render_test(quick, custom_tests={"svg": is_svg})


def test_pixels_have_the_size_of_the_drawing(default_game: Game) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")
    env = make(default_game.name, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    play_random(env, 0, plies=2)
    picture = env.render()
    assert picture.dtype == np.uint8
    svg = env.position.svg()
    width, height = (float(svg.split(f'{side}="')[1].split('"')[0]) for side in ("width", "height"))
    assert picture.shape == (2 * ceil(round(height) / 2), 2 * ceil(round(width) / 2), 3)
    assert (picture != before).any()
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 5


def test_rendering_needs_a_known_mode() -> None:
    env = make("corso")
    env.reset()
    with pytest.raises(ValueError, match=r"render_mode=\"ansi\""):
        env.render()
    with pytest.raises(ValueError, match=r"render_mode is 'png'; accepted: human, rgb_array"):
        make("corso", render_mode="png")
    for long in ("x" * 10_000, 10**5000):
        with pytest.raises(ValueError, match=r"render_mode is .*; accepted") as caught:
            make("corso", render_mode=long)
        assert len(str(caught.value)) < 200


def test_the_window_can_be_closed_twice_and_opened_again() -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")
    env = make("corso", render_mode="human")
    env.metadata["render_fps"] = 10**6
    env.close()
    env.reset()
    for _ in range(2):
        env.render()
        env.close()
        env.close()


def test_text_and_drawing_show_the_position() -> None:
    env = make("corso", render_mode="ansi", size=3)
    env.reset()
    env.step(4)
    board, _, standing = env.render().rpartition("\n")
    assert board == "3 . . .\n2 . O .\n1 . . .\n  a b c"
    assert standing.startswith("player_1 to move")
    drawn = make("corso", render_mode="svg", size=3)
    drawn.reset()
    start = drawn.position
    for action in (4, 0):
        before = drawn.position
        drawn.step(action)
        assert drawn.render() == drawn.position.svg(action, before)
    assert drawn.render() != drawn.position.svg(action, start)


def test_each_window_is_closed_alone() -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")
    first, second = (make(name, render_mode="human") for name in ("corso", "onyx"))
    for env in (first, second):
        env.metadata["render_fps"] = 10**6
        env.reset()
        env.render()
    second.close()
    shown = first._window._window.get_surface().get_buffer().raw
    first.step(12)
    assert first._window._window.get_surface().get_buffer().raw != shown
    first.close()


# What the agents are given.


@MAKERS
@pytest.mark.parametrize("seed", range(3))
def test_game_goes_from_reset_to_the_end(game: Game, maker: Maker, seed: int) -> None:
    env = maker(game.name, **game.options)
    env.reset(seed=seed)
    position = game.start(seed)
    random = np.random.default_rng(seed)
    while not position.is_over and position.ply < 300:
        agent, waiting = (AGENTS[player] for player in (position.mover, 1 - position.mover))
        observation, reward, terminated, truncated, info = env.last()
        assert env.agent_selection == agent
        assert (reward, terminated, truncated) == (0, False, False)
        assert env.rewards == {"player_0": 0, "player_1": 0}
        np.testing.assert_array_equal(observation["observation"], position.observation())
        np.testing.assert_array_equal(observation["action_mask"], position.mask)
        np.testing.assert_array_equal(info["action_mask"], position.mask)
        seen = env.observe(waiting)
        np.testing.assert_array_equal(seen["observation"], position.observation(1 - position.mover))
        assert not seen["action_mask"].any()
        assert not env.infos[waiting]["action_mask"].any()
        assert env.observation_space(waiting).contains(seen)
        action = int(random.choice(position.legal_actions))
        env.step(action)
        position.play(action)
    if position.is_over:
        assert env.rewards == dict(zip(AGENTS, position.rewards, strict=True))
        assert env.truncations == dict.fromkeys(AGENTS, position.is_truncated)
        assert env.terminations == dict.fromkeys(AGENTS, not position.is_truncated)
        for _ in AGENTS:
            agent = env.agent_selection
            observation, reward, *_ = env.last()
            assert reward == position.rewards[AGENTS.index(agent)]
            assert not observation["action_mask"].any()
            env.step(None)
        assert env.agents == []
        assert not env.observe("player_0")["action_mask"].any()
        assert not env.observe("player_1")["action_mask"].any()


def test_state_tells_positions_apart(default_game: Game) -> None:
    env = make(default_game.name)
    env.reset(seed=0)
    states = {env.state().tobytes()}
    assert env.state().dtype == np.int32
    while not is_over(env):
        play_random(env, len(states), plies=1)
        states.add(env.state().tobytes())
    assert len(states) == env.position.ply + 1


def test_state_has_every_bit_of_a_wide_field() -> None:
    env = make("osiron")
    env.reset()
    states = env._current()._states
    seen = set()
    for bit in (0, 31, 32, 50):
        states["mixed"] = 1 << bit
        seen.add(env.state().tobytes())
    assert len(seen) == 4


def test_resets_without_a_seed_go_on_from_the_last_seed() -> None:
    def boards(env: BoardGameEnv, seed: int = 5) -> list[str]:
        env.reset(seed=seed)
        seen = [env.board_text()]
        for _ in range(5):
            env.reset()
            seen.append(env.board_text())
        return seen

    env = BoardGameEnv(Oddity())
    first = boards(env)
    assert boards(env) == boards(BoardGameEnv(Oddity())) == first
    assert len(set(first)) > 2
    assert boards(env, seed=6)[1:] != first[1:]


def test_reaching_the_ply_cap_is_a_truncation_and_a_draw() -> None:
    env = BoardGameEnv(Oddity(max_plies=1))
    env.reset(seed=0)
    env.step(env.text_to_action("b1"))
    assert env.truncations == dict.fromkeys(AGENTS, True)
    assert env.terminations == dict.fromkeys(AGENTS, False)
    assert env.rewards == dict.fromkeys(AGENTS, 0)
    assert env.position.is_truncated


# Illegal actions.


def an_illegal_action(env: BoardGameEnv) -> int | None:
    refused = np.flatnonzero(env.position.mask == 0)
    return int(refused[-1]) if len(refused) else None


def test_raw_environment_refuses_an_illegal_action_and_changes_nothing(game: Game) -> None:
    env = make_raw(game.name, **game.options)
    env.reset(seed=3)
    random, refused = np.random.default_rng(3), 0
    while not is_over(env) and refused < 10:
        before = everything(env)
        action = an_illegal_action(env)
        if action is not None:
            refused += 1
            with pytest.raises(ValueError, match=r"is not legal: ") as refusal:
                env.step(action)
            message = str(refusal.value)
            assert f"action {action} ({env.action_to_text(action)})" in message
            assert message.rpartition("is not legal: ")[2]
        assert everything(env) == before
        env.step(int(random.choice(env.position.legal_actions)))
    assert refused


def test_raw_environment_after_the_end_takes_only_none() -> None:
    env = make_raw("corso", size=2)
    env.reset()
    play_random(env, 0)
    before = everything(env)
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(0)
    assert everything(env) == before


# Not True nor np.uint64(1): both are action 1 here, where the wrappers fall over one as an index
# and refuse the other.
ODD_ACTIONS: list[Any] = [-1, 10**9, 2**70, None, 1.0, "a1", np.bool_(True), np.float32(0)]
ODD_ACTIONS += [np.array(0), np.array([0]), [0], np.int8(0), np.uint8(1), object()]


def wrapped(game: Game) -> AECEnv:
    """The raw environment under the wrappers that PettingZoo's classic games come in."""
    env: Any = BoardGameEnv(game)
    env = TerminateIllegalWrapper(env, illegal_reward=-1)
    env = AssertOutOfBoundsWrapper(env)
    return OrderEnforcingWrapper(env)


def attempt(env: Any, do: Callable[[Any], Any]) -> dict[str, Any]:
    """Everything that a caller can notice of a call."""
    EnvLogger.flush()
    raised, result = None, None
    try:
        result = do(env)
    except ResetNeeded:
        raised = KeyError  # so the wrappers, where we say what to call
    except OverflowError:
        raised = AssertionError  # what Gymnasium 1.1 says of 2**70
    except Exception as error:
        raised = type(error)
    seen: dict[str, Any] = {"raised": raised, "warned": list(EnvLogger.mqueue), "result": result}
    for name in ("agents", "rewards", "terminations", "truncations", "num_agents"):
        try:
            seen[name] = copy.copy(getattr(env, name))
        except AttributeError:
            seen[name] = "not yet"
    if env.unwrapped._position is not None:
        seen["agent_selection"] = env.agent_selection
        seen["cumulative"] = dict(env.unwrapped._cumulative_rewards)
        seen["board"] = env.unwrapped.board_text()
        seen["infos"] = {agent: info["action_mask"].tolist() for agent, info in env.infos.items()}
    return seen


def choose(random: np.random.Generator, env: GuardedBoardGameEnv) -> Any:
    """Mostly a legal action, now and then an illegal or an odd one."""
    dice = random.random()
    if is_over(env):
        return None if dice < 0.8 else ODD_ACTIONS[random.integers(len(ODD_ACTIONS))]
    if dice < 0.8:
        return int(random.choice(env.position.legal_actions))
    if dice < 0.9:
        return int(random.integers(env.game.num_actions))
    return ODD_ACTIONS[random.integers(len(ODD_ACTIONS))]


def plain(observation: Any) -> Any:
    return {name: array.tolist() for name, array in observation.items()}


def stepping(action: Any) -> Callable[[Any], Any]:
    return lambda env: env.step(action)


CALLS: list[Callable[[Any], Any]] = [
    lambda env: plain(env.observe("player_0")),
    lambda env: plain(env.observe("player_1")),
    lambda env: env.state().tolist(),
    lambda env: plain(env.last()[0]),
    lambda env: env.last(observe=False)[1:4],
    lambda env: env.render(),
    lambda env: list(zip(range(1), env.agent_iter(), strict=False)),
]


def test_guards_are_those_of_the_usual_wrappers(game: Game) -> None:
    """Step by step the same rewards, ends, errors and warnings, whatever is done."""
    raised, warned = set(), set()
    for seed in range(25):
        random = np.random.default_rng(seed)
        ours, theirs = GuardedBoardGameEnv(game), wrapped(game)
        for call in CALLS:
            assert attempt(ours, call)["raised"] is attempt(theirs, call)["raised"]
        for each in (ours, theirs):
            each.reset(seed=seed)
        for _ in range(30):
            for index in random.permutation(len(CALLS))[:2]:
                assert attempt(ours, CALLS[index]) == attempt(theirs, CALLS[index])
            action = choose(random, ours)
            seen = attempt(ours, stepping(action))
            assert seen == attempt(theirs, stepping(action)), action
            raised.add(seen["raised"])
            warned.update(seen["warned"])
    assert {None, AssertionError, ValueError} <= raised
    assert any("Illegal move" in text for text in warned)
    assert any("after all agents are terminated" in text for text in warned)


def test_attributes_of_a_game_are_refused_before_reset() -> None:
    env = make("corso")
    for name in ("agents", "rewards", "infos", "agent_selection", "num_agents"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)


@MAKERS
def test_what_to_call_before_and_after_a_game_is_said(maker: Maker) -> None:
    env = maker("corso", size=2, render_mode="ansi")
    calls: list[Callable] = [
        *(env.to_record, env.board_text, env.mask, env.state, env.render, env.last),
        *(lambda: env.step(0), lambda: env.observe("player_0"), lambda: env.moves),
        *(lambda: env.action_to_text(0), lambda: env.text_to_action("a1"), lambda: env.position),
    ]
    for call in calls:
        with pytest.raises((ResetNeeded, AttributeError, AssertionError), match="reset"):
            call()
    env.reset()
    play_random(env, 0)
    for _ in AGENTS:
        env.step(None)
    for call in calls[:5]:
        call()
    with pytest.raises(ResetNeeded, match=r"the game is over: call reset\(\) first"):
        env.last()
    if maker is make_raw:
        with pytest.raises(ResetNeeded, match=r"the game is over: call reset\(\) first"):
            env.step(None)
    env.close()
    env.reset()
    env.step(0)


@MAKERS
@pytest.mark.parametrize("seed", [-1, 2**128, 1.0, "1", [1]])
def test_a_seed_that_is_none_is_refused_and_changes_nothing(maker: Maker, seed: Any) -> None:
    kind = GuardedBoardGameEnv if maker is make else BoardGameEnv
    env, twin = kind(Oddity()), kind(Oddity())
    for each in (env, twin):
        each.reset(seed=5)
        play_random(each, 0, plies=1)
    with pytest.raises(ValueError, match=r"seed is .*; accepted: an integer from 0"):
        env.reset(seed=seed)
    assert everything(env) == everything(twin)
    for each in (env, twin):
        each.reset()
    assert everything(env) == everything(twin)


def test_a_loop_over_agents_must_step() -> None:
    env = make("corso")
    env.reset()
    with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
        for _ in env.agent_iter():
            pass


# Copies.


@pytest.mark.parametrize("duplicate", [lambda env: env.clone(), copy.deepcopy])
def test_a_copy_has_spaces_and_random_numbers_of_its_own(duplicate: Callable) -> None:
    env = make("corso")
    env.reset(seed=1)
    env.action_space("player_0").seed(1)
    twin = duplicate(env)
    spaces = [each.action_space("player_0") for each in (env, twin)]
    assert spaces[0] is not spaces[1]
    drawn = [spaces[0].sample() for _ in range(10)]
    assert [spaces[1].sample() for _ in range(10)] == drawn
    assert twin.observation_space("player_1") is not env.observation_space("player_1")


@MAKERS
@pytest.mark.parametrize(
    "duplicate",
    [
        lambda env: env.clone(),
        copy.deepcopy,
        lambda env: pickle.loads(pickle.dumps(env)),
    ],
    ids=["clone", "deepcopy", "pickle"],
)
def test_copies_are_equal_and_independent(
    game: Game, maker: Maker, duplicate: Callable[[BoardGameEnv], BoardGameEnv]
) -> None:
    env = maker(game.name, **game.options)
    duplicate(env).reset()
    env.reset(seed=4)
    for plies in (0, 1, 5, 300):
        play_random(env, plies, plies)
        twin = duplicate(env)
        assert type(twin) is type(env)
        before = everything(env)
        assert everything(twin) == before
        play_random(twin, 99)
        if is_over(twin):
            twin.step(None)
        assert everything(env) == before
        twin.reset()
        assert everything(env) == before
    ahead = duplicate(env)
    env.reset()
    ahead.reset()
    assert everything(ahead) == everything(env)


@pytest.mark.parametrize("duplicate", [lambda env: env.clone(), copy.deepcopy])
def test_a_copy_of_an_environment_with_a_window_has_none(duplicate: Callable) -> None:
    pytest.importorskip("pygame")
    pytest.importorskip("resvg_py")
    env = make("corso", render_mode="human")
    env.metadata["render_fps"] = 10**6
    env.reset()
    env.render()
    twin = duplicate(env)
    twin.reset()
    env.close()
    assert twin.board_text() == env.board_text()


# Records.


def test_a_record_gives_the_game_back_at_every_ply(game: Game) -> None:
    env = make(game.name, **game.options)
    env.reset(seed=6)
    random = np.random.default_rng(6)
    for _ in range(60):
        record = env.to_record()
        again = from_record(json.loads(json.dumps(record)))
        assert isinstance(again, GuardedBoardGameEnv)
        assert everything(again) == everything(env)
        if not env.position.mask.any():
            break
        env.step(int(random.choice(env.position.legal_actions)))


def test_record_tells_the_game() -> None:
    env = make("corso", size=2)
    env.reset(seed=7)
    for text in ("b1", "a2", "b1!"):
        env.step(env.text_to_action(text))
    assert env.to_record() == {
        "game": "corso",
        "version": 0,
        "options": {"size": 2},
        "seed": 7,
        "moves": ["b1", "a2", "b1!"],
        "result": [1, -1],
    }


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("legal", [1, 2])
def test_a_game_lost_by_an_illegal_action_is_over_in_its_record_too(
    legal: int, canonical: bool
) -> None:
    env = make("onyx", size=6, canonical=canonical, render_mode="ansi")
    env.reset(seed=0)
    for _ in range(legal):
        env.step(int(env.mask().argmax()))
    taken = env.moves[0]
    name = env.game.action_names[taken]
    assert env.unwrapped.refusal == ""
    env.step(int(env._in_frame(taken)))
    assert env.unwrapped.refusal.startswith(f"action {taken} (")
    record = json.loads(json.dumps(env.to_record()))
    assert len(record["moves"]) == legal
    assert record["result"] == ([1, -1] if legal == 1 else [-1, 1])
    assert record["illegal_action"] == name
    again = from_record(record, render_mode="ansi")
    assert again.to_record() == record
    assert again.render().endswith(f"player_{legal % 2} has lost by an illegal action, {name}")
    for one in ("rewards", "terminations", "truncations", "agents", "agent_selection", "refusal"):
        assert getattr(again, one) == getattr(env, one)
    again.reset(seed=0)
    assert again.to_record()["result"] is None


def test_a_resigned_game_is_over_when_it_is_read_again() -> None:
    record = {"game": "corso", "version": 0, "options": {"size": 3}, "seed": 0, "moves": ["b2"]}
    env = from_record(record | {"result": [-1, 1]}, render_mode="svg")
    assert (env.rewards, env.terminations["player_0"]) == ({"player_0": -1, "player_1": 1}, True)
    assert (env.to_record()["result"], env.render().count("player_0 has resigned")) == ([-1, 1], 2)
    assert not any(from_record(record | {"result": [0, 0]}).terminations.values())


# Ways to get one.


def test_every_game_has_a_version_module() -> None:
    for name, kind in GAMES.items():
        module = getattr(ludarium.envs, f"{name}_v{kind.version}")
        assert type(module.env()) is GuardedBoardGameEnv
        assert type(module.raw_env(render_mode="ansi")) is BoardGameEnv
        assert str(module.env()) == f"{name}_v{kind.version}"
        assert f"{name}_v{kind.version}" in ludarium.envs.__all__
        for maker in (module.env, module.raw_env):
            assert f"environment of {name}" in maker.__doc__
            assert "name:" not in maker.__doc__


def test_version_modules_can_be_imported_in_every_way() -> None:
    import ludarium.envs.corso_v0 as same
    from ludarium.envs import corso_v0
    from ludarium.envs.corso_v0 import env, raw_env

    assert same is corso_v0
    assert env(size=3).game == raw_env(size=3).game == make("corso", size=3).game


def test_other_versions_of_a_game_are_refused_with_the_one_that_there_is() -> None:
    with pytest.raises(ImportError, match=r"osiron has version 1, .*; import osiron_v1"):
        from ludarium.envs import osiron_v0  # noqa: F401
    with pytest.raises(gymnasium.error.Error, match="use `ludarium/Osiron-v1` instead"):
        gymnasium.make("ludarium/Osiron-v0")
    with pytest.raises(AttributeError, match="has no attribute 'chess_v0'"):
        _ = ludarium.envs.chess_v0


def test_options_that_a_game_lacks_are_refused() -> None:
    words = (
        r"got an unexpected keyword argument 'komi': corso has no option 'komi' \(given 7\); "
        "options: size"
    )
    makers = [ludarium.envs.corso_v0.env, ludarium.envs.corso_v0.raw_env]
    makers += [partial(each, "corso") for each in (make, make_raw, make_game, SingleAgentEnv)]
    makers += [partial(gymnasium.make, "ludarium/Corso-v0"), partial(batch.make, "corso", 2)]
    makers.append(partial(gymnasium.make_vec, "ludarium/Corso-v0", num_envs=2))
    for maker in makers:
        with pytest.raises(TypeError, match=words):
            maker(komi=7)
    gymnasium.make_vec("ludarium/Corso-v0", num_envs=2, render_mode=None).close()


@pytest.mark.parametrize("name", GAMES)
def test_what_makes_an_environment_can_be_sent_to_a_process(name: str) -> None:
    module = getattr(ludarium.envs, f"{name}_v{GAMES[name].version}")
    for maker in (module.env, module.raw_env):
        assert pickle.loads(pickle.dumps(maker)) is maker
    script = "import pickle, sys; pickle.load(sys.stdin.buffer)().reset()"
    sent = pickle.dumps(module.env)
    subprocess.run([sys.executable, "-c", script], input=sent, check=True, timeout=500)


def test_unknown_games_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no game is called 'chess'; games: corso"):
        make("chess")
    for name in (5, [], None):
        with pytest.raises(ValueError, match=r"no game is called .*; games: corso"):
            make(name)  # type: ignore[arg-type]


def test_what_is_no_agent_cannot_observe() -> None:
    env = make("corso")
    env.reset()
    for agent in ([], 0, "player_2"):
        with pytest.raises(ValueError, match=r"agent is .*; accepted: player_0, player_1"):
            env.unwrapped.observe(agent)  # type: ignore[arg-type]


def test_importing_the_environments_loads_nothing_heavy() -> None:
    heavy = ["torch", "pygame", "resvg_py", "stable_baselines3", "matplotlib"]
    heavy += ["ludarium.training", "ludarium.models"]
    code = (
        "import sys, ludarium.envs, ludarium.envs.batch, ludarium.envs.single\n"
        "env = ludarium.envs.make('corso'); env.reset(); env.step(0); env.last()\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert python(code, check=True).stdout.strip() == "[]"


def test_a_thousand_environments_at_once_take_little_memory() -> None:
    """As Python and numpy count it: 9 KB each, measured."""
    game = TicTacToe()
    tracemalloc.start()
    try:
        environments = [GuardedBoardGameEnv(game) for _ in range(1000)]
        for env in environments:
            env.reset()
            env.step(4)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 1000 * 30_000
