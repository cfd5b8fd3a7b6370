"""One side of many games in parallel, against opponents: the base of all batched interfaces."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from .batch import BatchEnv
from .engine.game import Game
from .opponents import (
    SEATS,
    BatchPolicy,
    Chooser,
    Opponents,
    Player,
    PlayerOpponents,
    check_choice,
    check_opponent,
    make_agent,
)


class OneSide:
    """One side of N games for an agent; opponents play the other sides.

    `play` plays the agent's action in each game and then the opponents' actions, up to the agent's
    next turn. Finished games stay as they are until `renew` restarts them.

    Args:
        game, num_envs, opponent, seat, illegal, observation_dtype, canonical: as for
            `VectorBoardGameEnv`.
        opening_plies: each game starts with a random number of random plies, from 0 to this; an
            opening that would end the game is omitted.

    Attributes:
        batch: the `BatchEnv` of both sides. In all unfinished games the agent is to move, so
            observations and masks are the agent's.
        seats: int64[N], the player that the agent is in each game.
        rewards: float32[N], the agent's reward for its last action.
        terminated, truncated: bool[N], whether each game is over, and how.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponent: str | BatchPolicy | Opponents | Player = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        opening_plies: int = 0,
        canonical: bool = False,
    ) -> None:
        check_choice("seat", seat, SEATS)
        check_choice("illegal", illegal, ("lose", "raise"))
        if not isinstance(opponent, Opponents):
            check_opponent(opponent)
        self.batch = BatchEnv(
            game, num_envs, threads=1, observation_dtype=observation_dtype, canonical=canonical
        )
        self.seats = np.zeros(num_envs, np.int64)
        self.rewards = np.zeros(num_envs, np.float32)
        self.terminated = np.zeros(num_envs, np.bool_)
        self.truncated = np.zeros(num_envs, np.bool_)
        self.opening_plies = opening_plies
        self._every = np.arange(num_envs)
        self._seats = seat
        self._raises = illegal == "raise"
        self._opponent = opponent
        self._opponents: Opponents | None = None
        self._actions: list[list[int]] = []  # of each game, where a `Player` wants to know
        self._random = np.random.default_rng()

    @property
    def is_over(self) -> np.ndarray:
        """bool[N], whether each game is over."""
        return self.terminated | self.truncated

    def reset(self, random: np.random.Generator | None = None) -> None:
        """Start all games anew, each up to the agent's first turn.

        Args:
            random: fixes seats, random starts, openings and the opponents from here on;
                without it, they go on.
        """
        if random is not None or self._opponents is None:
            self._random = random or self._random
            self.batch.reset(int(self._random.integers(2**63)))
            self._opponents = self._make_opponents()
        self.seats[:] = (self._every + 1) % 2  # `_begin` changes sides
        self._begin(self._every)

    def play(self, actions: Any) -> None:
        """Play the agent's action in each game, and the opponents' up to its next turn.

        Raises:
            ValueError: the actions are not N integers; or one is not legal and
                ``illegal="raise"``; or an opponent chose an illegal action.
        """
        batch, games = self.batch, self._every
        actions = np.asarray(actions)
        if self._raises:
            self._play(games, actions)
            is_legal = np.ones(len(games), np.bool_)
        else:
            if actions.shape != games.shape or actions.dtype.kind not in "iu":
                raise ValueError(
                    f"actions must be integers of shape {games.shape}, not {actions.dtype} of "
                    f"{actions.shape}"
                )
            within = (actions >= 0) & (actions < batch.game.num_actions)
            is_legal = within & (batch.masks[games, np.where(within, actions, 0)] == 1)
            self._play(games[is_legal], actions[is_legal])
        self._play_opponents(is_legal)
        self.rewards[:] = np.where(is_legal, batch.rewards[games, self.seats], -1)
        self.terminated[:] = batch.terminated | ~is_legal
        self.truncated[:] = batch.truncated & is_legal
        over = np.flatnonzero(self.is_over)
        assert self._opponents is not None
        self._opponents.finish(over, self.rewards[over])

    def renew(self) -> None:
        """Restart the finished games, each up to the agent's first turn."""
        self._begin(np.flatnonzero(self.is_over))

    def observe_ends(self) -> np.ndarray:
        """Write the agent's observations of the finished games; return their indices, int64[K]."""
        games = np.flatnonzero(self.is_over)
        self.batch.observe(games, self.seats[games])
        return games

    def _begin(self, games: np.ndarray) -> None:
        """Start some games; repeat for a game that ends before the agent's first turn."""
        assert self._opponents is not None
        batch = self.batch
        self.terminated[games] = self.truncated[games] = False
        while len(games):
            self._restart(games)
            if self._seats == "random":
                self.seats[games] = self._random.integers(2, size=len(games))
            elif self._seats == "alternate":
                self.seats[games] = 1 - self.seats[games]
            else:
                self.seats[games] = int(self._seats)
            self._play_openings(games)
            self._opponents.begin(games)
            self._play_opponents(np.ones(len(self._every), np.bool_))
            games = games[(batch.terminated | batch.truncated)[games]]

    def _play_openings(self, games: np.ndarray) -> None:
        if not self.opening_plies or not len(games):
            return
        batch = self.batch
        lengths = self._random.integers(self.opening_plies + 1, size=len(games))
        for ply in range(self.opening_plies):
            going = games[lengths > ply]
            self._play(going, batch.random_actions()[going])
            ended = (batch.terminated | batch.truncated)[games]
            self._restart(games[ended])
            lengths[ended] = 0

    def _play_opponents(self, goes_on: np.ndarray) -> None:
        """Let the opponents play until they are to move nowhere."""
        batch = self.batch
        while True:
            is_over = batch.terminated | batch.truncated
            games = np.flatnonzero((batch.movers != self.seats) & ~is_over & goes_on)
            if not len(games):
                return
            assert self._opponents is not None
            actions = self._opponents.choose(batch, games)
            try:
                self._play(games, actions)
            except ValueError as refusal:
                raise ValueError(f"the opponent chose an illegal action: {refusal}") from None

    def _play(self, games: np.ndarray, actions: Any) -> None:
        """Play in these games, and note what a `Player` wants to know."""
        batch = self.batch
        if not self._actions:
            batch.play(games, actions)
            return
        on_board = [int(action) for action in actions]
        if batch.canonical:
            on_board = [
                batch.position(int(game)).turned_action(action)
                for game, action in zip(games, on_board, strict=True)
            ]
        batch.play(games, actions)
        for game, action in zip(games, on_board, strict=True):
            self._actions[game].append(action)

    def _restart(self, games: np.ndarray) -> None:
        self.batch.restart(games)
        if self._actions:
            for game in games:
                self._actions[game].clear()

    def _make_opponents(self) -> Opponents:
        opponent: Any = self._opponent
        self._actions = []
        if isinstance(opponent, str):
            if opponent == "random":
                return Chooser(_at_random)
            opponent = make_agent(opponent, self.batch.game, int(self._random.integers(2**31)))
            if not isinstance(opponent, Player):
                return Chooser(partial(_ask, opponent))
        if isinstance(opponent, Player):
            self._actions = [[] for _ in self._every]
            return PlayerOpponents(opponent, self.batch, self.seats, self._actions)
        if isinstance(opponent, Opponents):
            return opponent
        return Chooser(partial(_follow, opponent))


# How opponents choose; module-level functions, so that they can be copied and pickled.


def _at_random(batch: BatchEnv, games: np.ndarray) -> np.ndarray:
    return batch.random_actions()[games]


def _follow(policy: BatchPolicy, batch: BatchEnv, games: np.ndarray) -> Any:
    return policy(batch.observations[games], batch.masks[games])


def _ask(agent: Any, batch: BatchEnv, games: np.ndarray) -> list[int]:
    """Ask an agent game by game; returns its actions in the frame of the batch."""
    positions = [batch.position(int(game)) for game in games]
    actions = [agent.choose(position) for position in positions]
    if not batch.canonical:
        return actions
    return [each.turned_action(action) for each, action in zip(positions, actions, strict=True)]


def agent_space(batch: BatchEnv) -> spaces.Box:
    """The space of one observation of ``batch``."""
    dtype = batch.observations.dtype
    return spaces.Box(dtype.type(0), dtype.type(1), batch.game.observation_shape, dtype.type)
