"""One side of many games in parallel, against opponents: the base of the vector environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from ludarium.base.memory import read_only, sealed
from ludarium.base.numbers import checked_whole

from .aec import unit_box
from .batch import BatchEnv
from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import Position, starts_in
from .engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED
from .opponents import (
    BOTH,
    MOST_BEGINNINGS,
    SEATS,
    FromPlayer,
    Opponent,
    check_choice,
    make_opponents,
    no_turn,
    restarted,
)

#: The most random plies that a game may start with.
MOST_OPENING_PLIES = 100
_OUTPUTS = "seats", "rewards", "terminated", "truncated", "illegal_actions"


class OneSide:
    """One side of N games for an agent; opponents play the other sides.

    `play` plays the agent's action in each game and then the opponents' actions, up to the agent's
    next turn. Finished games stay as they are until `renew` restarts them.

    Args:
        game: rules from `ludarium.envs.make_game`.
        num_envs, opponent, seat, illegal, observation_dtype, canonical: as for
            `VectorBoardGameEnv`.
        opening_plies: each game starts with a random number of random plies, from 0 to this, which
            is at most `MOST_OPENING_PLIES`; an opening that would end the game is omitted.

    Attributes:
        batch: the `BatchEnv` of both sides. In all unfinished games the agent is to move, so
            observations and masks are the agent's.
        seats: int64[N], the agent's player index in each game; with ``"both"``, the mover.
        rewards: float32[N], the agent's reward for its last action.
        terminated, truncated: bool[N], whether each game is over, and how.
        illegal_actions: int64[N], the illegal action by which the agent lost each game in the last
            step, or -1.

    These arrays change in place, and are read-only for the caller.

    Raises:
        ValueError, ImportError, FileNotFoundError: as for `VectorBoardGameEnv`.
    """

    seats: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    illegal_actions: np.ndarray

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponent: Opponent = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        opening_plies: int = 0,
        canonical: bool = False,
    ) -> None:
        check_choice("seat", seat, (*SEATS, BOTH))
        if seat == BOTH and opponent != "random":
            raise ValueError('with seat="both" the agent plays both sides: leave out the opponent')
        check_choice("illegal", illegal, ("lose", "raise"))
        self._opponent = opponent
        self._opponents = make_opponents(opponent, game, None, self._handle)
        self.batch = BatchEnv(
            game, num_envs, threads=1, observation_dtype=observation_dtype, canonical=canonical
        )
        self._seats = np.zeros(num_envs, np.int64)
        self._rewards = np.zeros(num_envs, np.float32)
        self._terminated = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._illegal_actions = np.full(num_envs, -1)
        self.opening_plies = checked_whole("opening_plies", opening_plies, 0, MOST_OPENING_PLIES)
        self._every = sealed(np.arange(num_envs))
        self._seat = seat
        self._refused = game.new_states(0)  # positions in which the illegal actions were played
        self._raises = illegal == "raise"
        self._has_begun = False
        self._actions: list[list[int]] = []  # actions of each game, if a `Player` plays
        self._seeds = np.zeros(num_envs, np.int64)  # seeds of the starts, if a `Player` plays
        self._starts: list[Position] | None = None  # where all games begin, during a reset
        self._texts: list[str | None] = []  # where each began, if a `Player` plays
        self._in_play = np.zeros(num_envs, np.bool_)  # the opponent still has to learn of the end
        self._is_ready = False  # in every unfinished game the agent is to move
        self._random = np.random.default_rng()
        self._give_views()

    def _give_views(self) -> None:
        """Give callers views of the arrays."""
        for name in _OUTPUTS:
            setattr(self, name, read_only(getattr(self, f"_{name}")))

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy or pickle; it leaves out the views, which would become copies."""
        return {name: value for name, value in vars(self).items() if name not in _OUTPUTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._give_views()

    @property
    def is_over(self) -> np.ndarray:
        """bool[N], whether each game is over."""
        return self._terminated | self._truncated

    def reset(
        self,
        random: np.random.Generator | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Start all games anew, each up to the agent's first turn.

        Args:
            random: fixes seats, random starts, openings and an opponent given by name from here
                on; without it, their random numbers continue.
            options: as for `BatchEnv.reset`.

        Raises:
            ValueError: see `BatchEnv.reset`; nothing is changed. Or an opponent chose an illegal
                action, or a game ended `MOST_BEGINNINGS` times before the agent's first turn: only
                another `reset` can continue.
        """
        starts = starts_in(self.batch.game, options, len(self._every))
        self.abandon()
        if random is not None or not self._has_begun:
            self._random = random or self._random
            self.batch.reset(int(self._random.integers(2**63)))
            game, made = self.batch.game, self._opponents
            self._opponents = restarted(self._opponent, made, game, self._random, self._handle)
            if isinstance(self._opponents, FromPlayer):
                self._actions = [[] for _ in self._every]
                self._texts = [None] * len(self._every)
        self._has_begun = True
        self._illegal_actions[:], self._refused = -1, self._refused[:0]
        self._seats[:] = (self._every + 1) % 2  # "alternate" swaps them in `_begin`
        try:
            self._starts = starts
            self._begin(self._every)
        finally:
            self._starts = None  # games that restart by themselves begin at the game's start
        self._take_sides()
        self._is_ready = True

    def resume(self, snapshot: Mapping[str, np.ndarray], seats: np.ndarray) -> None:
        """Go on, after a `reset`, from a `BatchEnv.snapshot`, with the agent in seats int[N].

        Raises:
            ValueError: see `BatchEnv.resume`.
        """
        self.batch.resume(snapshot)
        self._seats[:] = seats

    def abandon(self) -> None:
        """Tell the opponents that the games in play are abandoned; `reset` begins others."""
        self._is_ready = False
        games = np.flatnonzero(self._in_play)
        self._finish(games, np.full(len(games), np.nan, np.float32))

    def play(self, actions: Any) -> None:
        """Play the agent's action in each game, and the opponents' up to its next turn.

        Raises:
            ValueError: the actions are not N integers from 0 to ``num_actions`` - 1, or one is not
                legal and ``illegal="raise"``: nothing has changed. Or an opponent chose an illegal
                action: only `reset` can continue.
            gymnasium.error.ResetNeeded: the games have not begun or were abandoned, an error has
                stopped them, or some are over: call `renew` first.
        """
        batch = self.batch
        self.require_ready()
        if self.is_over.any():
            raise ResetNeeded("some of the games are over: call renew() first")
        is_legal, actions = batch.are_legal(actions), np.asarray(actions)
        if self._raises and not is_legal.all():
            index = int(np.argmin(is_legal))
            raise ValueError(batch.refusal(index, actions[index]))
        self._is_ready = False
        self._play(np.flatnonzero(is_legal), actions[is_legal])
        self._play_opponents(is_legal)
        outcomes = batch.records["outcome"]
        self._refused = batch.records[~is_legal]
        self._illegal_actions[:] = np.where(is_legal, -1, actions)
        self._rewards[:] = np.where(is_legal, self._rewards_of(self._every), -1)
        self._truncated[:] = (outcomes == TRUNCATED) & is_legal
        self._terminated[:] = ((outcomes != ONGOING) | ~is_legal) & ~self._truncated
        over = np.flatnonzero(self.is_over)
        self._finish(over, self._rewards[over])
        self._take_sides()
        self._is_ready = True

    @property
    def refusals(self) -> dict[int, str]:
        """Why the illegal actions of the last step are so, by the numbers of their games."""
        games = np.flatnonzero(self.illegal_actions >= 0)
        refusals = {}
        for game, state in zip(games.tolist(), self._refused, strict=True):
            position = Position.of_state(self.batch.game, state)
            action = int(self.illegal_actions[game])
            if self.batch.canonical:
                action = position.turned_action(action)
            refusals[game] = position.refusal(action)
        return refusals

    def last_masks(self) -> np.ndarray:
        """int8[N, A], the masks after the last step, until `renew`.

        They are all zero where the rules, or an illegal action, ended the game.
        """
        masks = self.batch.masks.copy()
        masks[self.illegal_actions >= 0] = 0
        return masks

    def truncate(self, games: np.ndarray) -> None:
        """Truncate games int64[K]; to the opponents those that go on by the rules are abandoned."""
        self._truncated[games] = True
        going = games[self._in_play[games]]
        self._finish(going, np.full(len(going), np.nan, np.float32))

    def require_ready(self) -> None:
        """Raise ``ResetNeeded`` unless the agent is to move in all unfinished games."""
        if not self._is_ready:
            raise ResetNeeded("the games have not begun, or have been stopped: call reset() first")

    def _rewards_of(self, games: np.ndarray) -> np.ndarray:
        """float32[K], the agent's rewards in some of the games, by the rules."""
        outcomes, seats = self.batch.records["outcome"][games], self._seats[games]
        won, lost = outcomes == PLAYER_0_WINS + seats, outcomes == PLAYER_1_WINS - seats
        return won.astype(np.float32) - lost.astype(np.float32)

    def _finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """Tell the opponents, once, that games are over."""
        self._in_play[games] = False
        if len(games):
            self._opponents.finish(games.copy(), rewards)

    def renew(self) -> None:
        """Restart the finished games, each up to the agent's first turn.

        Raises:
            ValueError: an opponent chose an illegal action, or a game ended `MOST_BEGINNINGS` times
                before the agent's first turn: only `reset` can continue.
            gymnasium.error.ResetNeeded: the games have not begun or were abandoned, or an error has
                stopped them.
        """
        self.require_ready()
        self._is_ready = False
        self._begin(np.flatnonzero(self.is_over))
        self._take_sides()
        self._is_ready = True

    def _take_sides(self) -> None:
        """With ``"both"``, make the mover of each game the agent's side."""
        if self._seat == BOTH:
            self._seats[:] = self.batch.records["mover"]

    def write_final_observations(self) -> np.ndarray:
        """Write the agent's observations of finished games into those of `batch`.

        Returns:
            The games' numbers, int64[K].
        """
        games = np.flatnonzero(self.is_over)
        self.batch.observe(games, self._seats[games])
        return games

    def other_views(self, games: np.ndarray) -> np.ndarray:
        """Observations of games int64[K] from the other side, [K, ...], as a new array."""
        self.batch.observe(games, 1 - self._seats[games])
        others = self.batch.observations[games]
        self.batch.observe(games, self._seats[games])
        return others

    def _begin(self, games: np.ndarray) -> None:
        """Start some games; repeat for a game that ends before the agent's first turn."""
        self._terminated[games] = self._truncated[games] = False
        for _ in range(MOST_BEGINNINGS):
            if not len(games):
                return
            self._restart(games)
            if self._seat == "random":
                self._seats[games] = self._random.integers(2, size=len(games))
            elif self._seat == "alternate":
                self._seats[games] = 1 - self._seats[games]
            elif self._seat != BOTH:
                self._seats[games] = int(self._seat)
            self._play_openings(games)
            self._in_play[games] = True
            self._opponents.begin(games.copy())
            self._play_opponents(np.ones(len(self._every), np.bool_))
            games = games[self._is_finished(games)]
            self._finish(games, self._rewards_of(games))
        raise no_turn(self._seat)

    def _is_finished(self, games: np.ndarray) -> np.ndarray:
        """bool[K], whether games are over by the rules."""
        return self.batch.records["outcome"][games] != ONGOING

    def _play_openings(self, games: np.ndarray) -> None:
        if not self.opening_plies or not len(games):
            return
        batch = self.batch
        lengths = self._random.integers(self.opening_plies + 1, size=len(games))
        for ply in range(self.opening_plies):
            going = games[lengths > ply]
            self._play(going, batch.random_actions()[going])
            ended = self._is_finished(games)
            self._restart(games[ended])
            lengths[ended] = 0

    def _play_opponents(self, goes_on: np.ndarray) -> None:
        """Let the opponents play until the agent is to move in each game that goes on."""
        batch = self.batch
        while self._seat != BOTH:
            is_over = self._is_finished(self._every)
            is_opponents = batch.records["mover"] != self._seats
            games = np.flatnonzero(is_opponents & ~is_over & goes_on)
            if not len(games):
                return
            actions = self._opponents.choose(batch, games.copy())
            try:
                self._play(games, actions)
            except ValueError as refusal:
                raise ValueError(f"the opponent chose an illegal action: {refusal}") from None

    def _play(self, games: np.ndarray, actions: Any) -> None:
        """Play in these games, and note the actions for a `Player`."""
        batch = self.batch
        if not self._actions:
            batch.play(games, actions)
            return
        before = [batch.position(game) for game in games.tolist()] if batch.canonical else []
        batch.play(games, actions)
        on_board = [int(action) for action in actions]
        if batch.canonical:
            on_board = [
                position.turned_action(action)
                for position, action in zip(before, on_board, strict=True)
            ]
        for game, action in zip(games, on_board, strict=True):
            self._actions[game].append(action)

    def _restart(self, games: np.ndarray) -> None:
        starts, seeds = self._starts, None
        if self._actions:  # a `Player` is told all of them
            different = {id(start): start for start in starts or ()}
            texts = {key: start.text for key, start in different.items()}
            for game in games:
                self._actions[game] = []
                self._texts[game] = None if starts is None else texts[id(starts[game])]
            if self.batch.game.random_start:
                seeds = [int(self._random.integers(2**63)) for _ in games]
                self._seeds[games] = seeds
        self.batch.restart(games, seeds, starts)

    def _handle(self, game: int) -> GameInPlay:
        """A `Player`'s handle of a game."""
        seat, seed = 1 - int(self._seats[game]), int(self._seeds[game])
        return self.batch.in_play(game, seat, seed, self._actions[game], self._texts[game])


def agent_space(batch: BatchEnv) -> spaces.Box:
    """The space of one observation of ``batch``."""
    return unit_box(batch.game.observation_shape, batch.observations.dtype)
