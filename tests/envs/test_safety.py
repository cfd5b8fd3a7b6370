"""Whatever a caller writes into what an environment gave out, the games go on as they would."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Position, make_game
from ludarium.envs.aec import BoardGameEnv, GuardedBoardGameEnv
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.position import contents_of
from ludarium.envs.one_side import OneSide
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from ludarium.training.agents import Agent
from tests.games import first_legal
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe

BUFFERS = ("observations", "masks", "movers", "rewards", "terminated", "truncated", "actions")


def scribble(value: Any) -> None:
    """Write into every array that can be reached from a value, its bases included."""
    if isinstance(value, dict):
        for each in value.values():
            scribble(each)
    elif isinstance(value, list | tuple):
        for each in value:
            scribble(each)
    while isinstance(value, np.ndarray | np.generic):
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            try:
                value.setflags(write=True)
            except ValueError:
                return
            if value.dtype.names:
                for name in value.dtype.names:
                    value[name] = 99
            else:
                value[...] = 99 if value.dtype.kind in "iu" else 1
        value = value.base


def handed_out(games: BatchEnv) -> list[Any]:
    """All that a batch shows: public attributes, and what its methods return."""
    names = [name for name in dir(games) if not name.startswith("_") and name != "game"]
    values = [getattr(games, name) for name in names]
    position = games.position(0)
    return [value for value in values if not callable(value)] + [
        games.snapshot(),
        position.states,
        position.mask,
    ]


def test_no_write_into_a_batch_changes_its_games(default_game: Game) -> None:
    games, twin = BatchEnv(default_game, 5, seed=1), BatchEnv(default_game, 5, seed=1)
    for ply in range(40):
        scribble(handed_out(games))
        if ply % 2:
            actions = twin.random_actions()
            games.random_actions()  # before a game that begins anew draws from the same numbers
            games.step(actions)
            twin.step(games.actions)
        else:
            games.step_random()
            twin.step_random()
        assert contents_of(games.states) == contents_of(twin.states)
        for name in BUFFERS:
            np.testing.assert_array_equal(getattr(games, name), getattr(twin, name), name)


def test_a_game_that_is_over_has_no_random_action() -> None:
    games = BatchEnv(TicTacToe(), 2, seed=1)
    for action in (0, 3, 1, 4, 2):
        games.play([1], [action])
    assert games.random_actions()[1] == -1
    before = contents_of(games.states)
    with pytest.raises(ValueError, match=r"games \[1\] are over: call restart"):
        games.step_random()
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
        scribble(changed[name])
        with pytest.raises(ValueError, match="were changed"):
            games.resume(changed)
    with pytest.raises(ValueError, match="resume takes what"):
        games.resume({})
    assert contents_of(games.states) == later
    games.resume(snapshot)
    assert contents_of(games.states) == before
    np.testing.assert_array_equal(games.masks[1], games.position(1).mask)
    np.testing.assert_array_equal(games.observations[1], games.position(1).observation())


def test_no_write_into_what_a_position_gave_changes_it(default_game: Game) -> None:
    position, twin = default_game.start(1), default_game.start(1)
    for _ in range(10):
        scribble([position.states, position.mask, position.legal_actions, position.observation()])
        state = position.state
        for name in state.dtype.names:
            state[name] = 99
        assert position == twin
        np.testing.assert_array_equal(position.mask, twin.mask)
        action = int(twin.legal_actions[-1])
        assert position.play(action) == twin.play(action)
        if twin.is_over:
            break
    position.mover = 77
    with pytest.raises(ValueError, match="player is 77"):
        position.observation()
    with pytest.raises(ValueError, match="observation_dtype is"):
        twin.observation(dtype=np.float64)


@pytest.mark.parametrize("kind", [BoardGameEnv, GuardedBoardGameEnv])
def test_no_write_into_what_an_environment_gave_changes_its_game(
    default_game: Game, kind: type[BoardGameEnv]
) -> None:
    env, twin = kind(default_game), kind(default_game)
    for each in (env, twin):
        each.reset(seed=1)
    while not twin.position.is_over:
        scribble([env.infos, env.last(), env.observe("player_0"), env.state(), env.mask()])
        env.position.play(int(twin.position.legal_actions[-1]))
        action = int(twin.position.legal_actions[0])
        env.step(action)
        twin.step(action)
        assert env.to_record() == twin.to_record()
    assert env.rewards == twin.rewards


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
        scribble([states, [game.position.states for game in games]])
        return chosen


def spoils_its_position(position: Position) -> int:
    chosen = first_legal(position)
    position.play(chosen)
    scribble(position.states)
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
        scribble([infos[0], found[0][0]])
        scribble([handed_out(many.batch), found[2]])
        steps = [env.step(action), twin.step(action), many.step(actions), many_twin.step(actions)]
        assert steps[0][1:4] == steps[1][1:4]
        np.testing.assert_array_equal(steps[2][1], steps[3][1])
        found = [(step[0], step[4]) for step in steps]
        if steps[0][2] or steps[0][3]:
            break


def test_no_write_into_the_games_of_stable_baselines_changes_them(default_game: Game) -> None:
    pytest.importorskip("stable_baselines3")
    from ludarium.envs.sb3 import BoardGameVecEnv

    env, twin = (BoardGameVecEnv(default_game, 3, seed=1) for _ in range(2))
    env.reset()
    observations = twin.reset()
    for _ in range(20):
        actions = twin.action_masks().argmax(axis=1)
        scribble([handed_out(env.side.batch), env.action_masks()])
        results, expected = env.step(actions), twin.step(actions)
        np.testing.assert_array_equal(results[0], expected[0])
        np.testing.assert_array_equal(results[1], expected[1])
    assert observations.shape == results[0].shape


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
            scribble(state.position.states)
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
    arrays = [getattr(games, name) for name in BUFFERS]
    arrays += [position.mask, position.observation(), observation, info["action_mask"]]
    arrays += [side.rewards, side.terminated, side.batch.masks]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for array in arrays:
            assert torch.from_numpy(array).shape == array.shape


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
    assert len(env.board.moves) == 2
