"""Many games of one kind at once, stepped in compiled code.

    from ludarium.envs import batch
    games = batch.make("corso", num_envs=4096, observation_dtype=np.uint8, seed=1)
    while training:
        actions = policy(games.observations, games.masks)
        games.step(actions)
        learn(games.rewards, games.terminated, ...)

`BatchEnv` plays both sides and starts a finished game anew within the same step; `OneSide`
is one side of it, against opponents, for whatever face; `VectorBoardGameEnv` is that as a
Gymnasium ``VectorEnv``. For Stable-Baselines3 there is `ludarium.envs.sb3`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .engine.game import Game
from .engine.kernels import rows
from .engine.position import Position
from .engine.rule import seed_rng
from .engine.threads import available_cores, split
from .registry import make_game
from .single import SEATS, as_game, check_choice, check_opponent, make_agent

#: Entries of observations and masks that a thread must have to write to be worth its start.
_WORTH_A_THREAD = 300_000


def make(
    name: str,
    num_envs: int,
    *,
    threads: int | None = None,
    observation_dtype: Any = np.float32,
    seed: int | np.random.SeedSequence | None = None,
    **options: Any,
) -> BatchEnv:
    """A `BatchEnv` of the game called ``name``.

    Raises:
        ValueError: no such game, option or option value, or see `BatchEnv`.
    """
    game = make_game(name, **options)
    return BatchEnv(game, num_envs, threads=threads, observation_dtype=observation_dtype, seed=seed)


class BatchEnv:
    """N games of one kind, stepped at once; each starts anew within the step that ends it.

    The arrays below are written in place by `reset` and `step` and are always the same
    objects, so look at them again after each step and copy what must stay.

    Attributes:
        observations: float32 or uint8 [N, *game.observation_shape], from the side of each
            game's player to move.
        masks: int8[N, A], 1 for each legal action; there always is one.
        movers: int8[N], index of the player to move; not contiguous.
        rewards: float32[N, 2], of both players for the ply just played: zeros, but +1 and -1
            where it ended the game and was no draw.
        terminated: bool[N], whether that ply ended the game by the rules.
        truncated: bool[N], whether it reached the ply cap.
        actions: int64[N], the actions of the last step.
        states: structured array [N], the rule records. Write to it only with `set_position`.
        game, num_envs, threads: what the batch was made with.

    Where a game ended, ``observations``, ``masks`` and ``movers`` belong to the next one.

    Args:
        game: rules with their options, from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        threads: how many threads share the work. By default all available cores, or fewer if
            the batch is too small for them to pay. Results do not depend on it.
        observation_dtype: ``np.float32``, or ``np.uint8`` where the game's observations are
            of zeros and ones.
        seed: fixes the random numbers of each game: of random starts and random actions.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        *,
        threads: int | None = None,
        observation_dtype: Any = np.float32,
        seed: int | np.random.SeedSequence | None = None,
    ) -> None:
        _require_positive("num_envs", num_envs)
        if threads is not None:
            _require_positive("threads", threads)
        dtype = _observation_dtype(game, observation_dtype)
        self.game = game
        self.num_envs = num_envs
        entries = num_envs * (int(np.prod(game.planes_shape)) + game.num_actions)
        worthwhile = max(1, entries // _WORTH_A_THREAD)
        self.threads = min(threads or min(available_cores(), worthwhile), num_envs)
        self.states = game.new_states(num_envs)
        self.movers: np.ndarray = self.states["mover"]
        self.actions = np.zeros(num_envs, np.int64)
        self.masks = np.zeros((num_envs, game.num_actions), np.int8)
        self.observations = np.zeros((num_envs, *game.observation_shape), dtype)
        self.rewards = np.zeros((num_envs, 2), np.float32)
        self.terminated = np.zeros(num_envs, np.bool_)
        self.truncated = np.zeros(num_envs, np.bool_)
        self._rngs = np.zeros((num_envs, 2), np.int64)
        self._batch = (
            game.tables,
            self.states,
            rows(self._rngs),
            rows(self.masks),
            rows(self.observations.reshape(num_envs, *game.planes_shape)),
            rows(self.rewards),
            self.terminated.view(np.uint8),
            self.truncated.view(np.uint8),
        )
        self.reset(np.random.SeedSequence() if seed is None else seed)

    def __repr__(self) -> str:
        return f"BatchEnv({self.game!r}, {self.num_envs}, threads={self.threads})"

    def reset(self, seed: int | np.random.SeedSequence | None = None) -> None:
        """Start all games anew; without a seed the games' random numbers go on."""
        if seed is not None:
            self._rngs[:] = seed_rng(seed, self.num_envs)
        self._run(self.game.kernels.batch_start)

    def step(self, actions: Any) -> None:
        """Play one action in each game.

        Args:
            actions: integers [N], the legal action of each game's player to move.

        Raises:
            ValueError: the actions are not N integers, or one of them is not legal; the
                message names the game, the action, its text and the reason. Nothing has
                changed then.
        """
        actions = np.asarray(actions)
        self._check(actions)
        self.actions[:] = actions
        self._run(self.game.kernels.batch_step, self.actions)

    def step_random(self) -> None:
        """Play a random legal action in each game: `random_actions` and `step` in one."""
        self._run(self.game.kernels.batch_step_random, self.actions)

    def random_actions(self, out: np.ndarray | None = None) -> np.ndarray:
        """Draw a legal action of each game uniformly, from the game's own random numbers.

        Args:
            out: int64[N] to write them into; without it, a new array.
        """
        if out is None:
            out = np.empty(self.num_envs, np.int64)
        elif out.shape != (self.num_envs,) or out.dtype != np.int64:
            raise ValueError(
                f"out must be int64 of shape ({self.num_envs},), not {out.dtype} of {out.shape}"
            )
        self._run(self.game.kernels.batch_choose, out)
        return out

    def play(self, games: Any, actions: Any) -> None:
        """Play in some of the games only. A finished game stays as it is until `restart`.

        Args:
            games: integers [K], the numbers of the games, each once.
            actions: integers [K], their actions.

        Raises:
            ValueError: as for `step`; finished games have no legal action.
        """
        games, actions = self._numbers("games", games), np.asarray(actions)
        self._check(actions, games)
        self.game.kernels.batch_play(self._batch, games, actions.astype(np.int64))

    def restart(self, games: Any) -> None:
        """Start some of the games anew.

        Args:
            games: integers [K], the numbers of the games.
        """
        self.game.kernels.batch_restart(self._batch, self._numbers("games", games))

    def observe(self, games: Any, players: Any) -> None:
        """Write the observations of some of the games from given sides.

        Args:
            games: integers [K], the numbers of the games.
            players: integers [K], the player (0 or 1) who looks at each.
        """
        games, players = self._numbers("games", games), np.asarray(players, np.int64)
        if players.shape != games.shape or ((players < 0) | (players > 1)).any():
            raise ValueError(f"players must be 0 or 1, one for each of {len(games)} games")
        self.game.kernels.batch_observe(self._batch, games, players)

    def position(self, index: int) -> Position:
        """A copy of one game's position."""
        return Position.of_state(self.game, self.states[index])

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that `resume` needs to go on exactly here; the arrays are this batch's own."""
        return {
            "states": self.states,
            "rngs": self._rngs,
            "masks": self.masks,
            "observations": self.observations,
        }

    def resume(self, snapshot: dict[str, np.ndarray]) -> None:
        """Go on where a batch of the same kind was, as its `snapshot` tells; no game is over.

        Raises:
            ValueError: it is of another game or another number of games.
        """
        own = self.snapshot()
        for name, array in own.items():
            other = snapshot[name]
            if other.shape != array.shape or other.dtype != array.dtype:
                raise ValueError(f"the saved games do not fit {self}: {name} is {other.dtype}")
        for name, array in own.items():
            array[...] = snapshot[name]
        for results in (self.rewards, self.terminated, self.truncated):
            results[...] = 0

    def _run(self, kernel: Callable, *arguments: np.ndarray) -> None:
        batch = self._batch
        if self.threads == 1:
            kernel(batch, *arguments, 0, self.num_envs)
        else:
            split(
                lambda begin, end: kernel(batch, *arguments, begin, end),
                self.num_envs,
                self.threads,
            )

    def _check(self, actions: np.ndarray, games: np.ndarray | None = None) -> None:
        """Raise ``ValueError`` unless the actions are legal, in all games or in ``games``."""
        masks = self.masks if games is None else self.masks[games]
        if actions.shape != (len(masks),) or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be integers of shape ({len(masks)},), "
                f"not {actions.dtype} of {actions.shape}"
            )
        place = self.game.kernels.first_illegal(masks, actions.astype(np.int64, copy=False))
        if place >= 0:
            index = place if games is None else games[place]
            raise ValueError(f"game {index}: {self.position(index).refusal(actions[place])}")

    def _numbers(self, name: str, games: Any) -> np.ndarray:
        """Game numbers as int64[K]; ``ValueError`` if they are not, or out of range."""
        games = np.asarray(games)
        if games.ndim != 1 or (games.size and games.dtype.kind not in "iu"):
            raise ValueError(
                f"{name} must be a list of integers, not {games.dtype} of {games.shape}"
            )
        games = games.astype(np.int64)
        if ((games < 0) | (games >= self.num_envs)).any():
            raise ValueError(f"{name} must be within 0 and {self.num_envs - 1}")
        return games


def _require_positive(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; accepted: a positive integer")


def _observation_dtype(game: Game, dtype: Any) -> np.dtype:
    try:
        chosen = np.dtype(dtype)
    except TypeError:
        chosen = None
    if chosen not in (np.float32, np.uint8):
        raise ValueError(f"observation_dtype is {dtype!r}; accepted: float32, uint8")
    if chosen == np.uint8 and not game.binary_observation:
        raise ValueError(
            f"observation_dtype is uint8, but observations of {game.name} are not all zeros "
            "and ones; use float32"
        )
    return chosen


#: Chooses for several games: from their observations and masks to one legal action each.
BatchPolicy = Callable[[np.ndarray, np.ndarray], Any]


@runtime_checkable
class Opponents(Protocol):
    """Who plays the other side in each game of a `OneSide`, and is told how it went."""

    def begin(self, games: np.ndarray) -> None:
        """These games, int64[K], are about to begin."""

    def choose(self, batch: BatchEnv, games: np.ndarray) -> Any:
        """Actions, integers [K], for games int64[K] of ``batch`` where the opponent is to move."""

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        """These games are over; ``rewards`` float32[K] are the agent's."""


class OneSide:
    """One side of N games, which an agent plays; opponents play the other sides.

    `play` is the agent's action in each game and then the opponents', up to the agent's next
    turn. Games that are over stay as they are until `renew` starts them anew.

    Args:
        game, num_envs, opponent, seat, illegal, observation_dtype: as for
            `VectorBoardGameEnv`.
        opening_plies: each game begins with 0 to so many random plies of both players; an
            opening that would end its game is left out.

    Attributes:
        batch: the `BatchEnv` of both sides; where the agent is to move, which it is everywhere
            but in games that are over, observations and masks are the agent's.
        seats: int64[N], the player that the agent is in each game.
        rewards: float32[N], the agent's, for its last action.
        terminated, truncated: bool[N], how the games stand.
    """

    def __init__(
        self,
        game: Game,
        num_envs: int,
        opponent: str | BatchPolicy | Opponents = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        opening_plies: int = 0,
    ) -> None:
        check_choice("seat", seat, SEATS)
        check_choice("illegal", illegal, ("lose", "raise"))
        if not isinstance(opponent, Opponents):
            check_opponent(opponent)
        self.batch = BatchEnv(game, num_envs, threads=1, observation_dtype=observation_dtype)
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
        self._random = np.random.default_rng()

    @property
    def is_over(self) -> np.ndarray:
        """Which games are over, bool[N]."""
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
            batch.play(games, actions)
            is_legal = np.ones(len(games), np.bool_)
        else:
            within = (actions >= 0) & (actions < batch.game.num_actions)
            is_legal = within & (batch.masks[games, np.where(within, actions, 0)] == 1)
            batch.play(games[is_legal], actions[is_legal])
        self._play_opponents(is_legal)
        self.rewards[:] = np.where(is_legal, batch.rewards[games, self.seats], -1)
        self.terminated[:] = batch.terminated | ~is_legal
        self.truncated[:] = batch.truncated & is_legal
        over = np.flatnonzero(self.is_over)
        assert self._opponents is not None
        self._opponents.finish(over, self.rewards[over])

    def renew(self) -> None:
        """Start the games that are over anew, each up to the agent's first turn."""
        self._begin(np.flatnonzero(self.is_over))

    def observe_ends(self) -> np.ndarray:
        """Show the games that are over from the agent's side; their numbers, int64[K]."""
        games = np.flatnonzero(self.is_over)
        self.batch.observe(games, self.seats[games])
        return games

    def _begin(self, games: np.ndarray) -> None:
        """Start some games anew; one that ends before the agent's first turn once more."""
        assert self._opponents is not None
        batch = self.batch
        self.terminated[games] = self.truncated[games] = False
        while len(games):
            batch.restart(games)
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
            batch.play(going, batch.random_actions()[going])
            ended = (batch.terminated | batch.truncated)[games]
            batch.restart(games[ended])
            lengths[ended] = 0

    def _play_opponents(self, goes_on: np.ndarray) -> None:
        """Let the opponents play wherever they are to move, until they are so nowhere."""
        batch = self.batch
        while True:
            is_over = batch.terminated | batch.truncated
            games = np.flatnonzero((batch.movers != self.seats) & ~is_over & goes_on)
            if not len(games):
                return
            assert self._opponents is not None
            actions = self._opponents.choose(batch, games)
            try:
                batch.play(games, actions)
            except ValueError as refusal:
                raise ValueError(f"the opponent chose an illegal action: {refusal}") from None

    def _make_opponents(self) -> Opponents:
        opponent = self._opponent
        if isinstance(opponent, str):
            if opponent == "random":
                return _Chooser(lambda batch, games: batch.random_actions()[games])
            agent = make_agent(opponent, self.batch.game, int(self._random.integers(2**31)))
            return _Chooser(
                lambda batch, games: [agent.choose(batch.position(game)) for game in games]
            )
        if isinstance(opponent, Opponents):
            return opponent
        return _Chooser(
            lambda batch, games: opponent(batch.observations[games], batch.masks[games])
        )


class _Chooser:
    """Opponents that only choose, the same way in all games."""

    def __init__(self, choose: Callable[[BatchEnv, np.ndarray], Any]) -> None:
        self.choose = choose

    def begin(self, games: np.ndarray) -> None:
        pass

    def finish(self, games: np.ndarray, rewards: np.ndarray) -> None:
        pass


class VectorBoardGameEnv(VectorEnv):
    """One side of N games as a Gymnasium ``VectorEnv``; an opponent plays the other sides.

    As N times `ludarium.envs.single.SingleAgentEnv`, in compiled code. The autoreset mode is
    ``SAME_STEP``: the step that ends a game returns the first observation of the next one;
    the last observation and info are in ``infos["final_obs"]`` and ``infos["final_info"]``
    (see Gymnasium). ``infos["action_mask"]`` is int8[N, A].

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        opponent: ``"random"``; a function from observations [K, ...] and masks [K, A] of the
            games where it is to move to K legal actions; the name of an agent, which is
            asked game by game; or `Opponents`, which may differ from game to game.
        seat: the player that the agent is: 0, 1, ``"random"`` or ``"alternate"`` (game after
            game; after a reset, 0 in the games with even numbers).
        illegal: an illegal action loses its game (``"lose"``), or is a ``ValueError`` that
            changes nothing (``"raise"``).
        observation_dtype: as for `BatchEnv`.
        **options: the game's options, if it is given by name.

    Attributes:
        batch: the `BatchEnv` of both sides.
        seats: int64[N], the player that the agent is in each game.

    Raises:
        ValueError: an argument out of its range, or an opponent that cannot be made.
        ImportError: the opponent needs the training package, which is not installed.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        *,
        opponent: str | BatchPolicy | Opponents = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        **options: Any,
    ) -> None:
        self.game = as_game(game, options)
        self._side = OneSide(self.game, num_envs, opponent, seat, illegal, observation_dtype)
        self.batch, self.seats = self._side.batch, self._side.seats
        self.num_envs = num_envs
        self.single_observation_space = agent_space(self.batch)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._has_begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all games anew, each up to the agent's first turn.

        Args:
            seed: one integer for all games; fixes seats, random starts and the opponent.
            options: not used.
        """
        super().reset(seed=seed)
        begins = seed is not None or not self._has_begun
        self._side.reset(self.np_random if begins else None)
        self._has_begun = True
        return self.batch.observations.copy(), self._infos()

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action in each game, and then the opponent's, up to the agent's next turn.

        Returns:
            Observations [N, ...], rewards float64[N], terminated and truncated bool[N], infos.

        Raises:
            ValueError: the actions are not N integers; or one is not legal and
                ``illegal="raise"``; or the opponent chose an illegal action.
        """
        side = self._side
        side.play(actions)
        rewards = side.rewards.astype(np.float64)
        terminated, truncated = side.terminated.copy(), side.truncated.copy()
        final = self._finals(terminated | truncated)
        side.renew()
        return self.batch.observations.copy(), rewards, terminated, truncated, self._infos() | final

    def _infos(self) -> dict[str, Any]:
        """Infos in Gymnasium's form: beside each array, which games it is about."""
        every = np.ones(self.num_envs, np.bool_)
        return {"action_mask": self.batch.masks.copy(), "_action_mask": every}

    def _finals(self, is_over: np.ndarray) -> dict[str, Any]:
        """Last observations and infos of the games that are over, from the agent's side."""
        games = self._side.observe_ends()
        if not len(games):
            return {}
        observations = np.full(self.num_envs, None, object)
        for game in games:
            observations[game] = self.batch.observations[game].copy()
        masks = np.zeros_like(self.batch.masks)
        return {
            "final_obs": observations,
            "_final_obs": is_over,
            "final_info": {"action_mask": masks, "_action_mask": is_over.copy()},
            "_final_info": is_over.copy(),
        }


def agent_space(batch: BatchEnv) -> spaces.Box:
    """The space of one observation of ``batch``."""
    dtype = batch.observations.dtype
    return spaces.Box(dtype.type(0), dtype.type(1), batch.game.observation_shape, dtype.type)
