"""Whatever a caller writes into what an environment gave out, the games go on as they would."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, make_game
from ludarium.envs.aec import BoardGameEnv, GuardedBoardGameEnv
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game import Symmetries
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import contents_of
from ludarium.envs.one_side import OneSide
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from ludarium.training.agents import Agent, make_agent
from tests.games import first_legal
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

BUFFERS = ("observations", "masks", "movers", "rewards", "terminated", "truncated", "actions")
_WALKED = ("ludarium.", "tests.", "gymnasium.spaces.")


def spoil(value: Any, random: np.random.Generator) -> int:
    """Write random bytes into every array that can be reached from a value; return how many.

    That is through containers, and through public attributes of the package's own objects. An
    array that refuses is counted too.
    """
    spoilt, seen, waiting = 0, set(), [value]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            spoilt += 1
            if each.dtype.kind == "O":
                waiting += each.ravel().tolist()
                continue
            noise = np.frombuffer(random.bytes(each.nbytes), each.dtype).reshape(each.shape)
            with suppress(ValueError):  # the array is read-only
                each[...] = noise
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each
        elif type(each).__module__.startswith(_WALKED) and not isinstance(each, type):
            names = {*dir(type(each)), *getattr(each, "__dict__", ())}
            for name in sorted(name for name in names if not name.startswith("_")):
                with suppress(AttributeError):  # such as ``num_agents`` before a reset
                    found = getattr(each, name)
                    waiting += [] if callable(found) else [found]
    return spoilt


#: A face of a game: yields, ply by ply, what it has just handed out. What it does next depends on
#: the game alone.
Face = Callable[[Game], Iterator[Any]]


def shows_its_rules(game: Game) -> Iterator[Any]:
    position = game.start(1)
    while not position.is_over and position.ply < 12:
        action = int(position.legal_actions[-1])
        handed = [position.states, position.state, position.mask, position.legal_actions]
        handed += [position.observation(), position.observation(canonical=True)]
        handed += [game.symmetries(), game.action_spots(), position.slots()]
        handed += [position.svg(), position.threats(), [position.turned_action(action)]]
        yield [*handed, position, game]
        position.play(action)
    yield position.rewards


def plays_both_sides(kind: type[BoardGameEnv]) -> Face:
    def play(game: Game) -> Iterator[Any]:
        env = kind(game, canonical=True)
        env.reset(seed=1)
        for _ in range(40):
            if not env.agents:
                break
            observation, reward, *ended, info = env.last()
            action = None if any(ended) else int(env.mask().argmax())
            state, record = env.state(), env.to_record()
            spaces = env.observation_space(env.agent_selection), env.action_spaces
            # `infos` is PettingZoo's: it holds what is written into it until the next ply.
            walked = None if any(ended) else env
            yield [observation, reward, ended, info, state, env.mask(), record, spaces, walked]
            env.step(action)

    return play


def plays_one_side(game: Game) -> Iterator[Any]:
    env = SingleAgentEnv(game, seat="alternate", canonical=True)
    handed: tuple = env.reset(seed=1)
    for _ in range(30):
        masks, action = env.action_masks(), int(env.action_masks().argmax())
        yield [*handed, masks, env.aec.to_record(), env]
        handed = env.step(action) if env.action_masks().any() else env.reset()


def plays_in_batch(game: Game) -> Iterator[Any]:
    games = BatchEnv(game, 5, seed=1, canonical=True)
    for ply in range(40):
        actions = games.random_actions()
        shown = [getattr(games, name) for name in BUFFERS]
        yield [*shown, games.states, games.snapshot(), games.position(0).mask, games]
        if ply % 2:
            games.step(actions)
        else:
            games.step_random()


def plays_one_side_of_many(game: Game) -> Iterator[Any]:
    side = OneSide(game, 3, seat="random", opening_plies=2)
    side.reset(np.random.default_rng(1))
    for _ in range(20):
        actions = side.batch.masks.argmax(axis=1)
        shown = [side.seats, side.rewards, side.terminated, side.truncated]
        yield [*shown, side.is_over, side.batch.observations, side.batch.masks, side]
        side.play(actions)
        others = side.other_views(np.arange(3))
        yield [*shown, side.write_final_observations(), others, side]
        side.renew()


def plays_as_vector(seat: str) -> Face:
    def play(game: Game) -> Iterator[Any]:
        settings: dict = {"other_view": True, "canonical": True, "max_episode_steps": 5}
        envs = VectorBoardGameEnv(game, 3, seat=seat, **settings)
        handed: tuple = envs.reset(seed=1)
        for _ in range(20):
            actions = handed[-1]["action_mask"].argmax(axis=1)
            yield [*handed, envs.seats, envs]
            handed = envs.step(actions)

    return play


def plays_for_stable_baselines(game: Game) -> Iterator[Any]:
    from ludarium.envs.sb3 import BoardGameVecEnv

    envs = BoardGameVecEnv(game, 3, seed=1, canonical=True)
    handed: Any = envs.reset()
    for _ in range(20):
        masks = envs.env_method("action_masks")
        actions = masks.argmax(axis=1)
        yield [handed, masks, envs.side.seats, envs]
        handed = envs.step(actions)


def searches(game: Game) -> Iterator[Any]:
    names = ["uct:20", *["alphabeta:1"] * game.has_score]
    agents = [make_agent(name, game, seed=1) for name in names]
    position = game.start(1)
    while not position.is_over and position.ply < 6:
        found = [agent.search(position.states) for agent in agents]
        action = int(found[0].actions[0])
        yield [*map(vars, found), found]
        position.play(action)


FACES: dict[str, Face] = {
    "rules": shows_its_rules,
    "env": plays_both_sides(GuardedBoardGameEnv),
    "raw_env": plays_both_sides(BoardGameEnv),
    "one agent": plays_one_side,
    "batch": plays_in_batch,
    "one side": plays_one_side_of_many,
    "vector": plays_as_vector("random"),
    "vector, both": plays_as_vector("both"),
    "stable-baselines": plays_for_stable_baselines,
    "search": searches,
}


def told(value: Any) -> Any:
    """A value as it is now, to compare; the objects that hand out arrays are left out."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
        return contents_of(value) if value.dtype.names else value.tobytes()
    if isinstance(value, Mapping):
        return {name: told(each) for name, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [told(each) for each in value]
    if isinstance(value, Symmetries):
        return told(list(vars(value).values()))
    return value if isinstance(value, int | float | str) else None


@pytest.mark.parametrize("face", FACES)
def test_no_write_into_what_is_handed_out_changes_what_follows(
    default_game: Game, face: str
) -> None:
    if face == "stable-baselines":
        pytest.importorskip("stable_baselines3")
    random, plies = np.random.default_rng(1), 0
    untouched = FACES[face](type(default_game)())
    for handed, expected in zip(FACES[face](default_game), untouched, strict=True):
        assert told(handed) == told(expected)
        assert spoil(handed, random) > 5 or face == "rules"
        plies += 1
    assert plies > 3


#: What infos have besides where a game has ended.
ENDS = {"final_obs", "final_info", "_final_obs", "_final_info"}
ENDS |= {"terminal_observation", "TimeLimit.truncated"}
NO_ENVIRONMENT = {"rules", "one side", "search"}


def inside(value: Any) -> Iterator[Any]:
    """A value and all that containers hold in it."""
    yield value
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple) or getattr(value, "dtype", None) == np.dtype(object):
        for each in value:
            yield from inside(each)


@pytest.mark.parametrize("face", [each for each in FACES if each not in NO_ENVIRONMENT])
def test_arrays_are_in_c_order_and_infos_have_the_same_keys_at_every_step(
    default_game: Game, face: str
) -> None:
    if face == "stable-baselines":
        pytest.importorskip("stable_baselines3")
    handed, keys = list(inside(list(FACES[face](default_game)))), set()
    assert all(each.flags.c_contiguous for each in handed if isinstance(each, np.ndarray))
    for info in (each for each in handed if isinstance(each, Mapping) and "action_mask" in each):
        if "observation" not in info:
            keys.add(frozenset(info.keys() - ENDS))
            assert np.max(info.get("illegal_action", -1)) == -1
    assert len(keys) == (face != "batch")
    assert all(("illegal_action" in each) == ("env" not in face) for each in keys)


def test_a_game_that_is_over_has_no_random_action() -> None:
    games = BatchEnv(TicTacToe(), 2, seed=1)
    for action in (0, 3, 1, 4, 2):
        games.play([1], [action])
    assert games.random_actions()[1] == -1
    before = contents_of(games.states)
    resumed = BatchEnv(TicTacToe(), 2)
    resumed.resume(games.snapshot())
    for each in (games, resumed):
        with pytest.raises(ValueError, match=r"games \[1\] are over: call restart"):
            each.step_random()
    with pytest.raises(ValueError, match=r"game 1: .*the game is over: call restart\(\[1\]\)"):
        games.step([0, 5])
    assert contents_of(games.states) == before
    games.restart([1])
    games.step_random()


def test_a_snapshot_that_was_changed_is_refused(default_game: Game) -> None:
    games = BatchEnv(default_game, 3, seed=1)
    games.step_random()
    snapshot, before = games.snapshot(), contents_of(games.states)
    games.step_random()
    later = contents_of(games.states)
    for name in ("states", "rngs"):
        changed = {key: array.copy() for key, array in snapshot.items()}
        spoil(changed[name], np.random.default_rng(1))
        with pytest.raises(ValueError, match="were changed"):
            games.resume(changed)
    with pytest.raises(ValueError, match="resume takes what"):
        games.resume({})
    assert contents_of(games.states) == later
    games.resume(snapshot)
    assert contents_of(games.states) == before
    np.testing.assert_array_equal(games.snapshot()["rngs"], snapshot["rngs"])
    np.testing.assert_array_equal(games.masks[1], games.position(1).mask)
    np.testing.assert_array_equal(games.observations[1], games.position(1).observation())


class FirstLegal:
    """Plays the first legal action."""

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Nothing to prepare."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> list[int]:
        return [int(game.position.legal_actions[0]) for game in games]

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Nothing to note."""


class Scribbler(FirstLegal):
    """The same, and spoils all that it is given."""

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> list[int]:
        chosen = super().play(games, states)
        spoil([states, [game.position for game in games]], np.random.default_rng(1))
        return chosen


def spoils_its_position(position: Position) -> int:
    chosen = first_legal(position)
    position.play(chosen)
    spoil([position.game, position.states], np.random.default_rng(1))
    return chosen


@pytest.mark.parametrize(
    ("opponent", "first_legal"), [(Scribbler(), FirstLegal()), (spoils_its_position, first_legal)]
)
def test_no_write_by_an_opponent_changes_the_game(
    default_game: Game, opponent: Any, first_legal: Any
) -> None:
    env = SingleAgentEnv(default_game, opponent=opponent, seat=1)
    twin = SingleAgentEnv(default_game, opponent=first_legal, seat=1)
    many = VectorBoardGameEnv(default_game, 2, opponent=opponent, seat=1)
    many_twin = VectorBoardGameEnv(default_game, 2, opponent=first_legal, seat=1)
    found = [each.reset(seed=1) for each in (env, twin, many, many_twin)]
    for _ in range(20):
        infos = [info for _, info in found]
        np.testing.assert_array_equal(infos[0]["action_mask"], infos[1]["action_mask"])
        np.testing.assert_array_equal(infos[2]["action_mask"], infos[3]["action_mask"])
        action, actions = infos[0]["action_mask"].argmax(), infos[2]["action_mask"].argmax(axis=1)
        spoil([env, found[0], many, found[2]], np.random.default_rng(1))
        steps = [env.step(action), twin.step(action), many.step(actions), many_twin.step(actions)]
        assert steps[0][1:4] == steps[1][1:4]
        np.testing.assert_array_equal(steps[2][1], steps[3][1])
        found = [(step[0], step[4]) for step in steps]
        if steps[0][2] or steps[0][3]:
            break


def test_no_write_into_a_state_of_openspiel_changes_it(default_game: Game) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    openspiel = pytest.importorskip("ludarium.envs.openspiel")
    if f"ludarium_{default_game.name}" not in pyspiel.registered_names():
        openspiel.register(type(default_game))
    game = pyspiel.load_game(f"ludarium_{default_game.name}")
    state, twin = game.new_initial_state(), game.new_initial_state()
    for _ in range(10):
        action = twin.legal_actions()[-1]
        if not twin.is_chance_node():
            spoil([state.position, game.rules], np.random.default_rng(1))
            state.position.play(state.position.legal_actions[0])
            assert str(state) == str(twin)
        for each in (state, twin):
            each.apply_action(action)
        if twin.is_terminal():
            break
    assert state.history() == twin.history()


def test_torch_takes_every_array_without_a_warning(default_game: Game) -> None:
    torch = pytest.importorskip("torch")
    games, position = BatchEnv(default_game, 2, seed=1), default_game.start(1)
    env, side = SingleAgentEnv(default_game), OneSide(default_game, 2)
    observation, info = env.reset(seed=1)
    side.reset()
    copies = [position.mask, position.observation(), observation, info["action_mask"]]
    views = [getattr(games, name) for name in BUFFERS]
    views += [side.rewards, side.terminated, side.batch.masks, default_game.symmetries().actions]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in copies:
            assert torch.from_numpy(array).shape == array.shape
        for array in views:
            assert torch.tensor(array).shape == array.shape


def test_a_position_with_a_wrong_mover_is_not_observed() -> None:
    position = TicTacToe().start()
    position.mover = 77
    with pytest.raises(ValueError, match="player is 77"):
        position.observation()
    with pytest.raises(ValueError, match="observation_dtype is"):
        position.observation(0, dtype=np.float64)


def test_a_shallow_copy_plays_no_game_that_is_over() -> None:
    batch = BatchEnv(TicTacToe(), 1, seed=1)
    shared = copy.copy(batch)
    while not batch.position(0).is_over:
        batch.play([0], batch.random_actions())
    states = contents_of(batch.states)
    shared.step_random()
    assert contents_of(batch.states) == states


def test_a_snapshot_of_other_options_is_refused() -> None:
    saved = BatchEnv(Oddity(colour="blue"), 2, seed=1).snapshot()
    batch = BatchEnv(Oddity(colour="red"), 2, seed=1)
    before = contents_of(batch.states)
    with pytest.raises(ValueError, match="not of Oddity"):
        batch.resume(saved)
    assert contents_of(batch.states) == before


def test_an_opponent_that_writes_into_the_moves_changes_no_record() -> None:
    class Writer(Agent):
        def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> list[int]:
            for each in games:
                each.actions.append(0)
            return [int(each.position.legal_actions[0]) for each in games]

    game = make_game("corso", size=3)
    env = SingleAgentEnv(game, opponent=Writer(game, "writer"), seat=0)
    env.reset(seed=1)
    env.step(8)
    assert len(env.aec.moves) == 2
