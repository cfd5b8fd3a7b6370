"""Wild actions, players and game numbers are refused at every face, and change nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ludarium.envs.aec import BoardGameEnv, GuardedBoardGameEnv
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.position import contents_of
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from tests.tictactoe import TicTacToe

NUMBERS = [-1, 9, 10**9, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**5000]
NUMPY = [
    *(np.int8(-1), np.int64(2**62), np.uint64(2**64 - 1), np.float64(3.0), np.float32(np.nan)),
    *(np.array([3]), np.array(3.0), np.array([], np.int64), np.array([[1, 2]]), np.bool_(True)),
]
OTHERS = [True, 3.0, math.nan, math.inf, "3", "x" * 100_000, None, [], {}, object(), b"\x03", 1j]
WILD = [*NUMBERS, *NUMPY, *OTHERS]

each_wild = pytest.mark.parametrize("wild", WILD, ids=lambda wild: type(wild).__name__)


def _is_refused(call: Any, *arguments: Any) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - messages are checked below
        call(*arguments)
    assert 0 < len(str(caught.value)) <= 400
    assert str(caught.value).isprintable()


@each_wild
def test_a_position_refuses(game: TicTacToe, wild: Any) -> None:
    position = game.start()
    position.play(4)
    before = contents_of(position.states)
    _is_refused(position.play, wild)
    _is_refused(position.action_to_text, wild)
    if wild is not None:
        _is_refused(position.observation, wild)
        _is_refused(position.is_turned, wild)
    assert contents_of(position.states) == before


@pytest.mark.parametrize("canonical", [False, True])
@each_wild
def test_the_raw_environment_refuses(game: TicTacToe, canonical: bool, wild: Any) -> None:
    env = BoardGameEnv(game, canonical=canonical)
    env.reset()
    before = env.state().tobytes(), env.agent_selection
    _is_refused(env.step, wild)
    assert (env.state().tobytes(), env.agent_selection) == before


@each_wild
def test_the_guarded_environment_refuses(game: TicTacToe, wild: Any) -> None:
    env = GuardedBoardGameEnv(game)
    env.reset()
    before = env.state().tobytes()
    with pytest.raises(AssertionError) as caught:
        env.step(wild)
    assert len(str(caught.value)) <= 400
    assert env.state().tobytes() == before


@each_wild
@pytest.mark.parametrize("illegal", ["lose", "raise"])
def test_one_agent_that_plays_wildly_is_refused(game: TicTacToe, wild: Any, illegal: str) -> None:
    env = SingleAgentEnv(game, illegal=illegal, seat=0)
    env.reset(seed=1)
    before = contents_of(env.aec.position.states)
    _is_refused(env.step, wild)
    assert contents_of(env.aec.position.states) == before


#: What three games may be asked to play.
WILD_ARRAYS = [
    *([wild] * 3 for wild in [*NUMBERS[:-1], 3.0, math.nan, "3", None, True]),
    *(np.array([0, 1, wild], np.int64) for wild in (-1, 9, 2**62, -(2**62))),
    *(np.array([0, 1, 2**64 - 1], np.uint64), np.array([[0, 1, 2]]), np.array([0, 1])),
    *(np.zeros(4, np.int64), np.zeros((3, 1), np.int64), np.array(4), [], None, "012", 4, [[0], 1]),
    *(np.zeros(3, "M8[s]"), np.zeros(3, complex), np.zeros(3, [("a", "i8")]), np.zeros(3, object)),
]

each_wild_array = pytest.mark.parametrize("wild", WILD_ARRAYS, ids=range(len(WILD_ARRAYS)))


@each_wild_array
def test_a_batch_refuses_actions(game: TicTacToe, wild: Any) -> None:
    batch = BatchEnv(game, 3, seed=1)
    batch.step([4, 0, 8])
    before = contents_of(batch.states), batch.masks.tobytes()
    _is_refused(batch.step, wild)
    _is_refused(batch.play, [0, 1, 2], wild)
    assert (contents_of(batch.states), batch.masks.tobytes()) == before


@each_wild_array
def test_a_batch_refuses_numbers_of_games_and_players(game: TicTacToe, wild: Any) -> None:
    batch = BatchEnv(game, 3, seed=1)
    before = contents_of(batch.states)
    if np.size(np.asarray(wild, object)) and not np.array_equal(wild, np.array([0, 1])):
        for call in (batch.restart, lambda games: batch.play(games, [0, 1, 2])):
            try:
                _is_refused(call, wild)
            except pytest.fail.Exception:
                assert all(0 <= int(number) < 3 for number in wild)  # a list of games after all
    _is_refused(batch.observe, [0, 1, 2], wild)
    assert contents_of(batch.states) == before


def test_a_batch_plays_once_in_a_game(game: TicTacToe) -> None:
    """Otherwise the second action would be played without a look at whether it is legal."""
    batch = BatchEnv(game, 3, seed=1)
    before = contents_of(batch.states)
    with pytest.raises(ValueError, match="a number twice"):
        batch.play([0, 1, 0], [4, 4, 4])
    assert contents_of(batch.states) == before


@each_wild_array
def test_a_vector_of_environments_refuses_what_are_no_integers(game: TicTacToe, wild: Any) -> None:
    for illegal in ("lose", "raise"):
        env = VectorBoardGameEnv(game, 3, illegal=illegal, seat=0)
        env.reset(seed=1)
        before = contents_of(env.batch.states)
        _is_refused(env.step, wild)
        assert contents_of(env.batch.states) == before


@each_wild_array
def test_environments_for_stable_baselines_refuse_the_same(game: TicTacToe, wild: Any) -> None:
    sb3 = pytest.importorskip("ludarium.envs.sb3")
    for illegal in ("lose", "raise"):
        env = sb3.BoardGameVecEnv(game, 3, illegal=illegal, seat=0, seed=1)
        env.reset()
        before = contents_of(env.side.batch.states)
        _is_refused(env.step, wild)
        assert contents_of(env.side.batch.states) == before


@each_wild
def test_openspiel_refuses(game: TicTacToe, wild: Any) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    openspiel = pytest.importorskip("ludarium.envs.openspiel")
    if "ludarium_tictactoe" not in pyspiel.registered_names():
        openspiel.register(TicTacToe)
    state = pyspiel.load_game("ludarium_tictactoe").new_initial_state()
    before = contents_of(state.position.states)
    if isinstance(wild, bool | np.bool_) or (isinstance(wild, np.ndarray) and wild.ndim == 0):
        pytest.skip("pybind11 takes it for an integer")
    with pytest.raises((ValueError, TypeError, pyspiel.SpielError, OverflowError)):
        state.apply_action(wild)
    assert contents_of(state.position.states) == before
