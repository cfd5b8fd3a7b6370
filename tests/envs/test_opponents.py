"""Opponents: one contract at every environment with an agent, and the truth about every end."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from ludarium.envs import Game, Position, make_game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.one_side import OneSide
from ludarium.envs.opponents import FromArrays, FromPlayer
from ludarium.envs.single import SingleAgentEnv
from ludarium.envs.vector import VectorBoardGameEnv
from tests.games import ALL_GAMES, after, first_legal, slow_but
from tests.oddity import Oddity
from tests.tictactoe import TicTacToe


class Listener:
    """Plays the first of its ``wanted`` actions that is legal, checks and notes what it is told."""

    def __init__(self, wanted: Sequence[int] = range(9)) -> None:
        self.wanted = wanted
        self.begun: list[GameInPlay] = []
        self.told: list[tuple[GameInPlay, int | None]] = []

    def begin(self, games: Sequence[GameInPlay]) -> None:
        assert all(game.memory is None for game in games)
        self.begun += games

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> list[int]:
        for game, state in zip(games, states, strict=True):
            assert game.position.state == state
            assert game.position.mover == game.seat
            assert game.memory is None or game.memory < len(game.actions)
            game.memory = len(game.actions)
            begun = game.game.start(game.seed, game.start)
            assert after(begun, *game.actions) == game.position
        return [self._choose(game.position) for game in games]

    def _choose(self, position: Position) -> int:
        return next(action for action in self.wanted if position.mask[action])

    def finish(self, games: Sequence[GameInPlay]) -> None:
        self.told += [(game, game.reward) for game in games]

    @property
    def rewards(self) -> list[int | None]:
        assert len({id(game) for game, _ in self.told}) == len(self.told)  # each game once
        return [reward for _, reward in self.told]


@pytest.fixture(autouse=True)
def opponents_are_told_the_agents_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each game, what a player's handle says of it for the other side."""
    finish = FromPlayer.finish

    def checked(made: FromPlayer, games: np.ndarray, rewards: np.ndarray) -> None:
        handles = [made._handles[game] for game in games.tolist()]
        finish(made, games, rewards)
        told = [np.nan if each.reward is None else -each.reward for each in handles]
        np.testing.assert_array_equal(rewards, told)

    monkeypatch.setattr(FromPlayer, "finish", checked)


class Face:
    """One or several games of an environment for one agent, through the same methods.

    Attributes:
        observations, masks: what is shown of each game.
    """

    def __init__(self, make: Callable[..., Any], is_vector: bool) -> None:
        self.make, self.is_vector = make, is_vector

    def begin(self, game: Game, opponent: Any, **arguments: Any) -> None:
        self.env = self.make(game, opponent=opponent, **({"seat": 0} | arguments))
        self.reset()

    def reset(self, seed: int = 1) -> None:
        if isinstance(self.env, gymnasium.Env | gymnasium.vector.VectorEnv):
            observations, info = self.env.reset(seed=seed)
            self._show(observations, info["action_mask"])
        else:
            self.env.seed(seed)
            self._show(self.env.reset(), self.env.action_masks())

    def _show(self, observations: np.ndarray, masks: np.ndarray) -> None:
        self.observations = observations if self.is_vector else observations[None]
        self.masks = masks if self.is_vector else masks[None]

    def step(self, action: int) -> Any:
        return self.env.step(np.array([action]) if self.is_vector else action)

    def play(self, actions: Sequence[int]) -> list[tuple[np.ndarray, float, bool, bool]]:
        """Play in each game; last observation, reward, terminated, truncated. Ended games begin."""
        if not self.is_vector:
            last, reward, terminated, truncated, info = self.env.step(actions[0])
            results = [(last, reward, terminated, truncated)]
            if terminated or truncated:
                assert not info["action_mask"].any()
                last, info = self.env.reset()
            self._show(last, info["action_mask"])
        elif self.make is sb3:
            observations, rewards, dones, infos = self.env.step(np.array(actions))
            results = []
            for seen, reward, done, info in zip(observations, rewards, dones, infos, strict=True):
                ends = {"terminal_observation", "TimeLimit.truncated"} if done else set()
                assert set(info) == {"action_mask", "illegal_action"} | ends
                is_cut = info.get("TimeLimit.truncated", False)
                last = info.get("terminal_observation", seen)
                results.append((last, reward, done and not is_cut, is_cut))
            self._show(observations, np.stack(self.env.env_method("action_masks")))
        else:
            observations, rewards, terminated, truncated, infos = self.env.step(np.array(actions))
            over, lasts = terminated | truncated, list(observations)
            assert ("final_obs" in infos) == over.any()
            if over.any():
                np.testing.assert_array_equal(infos["_final_obs"], over)
                np.testing.assert_array_equal(infos["_final_info"], over)
                assert not infos["final_info"]["action_mask"].any()
                for number in np.flatnonzero(over):
                    lasts[number] = infos["final_obs"][number]
            results = list(zip(lasts, rewards, terminated, truncated, strict=True))
            self._show(observations, infos["action_mask"])
        return results

    @property
    def positions(self) -> list[Position]:
        if not self.is_vector:
            return [self.env.aec.position.copy()]
        batch = getattr(self.env, "side", self.env).batch
        return [batch.position(number) for number in range(batch.num_envs)]

    @property
    def seats(self) -> list[int]:
        if not self.is_vector:
            return [self.env.seat]
        return getattr(self.env, "side", self.env).seats.tolist()

    def __repr__(self) -> str:
        return self.make.__name__


def sb3(game: Game, **arguments: Any) -> Any:
    pytest.importorskip("stable_baselines3")
    from ludarium.envs.sb3 import BoardGameVecEnv

    return BoardGameVecEnv(game, **arguments)


FACES = [
    Face(SingleAgentEnv, is_vector=False),
    Face(VectorBoardGameEnv, is_vector=True),
    Face(sb3, is_vector=True),
]
each_face = pytest.mark.parametrize("face", FACES, ids=repr)


# What the agent is shown.


@each_face
@pytest.mark.parametrize("canonical", [False, True])
@pytest.mark.parametrize("name", slow_but(["corso", "oddity"], ALL_GAMES))
def test_steps_are_the_agents_action_and_the_opponents_replies(
    face: Face, canonical: bool, name: str
) -> None:
    game, random, seats_seen, ends = ALL_GAMES[name](), np.random.default_rng(0), set(), 0
    many = {"num_envs": 3} if face.is_vector else {}
    dtype = np.uint8 if many and canonical and game.binary_observation else np.float32
    many |= {"observation_dtype": dtype} if many else {}
    face.begin(game, first_legal, seat="alternate", canonical=canonical, **many)
    for _ in range(200):
        positions, seats = face.positions, face.seats
        seats_seen |= set(seats)
        shown, masks = face.observations, face.masks
        kept = shown.copy(), masks.copy()
        for position, seat, seen, mask in zip(positions, seats, shown, masks, strict=True):
            assert position.mover == seat
            expected = position.observation(seat, dtype, canonical=canonical)
            np.testing.assert_array_equal(seen, expected)
            assert seen.dtype == dtype
            number = position.turned_action if canonical else int
            legal = [position.mask[number(action)] for action in range(game.num_actions)]
            np.testing.assert_array_equal(mask, legal)
        actions = [int(random.choice(np.flatnonzero(mask))) for mask in masks]
        results = face.play(actions)
        np.testing.assert_array_equal(shown, kept[0])  # they belong to the caller
        np.testing.assert_array_equal(masks, kept[1])
        for number, (position, seat) in enumerate(zip(positions, seats, strict=True)):
            action = actions[number]
            position.play(position.turned_action(action) if canonical else action)
            while not position.is_over and position.mover != seat:
                position.play(first_legal(position))
            last, reward, terminated, truncated = results[number]
            last_expected = position.observation(seat, dtype, canonical=canonical)
            np.testing.assert_array_equal(last, last_expected)
            assert reward == position.rewards[seat]
            assert truncated == position.is_truncated
            assert (terminated or truncated) == position.is_over
            if position.is_over:
                assert face.seats[number] == 1 - seat
                ends += 1
            else:
                assert face.positions[number] == position
    assert seats_seen == {0, 1}
    assert ends > 1


@each_face
@pytest.mark.parametrize("opponent", ["random", "uct:1"])
def test_the_same_seed_gives_the_same_games(face: Face, opponent: str) -> None:
    seats = set()
    if opponent != "random":
        pytest.importorskip("ludarium.training.agents")

    def line(seed: int) -> list[bytes]:
        opening = {"opening_plies": 3} if face.make is sb3 else {}
        face.begin(Oddity(), opponent, seat="random", canonical=True, **opening)
        face.reset(seed)
        found = [face.observations.tobytes()]
        for _ in range(30):
            face.play([mask.argmax() for mask in face.masks])
            found.append(face.observations.tobytes())
            seats.update(face.seats)
        return found

    assert line(1) == line(1) != line(2)
    assert seats == {0, 1}


@each_face
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": 2}, "seat is 2; accepted: 0, 1, 'random'"),
        ({"seat": "left"}, "seat is 'left'; accepted: 0, 1, 'random'"),
        ({"seat": True}, "seat is True"),
        ({"seat": 10**5000}, "seat is <an integer of 16610 bits>; accepted"),
        ({"illegal": None}, "illegal is None; accepted: 'lose', 'raise'"),
        ({"size": 30}, "option 'size' is 30"),
    ],
)
def test_arguments_out_of_their_range_are_named(
    face: Face, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        face.make("corso", **arguments)


# How a game ended.


@each_face
@pytest.mark.parametrize(
    ("actions", "wanted", "reward"),
    [
        ([0, 1, 2], [8, 7, 3], -1),  # the agent wins
        ([8, 3, 5], [0, 1, 2], 1),
        ([0, 2, 3, 5, 7], [4, 1, 6, 8], 0),
    ],
)
def test_of_a_game_that_ends_by_the_rules(
    face: Face, actions: list[int], wanted: list[int], reward: int
) -> None:
    listener = Listener(wanted)
    face.begin(TicTacToe(), listener)
    for action in actions:
        assert listener.told == []
        face.step(action)
    assert listener.rewards == [reward]
    handle = listener.told[0][0]
    assert handle.position.is_over
    assert handle.forfeited_by is None
    assert len(handle.actions) == handle.position.ply


@each_face
def test_of_a_game_at_its_ply_cap(face: Face) -> None:
    listener = Listener([6])
    face.begin(Oddity(max_plies=2), listener)
    ((_, reward, terminated, truncated),) = face.play([6])
    assert (reward, terminated, truncated) == (0, False, True)
    assert listener.rewards == [0]
    assert listener.told[0][0].position.is_truncated


@each_face
def test_of_a_game_that_the_agent_forfeits(face: Face) -> None:
    listener = Listener()
    face.begin(TicTacToe(), listener)
    face.step(4)
    face.step(4)
    assert listener.rewards == [1]
    assert listener.told[0][0].forfeited_by == 0
    assert not listener.told[0][0].position.is_over


@each_face
def test_of_a_game_that_is_abandoned(face: Face) -> None:
    listener = Listener()
    face.begin(TicTacToe(), listener)
    face.step(4)
    face.reset()
    assert listener.rewards == [None]
    face.step(4)
    face.env.close()
    face.env.close()
    assert listener.rewards == [None, None]
    assert len(listener.begun) == 2
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        face.step(0)
    face.reset()
    face.step(4)
    assert len(listener.begun) == 3


def test_of_a_game_that_a_limit_of_steps_cuts_off() -> None:
    listener = Listener()
    env = VectorBoardGameEnv(TicTacToe(), 1, opponent=listener, seat=0, max_episode_steps=1)
    env.reset(seed=1)
    env.step([4])
    assert listener.rewards == [None]


@each_face
@pytest.mark.parametrize("canonical", [False, True])
def test_of_a_game_that_ends_before_the_agents_first_turn(face: Face, canonical: bool) -> None:
    """In Oddity who takes two counters plays again, and may take all at once."""
    listener = Listener([5, 3, 1, 4, 2, 0, 6])
    face.begin(Oddity(), listener, seat=1, canonical=canonical)
    for _ in range(200):
        face.step(6 if face_mask(face)[6] else 0)
    ends = [game.position.ply for game, reward in listener.told if reward == 1]
    assert min(ends) <= 3  # of which the agent had none
    assert len(listener.begun) == len(listener.rewards) + (not is_over(face))


def face_mask(face: Face) -> np.ndarray:
    if is_over(face):
        face.env.reset()
    masks = face.env.action_masks() if hasattr(face.env, "action_masks") else face.env.batch.masks
    return np.reshape(masks, -1)


def is_over(face: Face) -> bool:
    return not face.is_vector and face.env.aec.position.is_over


@each_face
def test_games_that_give_the_agent_no_turn_are_given_up(face: Face) -> None:
    with pytest.raises(ValueError, match="before the agent's first turn with seat=1"):
        face.begin(Oddity(max_plies=1), "random", seat=1)


@pytest.mark.parametrize("canonical", [False, True])
def test_of_games_side_by_side_with_openings(canonical: bool) -> None:
    listener, random = Listener([5, 3, 1, 4, 2, 0, 6]), np.random.default_rng(1)
    env = OneSide(Oddity(), 3, opponent=listener, opening_plies=3, canonical=canonical)
    env.reset(np.random.default_rng(1))
    for _ in range(60):
        env.play([random.choice(np.flatnonzero(mask)) for mask in env.batch.masks])
        env.renew()
    assert len(listener.begun) == len(listener.rewards) + 3 > 6


def test_an_opening_that_would_end_the_game_is_left_out_whole() -> None:
    """Of none to three plies, two of the four lengths."""
    env = OneSide(Oddity(max_plies=2), 1000, seat="both", opening_plies=3)
    env.reset(np.random.default_rng(1))
    assert np.bincount(env.batch.states["ply"]) / 1000 == pytest.approx([3 / 4, 1 / 4], abs=0.05)


# Opponents that fail.


@each_face
@pytest.mark.parametrize("answer", [99, -1, 4, None, 0.5, "z9", [0, 1]])
@pytest.mark.parametrize("canonical", [False, True])
def test_an_opponent_that_breaks_the_rules_stops_the_game(
    face: Face, answer: Any, canonical: bool
) -> None:
    face.begin(TicTacToe(), lambda position: answer, canonical=canonical)
    with pytest.raises(ValueError, match=r"opponent|z9"):
        face.step(4)
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        face.step(0)
    face.reset()


# What may be an opponent.


def first_by_name(position: Position) -> str:
    return position.action_to_text(first_legal(position))


def first_of_many(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    assert observations.shape[0] == masks.shape[0]
    return masks.argmax(axis=1)


class Chooses:
    """Stands for an object with a method that plays."""

    def __call__(self, position: Position) -> np.ndarray:
        return np.array([first_legal(position)])


@each_face
@pytest.mark.parametrize(
    "opponent",
    [first_legal, first_by_name, Chooses(), FromArrays(first_of_many), Listener(range(30))],
    ids=lambda opponent: getattr(opponent, "__name__", type(opponent).__name__),
)
@pytest.mark.parametrize("canonical", [False, True])
def test_each_kind_of_opponent_plays_the_same_everywhere(
    face: Face, opponent: Any, canonical: bool
) -> None:
    game = make_game("corso", size=3)
    face.begin(game, opponent, canonical=canonical)
    for action in (8, 7, 5):
        face.step(action)
    expected = game.start()
    for action in (8, 7, 5):
        expected.play(action)
        expected.play(first_legal(expected))
    assert face.positions == [expected]


@each_face
@pytest.mark.parametrize(
    "opponent",
    [None, "", 3, first_of_many, Listener, lambda: 0, TicTacToe(), "no_such_agent"],
    ids=["None", "empty", "3", "arrays", "class", "no argument", "game", "unknown name"],
)
def test_what_is_no_opponent_is_refused_when_the_environment_is_made(
    face: Face, opponent: Any
) -> None:
    with pytest.raises(ValueError, match=r"opponent is|no_such_agent"):
        face.make(TicTacToe(), opponent=opponent)


def test_networks_and_agents_of_another_game_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"as_agent\(network, game\)"):
        SingleAgentEnv(TicTacToe(), opponent=torch.nn.Linear(3, 3))
    agents = pytest.importorskip("ludarium.training.agents")
    other = agents.RandomAgent(make_game("corso"))
    with pytest.raises(ValueError, match="the opponent plays Corso"):
        SingleAgentEnv(TicTacToe(), opponent=other)


# Copies.

COPIES = [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
each_copy = pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle"])


@each_copy
@each_face
def test_a_copy_in_mid_game_tells_its_opponent_of_its_own_game(
    face: Face, copied: Callable
) -> None:
    face.begin(TicTacToe(), Listener([8, 7, 3]))
    face.step(0)
    twin = copied(face.env)
    actions = [1, 2]
    for action in actions:
        twin.step(np.array([action]) if face.is_vector else action)
    side = twin._side if hasattr(twin, "_side") else getattr(twin, "side", twin)
    assert side._opponents.player.rewards == [-1]
    assert len(side._opponents.player.told[0][0].actions) == 5
    original = face.env._side if hasattr(face.env, "_side") else getattr(face.env, "side", face.env)
    assert original._opponents.player.rewards == []
    for action in (1, 4):
        face.step(action)
    assert original._opponents.player.told == []


QUICK_AGENTS = ["uct:20", "greedy", "corso:8", "corso:0", "level:2", "level:auto?elo=960"]


@each_copy
@pytest.mark.parametrize(
    "opponent",
    slow_but(QUICK_AGENTS, [*QUICK_AGENTS, "endgame:corso:8?positions=100", "corso?time=1ms"]),
)
@pytest.mark.parametrize("is_vector", [False, True])
def test_copies_with_any_opponent_answer_like_the_original(
    copied: Callable, opponent: str, is_vector: bool
) -> None:
    pytest.importorskip("torch")
    env: Any
    if is_vector:
        env = VectorBoardGameEnv("corso", 2, opponent=opponent, seat=0)
    else:
        env = SingleAgentEnv("corso", opponent=opponent, seat=0)
    _, info = env.reset(seed=1)
    for _ in range(2):
        action = info["action_mask"].argmax(axis=-1)
        *_, info = env.step(action)
    twin = copied(env)
    action = info["action_mask"].argmax(axis=-1)
    results = [each.step(action) for each in (env, twin)]
    if "time" not in opponent:  # what is found in a time differs
        for one, other in zip(results[0][:4], results[1][:4], strict=True):
            np.testing.assert_array_equal(one, other)
    assert twin.observation_space is not env.observation_space


@each_copy
def test_a_batch_and_its_copy_go_separate_ways(copied: Callable) -> None:
    batch = BatchEnv(TicTacToe(), 3, seed=1)
    batch.step([4, 4, 4])
    twin = copied(batch)
    twin.step([0, 0, 0])
    assert batch.states["ply"].tolist() == batch.movers.tolist() == [1, 1, 1]
    assert batch.masks[:, 0].all()
    assert twin.states["ply"].tolist() == [2, 2, 2]
    assert twin.movers.tolist() == [0, 0, 0]
    assert not twin.masks[:, 0].any()
    assert (twin.observations != batch.observations).any()
    with pytest.raises(ValueError, match="is taken"):
        twin.step([0, 0, 0])
    batch.step([0, 0, 0])
    assert (batch.random_actions() == twin.random_actions()).all()
