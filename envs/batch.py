"""Many games of one kind in parallel, stepped in compiled code.

    from ludarium.envs import batch
    games = batch.make("corso", num_envs=4096, observation_dtype=np.uint8, seed=1)
    while training:
        actions = policy(games.observations, games.masks)
        games.step(actions)
        learn(games.rewards, games.terminated, ...)

`BatchEnv` has both sides of every game and restarts a finished game within the same step
(autoreset). `ludarium.envs.one_side` plays one side against opponents; `ludarium.envs.vector` makes
that a Gymnasium ``VectorEnv``, `ludarium.envs.sb3` a Stable-Baselines3 ``VecEnv``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .engine.game import Game
from .engine.kernels import rows
from .engine.position import Position
from .engine.rule import seed_rng
from .engine.threads import available_cores, split
from .registry import make_game

#: Entries of observations and masks per thread below which another thread does not pay.
_WORTH_A_THREAD = 300_000


def make(
    name: str,
    num_envs: int,
    *,
    threads: int | None = None,
    observation_dtype: Any = np.float32,
    seed: int | np.random.SeedSequence | None = None,
    canonical: bool = False,
    **options: Any,
) -> BatchEnv:
    """A `BatchEnv` of the game called ``name``.

    Raises:
        ValueError: no such game, option or option value, or see `BatchEnv`.
    """
    game = make_game(name, **options)
    return BatchEnv(
        game,
        num_envs,
        threads=threads,
        observation_dtype=observation_dtype,
        seed=seed,
        canonical=canonical,
    )


class BatchEnv:
    """N games of one kind, stepped in parallel; a finished game restarts within the same step.

    `reset` and `step` write the arrays below in place, so copy what you want to keep.

    Attributes:
        observations: float32 or uint8 [N, *game.observation_shape], from the side of each
            game's player to move.
        masks: int8[N, A], 1 for each legal action; there always is one.
        movers: int8[N], index of the player to move; not contiguous.
        rewards: float32[N, 2], rewards of both players for the last ply: +1 and -1 where it ended
            the game with a win, else zeros.
        terminated: bool[N], whether the last ply ended the game by the rules.
        truncated: bool[N], whether the last ply reached the ply cap.
        actions: int64[N], the actions of the last step.
        states: structured array [N], the rule records; read-only.
        game, num_envs, threads, canonical: what the batch was made with.

    Where a game ended, ``observations``, ``masks`` and ``movers`` belong to the next one.

    Args:
        game: rules with their options, from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        threads: number of threads. Default: one per core, or fewer if the batch is too small to
            benefit. Results do not depend on it.
        observation_dtype: ``np.float32``, or ``np.uint8`` where the game's observations are
            of zeros and ones.
        seed: seed of each game's random numbers, for random starts and random actions.
        canonical: show observations and masks, and take actions, in the frame in which each
            player to move plays in the same direction (see `Game.canonical_turn`), not in the
            board's own. Where the game has no such turn, there is no difference.

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
        canonical: bool = False,
    ) -> None:
        _require_positive("num_envs", num_envs)
        if threads is not None:
            _require_positive("threads", threads)
        dtype = _observation_dtype(game, observation_dtype)
        self.game = game
        self.num_envs = num_envs
        self.canonical = bool(canonical)
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
        self._batch = self._bound()
        self.reset(np.random.SeedSequence() if seed is None else seed)

    def _bound(self) -> tuple:
        """The arrays as the kernels need them: views of the same memory."""
        return (
            self.game.tables,
            self.states,
            rows(self._rngs),
            rows(self.masks),
            rows(self.observations.reshape(self.num_envs, *self.game.planes_shape)),
            rows(self.rewards),
            self.terminated.view(np.uint8),
            self.truncated.view(np.uint8),
            self.canonical,
        )

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy or pickle: without the views, which would become separate arrays."""
        return {name: v for name, v in vars(self).items() if name not in ("_batch", "movers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.states = np.asarray(self.states, self.game.state_dtype)
        self.movers = self.states["mover"]
        self._batch = self._bound()

    def __repr__(self) -> str:
        return f"BatchEnv({self.game!r}, {self.num_envs}, threads={self.threads})"

    def reset(self, seed: int | np.random.SeedSequence | None = None) -> None:
        """Restart all games; without a seed the games' random numbers continue."""
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
        """Play in some of the games only; finished games stay finished until `restart`.

        Args:
            games: integers [K], the numbers of the games, each once.
            actions: integers [K], their actions.

        Raises:
            ValueError: as for `step`; finished games have no legal action.
        """
        games, actions = self._numbers("games", games), np.asarray(actions)
        is_asked = np.zeros(self.num_envs, np.bool_)
        is_asked[games] = True
        if np.count_nonzero(is_asked) < len(games):
            raise ValueError("games has a number twice; play one action in each, then the next")
        self._check(actions, games)
        self.game.kernels.batch_play(self._batch, games, actions.astype(np.int64))

    def restart(self, games: Any) -> None:
        """Restart some of the games.

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
        games, players = self._numbers("games", games), np.asarray(players)
        is_fit = players.shape == games.shape and players.dtype.kind in "iu"
        if not is_fit or ((players != 0) & (players != 1)).any():
            raise ValueError(f"players must be 0 or 1, one for each of {len(games)} games")
        self.game.kernels.batch_observe(self._batch, games, players.astype(np.int64))

    def position(self, index: int) -> Position:
        """A copy of one game's position."""
        return Position.of_state(self.game, self.states[index])

    def snapshot(self) -> dict[str, np.ndarray]:
        """The complete state of the batch, as copies, for `resume`."""
        return {
            "states": self.states,
            "rngs": self._rngs,
            "masks": self.masks,
            "observations": self.observations,
        }

    def resume(self, snapshot: dict[str, np.ndarray]) -> None:
        """Continue from the `snapshot` of a batch of the same kind; none of its games may be over.

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
            position, action = self.position(index), int(actions[place])
            if self.canonical and 0 <= action < self.game.num_actions:
                action = position.turned_action(action)
            raise ValueError(f"game {index}: {position.refusal(action)}")

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
