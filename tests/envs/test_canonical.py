"""One frame for observations, masks and actions: the board's own, or the canonical one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ludarium.envs import Game, Spec, make_game
from ludarium.envs.aec import AGENTS, BoardGameEnv, GuardedBoardGameEnv
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.spec import BoardTurn
from tests.games import random_game, random_positions, slow_but, states_of
from tests.oddity import Oddity, rules

TURNED = {"oddity": Oddity(), "onyx": make_game("onyx", size=6, swap_rule=True)}


@pytest.fixture(params=TURNED.values(), ids=list(TURNED))
def turned_game(request: pytest.FixtureRequest) -> Game:
    """Games in which the players see the board in different frames."""
    return request.param


# The turn, and the codec.


@pytest.mark.parametrize("table", [[0, 0, 1], [1, 2, 0], [0, 1, 3]])
def test_a_turn_undoes_itself(table: list[int]) -> None:
    identity = np.arange(3)
    with pytest.raises(ValueError, match="actions of a turn of the board"):
        BoardTurn(identity, np.array(table), rules.is_turned)
    with pytest.raises(ValueError, match="cells of a turn of the board"):
        BoardTurn(np.array(table), identity, rules.is_turned)


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        (BoardTurn(np.arange(4), np.arange(7), rules.is_turned), "4 cells and 7 actions"),
        (BoardTurn(np.arange(5)[::-1], np.arange(7), rules.observe), "is_turned takes 4 arguments"),
    ],
)
def test_a_game_whose_turn_does_not_fit_is_refused(turn: BoardTurn, problem: str) -> None:
    class Misfit(Oddity):
        def setup(self) -> Spec:
            return replace(super().setup(), canonical_turn=turn)

    with pytest.raises(ValueError, match=problem):
        Misfit()


def test_the_turn_commutes_with_the_symmetries(game: Game) -> None:
    turn, symmetries = game.canonical_turn, game.symmetries()
    if turn is None:
        return
    cells = np.arange(game.planes_shape[0])[:, None] * game.planes_shape[1] + turn.cells
    for table in symmetries.observation:
        np.testing.assert_array_equal(table[cells.ravel()], cells.ravel()[table])
    if symmetries.kind is None:
        for table in symmetries.actions:
            np.testing.assert_array_equal(table[turn.actions], turn.actions[table])


def test_the_codec_shows_movers_the_canonical_frame(game: Game) -> None:
    positions = [position for position in random_positions(game, 30) if not position.is_over]
    encoded = Codec(game).encode(states_of(positions))
    policies = np.random.default_rng(0).random((len(positions), game.num_actions))
    seen = encoded.encode_policies(policies)
    for k, position in enumerate(positions):
        np.testing.assert_array_equal(encoded.observations[k], position.observation(canonical=True))
        actions = [position.turned_action(action) for action in range(game.num_actions)]
        np.testing.assert_array_equal(encoded.actions[k], actions)
        np.testing.assert_array_equal(encoded.masks[k], position.mask[actions].astype(bool))
        np.testing.assert_array_equal(seen[k], policies[k, actions])


def test_the_codec_shows_symmetries_consistently(game: Game) -> None:
    codec = Codec(game)
    positions = [position for position in random_positions(game, 20) if not position.is_over]
    states = states_of(positions)
    symmetries = codec.draw_symmetries(len(states), np.random.default_rng(1))
    plain, shown = codec.encode(states), codec.encode(states, symmetries)
    for k, number in enumerate(symmetries):
        table = codec.symmetries.observation[number]
        np.testing.assert_array_equal(
            shown.observations[k].ravel(), plain.observations[k].ravel()[table]
        )
        legal = set(np.flatnonzero(positions[k].mask))
        assert {int(shown.actions[k, action]) for action in np.flatnonzero(shown.masks[k])} == legal
    chosen = shown.masks.argmax(axis=1)
    for k, action in enumerate(shown.decode(chosen)):
        assert positions[k].mask[action]


# Every face.


@pytest.mark.parametrize("kind", [BoardGameEnv, GuardedBoardGameEnv])
def test_an_environment_is_in_one_frame(turned_game: Game, kind: type[BoardGameEnv]) -> None:
    turned = 0
    for seed in range(5):
        env = kind(turned_game, canonical=True)
        env.reset(seed)
        for position, action in random_game(turned_game, seed):
            assert env.position == position
            for player, agent in enumerate(AGENTS):
                seen = env.observe(agent)
                np.testing.assert_array_equal(
                    seen["observation"], position.observation(player, canonical=True)
                )
                np.testing.assert_array_equal(seen["action_mask"], env.infos[agent]["action_mask"])
            if action is None:
                break
            number = position.turned_action(action)
            turned += number != action
            observation, mask = env.last()[0], env.infos[env.agent_selection]["action_mask"]
            assert observation["action_mask"][number] == mask[number] == 1
            assert mask.sum() == position.mask.sum()
            assert env.action_to_text(number) == position.action_to_text(action)
            assert env.text_to_action(env.action_to_text(number)) == number
            twin = env.clone()
            env.step(number)
            twin.step(np.int64(number))
            assert twin.position == env.position
        assert env.to_record()["moves"]
    assert turned > 0


@pytest.mark.parametrize("dtype", slow_but([np.uint8], [np.float32, np.uint8]))
def test_a_batch_is_in_one_frame(turned_game: Game, dtype: type) -> None:
    if dtype == np.uint8 and not turned_game.binary_observation:
        pytest.skip("its observations are fractions")
    arguments = {"observation_dtype": dtype, "seed": 4}
    plain = BatchEnv(turned_game, 16, **arguments)
    canonical = BatchEnv(turned_game, 16, canonical=True, **arguments)
    for _ in range(40):
        assert (plain.states == canonical.states).all()
        positions = [plain.position(game) for game in range(16)]
        for game, position in enumerate(positions):
            seen = position.observation(dtype=dtype, canonical=True)
            np.testing.assert_array_equal(canonical.observations[game], seen)
            legal = {position.turned_action(action) for action in position.legal_actions}
            assert set(np.flatnonzero(canonical.masks[game])) == legal
        actions = plain.random_actions()
        drawn = canonical.random_actions()  # by the same random numbers, in its own frame
        assert canonical.masks[np.arange(16), drawn].all()
        plain.step(actions)
        canonical.step([p.turned_action(a) for p, a in zip(positions, actions, strict=True)])
        np.testing.assert_array_equal(plain.rewards, canonical.rewards)


def test_some_games_of_a_canonical_batch_are_played_in_its_frame(turned_game: Game) -> None:
    games = BatchEnv(turned_game, 8, canonical=True, seed=2)
    some = np.array([1, 4, 6])
    for _ in range(3):
        before = [games.position(game) for game in some]
        actions = games.masks[some].argmax(axis=1)
        games.play(some, actions)
        for game, position, action in zip(some, before, actions, strict=True):
            position.play(position.turned_action(action))
            assert games.position(game) == position
        if (games.terminated | games.truncated).any():
            games.restart(some)
    for player in (0, 1):
        games.observe(some, np.full(3, player))
        for game in some:
            expected = games.position(game).observation(player, canonical=True)
            np.testing.assert_array_equal(games.observations[game], expected)


def test_a_refused_action_of_a_canonical_batch_is_named_by_its_text() -> None:
    games = BatchEnv(TURNED["onyx"], 2, canonical=True, seed=1)
    games.step_random()
    position = games.position(0)
    action = int(np.flatnonzero(games.masks[0] == 0)[0])
    text = position.action_to_text(position.turned_action(action))
    with pytest.raises(ValueError, match=rf"game 0: action \d+ \({text}\) is not legal"):
        games.step([action, int(games.masks[1].argmax())])


@pytest.mark.parametrize("wrong", [1, "no", None])
def test_a_position_takes_canonical_as_a_flag(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"canonical is .*; accepted: False or True"):
        make_game("onyx", size=6).start(0).observation(canonical=wrong)
