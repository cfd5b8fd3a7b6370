"""An agent that is an opponent is given whole games by every environment."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np
import pytest

from ludarium.envs import Game, make_game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.one_side import OneSide
from ludarium.envs.opponents import Player
from ludarium.envs.single import SingleAgentEnv
from tests.oddity import Oddity

#: Options of a small board.
ONYX = {"size": 6, "swap_rule": True}


class Witness:
    """Plays the last legal action, and checks what it is told of each game."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.begun = self.finished = 0
        self.rewards: list[int] = []

    def begin(self, games: Sequence[GameInPlay]) -> None:
        self.begun += len(games)
        assert all(each.memory is None for each in games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        chosen = []
        for handle, state in zip(games, states, strict=True):
            assert handle.position.state == state
            assert handle.position.mover == handle.seat
            assert handle.memory is None or handle.memory < len(handle.actions)
            handle.memory = len(handle.actions)
            replayed = self.game.start(handle.seed)
            for action in handle.actions:
                replayed.play(action)
            assert (replayed.states == states[len(chosen)]).all()
            chosen.append(replayed.legal_actions[-1])
        return np.array(chosen)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        self.finished += len(games)
        assert all(each.position.is_over for each in games)
        self.rewards = [each.reward for each in games]


@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("name", ["corso", "onyx"])
def test_one_environment_hands_over_whole_games(name: str, canonical: bool) -> None:
    game = make_game(name, **({"size": 3} if name == "corso" else ONYX))
    witness, random = Witness(game), np.random.default_rng(1)
    assert isinstance(witness, Player)
    env = SingleAgentEnv(game, opponent=witness, seat="alternate", canonical=canonical)
    for number in range(6):
        _, info = env.reset(seed=1 if number == 0 else None)
        reward, is_over = 0.0, False
        while not is_over:
            action = random.choice(np.flatnonzero(info["action_mask"]))
            _, reward, is_over, _, info = env.step(action)
        assert witness.rewards == [-reward]
    assert witness.begun == witness.finished == 6


@pytest.mark.parametrize("canonical", [False, True])
def test_games_side_by_side_hand_over_whole_games(canonical: bool) -> None:
    witness, random = Witness(make_game("onyx", **ONYX)), np.random.default_rng(1)
    env = gymnasium.make_vec(
        "ludarium/Onyx-v0", num_envs=3, **ONYX, opponent=witness, canonical=canonical
    )
    _, info = env.reset(seed=1)
    for _ in range(80):
        actions = [random.choice(np.flatnonzero(mask)) for mask in info["action_mask"]]
        _, rewards, over, _, info = env.step(np.array(actions))
        assert witness.rewards == (-rewards[over]).tolist() or not over.any()
    assert witness.begun == witness.finished + 3 > 6


def test_games_side_by_side_hand_over_the_seeds_of_random_starts() -> None:
    witness, random = Witness(Oddity()), np.random.default_rng(1)
    env = OneSide(witness.game, 3, opponent=witness, opening_plies=3)
    env.reset(np.random.default_rng(1))
    for _ in range(60):
        env.play([random.choice(np.flatnonzero(mask)) for mask in env.batch.masks])
        env.renew()
    assert witness.begun > 3
