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

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ludarium.base.memory import read_only, require_memory
from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_flag, checked_seed, checked_whole, require_seed
from ludarium.base.threads import available_cores, parallel_for

from .engine.batch_kernels import choice_dtype, rows
from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import Position, checked_dtype, contents_of, starts_in
from .engine.rule import seed_rng
from .registry import as_game

_INT64 = np.dtype(np.int64)
#: An additional thread pays off from this many entries of observations and masks per thread on.
_WORTH_A_THREAD = 300_000
_OUTPUTS = "observations", "masks", "movers", "rewards", "terminated", "truncated", "actions"


class BatchEnv:
    """N games of one kind, stepped in parallel; a finished game restarts within the same step.

    Methods that change or observe games write the arrays below in place, so copy what you want to
    keep, as ``games.masks.copy()`` or ``torch.tensor(games.masks)`` do. The arrays are read-only
    for the caller.

    Attributes:
        observations: float32 or uint8 [N, *game.observation_shape], as each game's player to
            move sees it.
        masks: int8[N, A], 1 for each legal action; all 0 only in a game that `play` has finished.
        movers: int8[N], index of the player to move.
        rewards: float32[N, 2], rewards of both players for the last ply: +1 and -1 where it ended
            the game with a win, else zeros.
        terminated: bool[N], whether the last ply ended the game by the rules.
        truncated: bool[N], whether the last ply reached the ply cap.
        actions: int64[N], the actions of the last `step` or `step_random`.
        records: structured [N], the positions; `states` copies them.
        game, canonical: what the batch was made with.
        threads: how many threads step the games.

    Where a step ended a game, ``observations``, ``masks`` and ``movers`` belong to the next one.

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        threads: most threads; default: one per core. A batch that is too small to benefit takes
            fewer. Results do not depend on it.
        observation_dtype: ``np.float32``, or ``np.uint8`` where the game's observations are
            of zeros and ones.
        seed: seed of each game's random numbers, for random starts and random actions.
        canonical: show observations and masks, and take actions, in the frame in which each
            player to move plays in the same direction (see `Game.canonical_turn`), not in the
            board's own. Where the game has no such turn, this changes nothing.
        **options: the game's options, if it is given by name.

    Raises:
        ValueError: no such game, or an option or argument out of its range.
        TypeError: no such option, or options beside a `Game`.
        FileNotFoundError: an option is the path of a file that does not exist.
    """

    observations: np.ndarray
    masks: np.ndarray
    movers: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    actions: np.ndarray
    records: np.ndarray

    def __init__(
        self,
        game: str | Game,
        num_envs: int,
        *,
        threads: int | None = None,
        observation_dtype: Any = np.float32,
        seed: int | np.random.SeedSequence | None = None,
        canonical: bool = False,
        **options: Any,
    ) -> None:
        game = as_game(game, options)
        num_envs = checked_whole("num_envs", num_envs, 1)
        if threads is not None:
            checked_whole("threads", threads, 1)
        dtype = checked_dtype(game, observation_dtype)
        choices = choice_dtype(game.num_actions)
        planes = dtype.itemsize * math.prod(game.planes_shape)
        size = game.state_dtype.itemsize + choices.itemsize + game.num_actions + planes
        require_memory(f"num_envs={num_envs}", num_envs * size)
        self.game = game
        self.canonical = checked_flag("canonical", canonical)
        entries = num_envs * (int(np.prod(game.planes_shape)) + game.num_actions)
        worthwhile = max(1, entries // _WORTH_A_THREAD)
        self.threads = min(threads or available_cores(), worthwhile, num_envs)
        self._states = game.new_states(num_envs)
        self._choices = np.zeros(num_envs, choices)
        self._some_over = False  # `play` may have finished some of the games
        self._actions = np.zeros(num_envs, np.int64)
        self._masks = np.zeros((num_envs, game.num_actions), np.int8)
        self._movers = np.zeros(num_envs, np.int8)
        self._observations = np.zeros((num_envs, *game.observation_shape), dtype)
        self._rewards = np.zeros((num_envs, 2), np.float32)
        self._terminated = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._batch = self._bound()
        self.reset(np.random.SeedSequence() if seed is None else seed)

    def _bound(self) -> tuple:
        """Give callers views of the arrays; return them as the kernels need them, views too."""
        for name in _OUTPUTS:
            setattr(self, name, read_only(getattr(self, f"_{name}")))
        self.records = read_only(self._states)
        return (
            self.game.tables,
            self._states,
            self._choices,
            rows(self._observations.reshape(self.num_envs, *self.game.planes_shape)),
            rows(self._masks),
            self._movers,
            rows(self._rewards),
            self._terminated.view(np.uint8),
            self._truncated.view(np.uint8),
            self._actions,
            self.canonical,
        )

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy or pickle; it leaves out the views, which would become copies."""
        views = {"_batch", "records", *_OUTPUTS}
        return {name: value for name, value in vars(self).items() if name not in views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._states = np.asarray(self._states, self.game.state_dtype)
        self._choices = np.asarray(self._choices, choice_dtype(self.game.num_actions))
        self._batch = self._bound()

    def __repr__(self) -> str:
        return f"BatchEnv({self.game!r}, {self.num_envs}, threads={self.threads})"

    @property
    def num_envs(self) -> int:
        """How many games."""
        return len(self._states)

    @property
    def states(self) -> np.ndarray:
        """The rule records, structured [N]; a copy."""
        return self._states.copy()

    def reset(
        self,
        seed: int | np.random.SeedSequence | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Restart all games; without a seed the games' random numbers continue.

        Args:
            seed: as for the class.
            options: ``{"position": text}`` begins every game at this position, or each at its own
                if it is a list of N texts, see `Position.text`. A game that ends restarts at the
                start of the game.

        Raises:
            ValueError: ``seed`` is not a seed, a text no position to play on from, or the list has
                more or fewer than N texts; nothing has changed then.
        """
        require_seed(seed)
        starts = starts_in(self.game, options, self.num_envs)
        if seed is not None:
            self._choices["rng"] = seed_rng(seed, self.num_envs)
        self._some_over = True
        self._run(self.game.batch_kernels.batch_start)
        if starts is not None:
            self._begin_at(np.arange(self.num_envs), starts)
        self._some_over = False

    def are_legal(self, actions: Any) -> np.ndarray:
        """Whether an action is legal in each game, bool[N].

        Raises:
            ValueError: the actions are not N integers from 0 to ``num_actions`` - 1.
        """
        asked, games = np.asarray(actions), np.arange(self.num_envs)
        numbers = self._integers("actions", asked, len(games))
        beyond = np.flatnonzero((numbers < 0) | (numbers >= self.game.num_actions))
        if len(beyond):
            raise ValueError(self.refusal(int(beyond[0]), asked[beyond[0]]))
        legal: np.ndarray = self._choices["mask"][games, numbers] == 1
        return legal

    def _begin_at(self, games: np.ndarray, starts: Sequence[Position]) -> None:
        """Put some of the games where they begin; ``starts`` has a position for every game."""
        self._choices["mask"][games] = 0  # nothing is legal until all is in its place
        for game in games:
            self._states[game] = starts[game]._states[0]
        for game in games:  # the others keep what their last step gave
            self.game.batch_kernels.batch_rewrite(self._batch, int(game), int(game) + 1)

    def step(self, actions: Any) -> None:
        """Play one action in each game.

        Args:
            actions: integers [N], a legal action of each game's player to move.

        Raises:
            ValueError: the actions are not N integers, or one of them is not legal; the
                message names the game, the action, its text and the reason. Nothing has
                changed then.
        """
        kernels, asked = self.game.batch_kernels, np.asarray(actions)
        played = self._integers("actions", asked, len(self._states))
        if self.threads == 1:
            refused = kernels.batch_step(self._batch, played, 0, self.num_envs)
        else:
            refused = kernels.batch_refused(self._batch, played)
            if refused < 0:
                self._run(kernels.batch_step, played)
        if refused >= 0:
            raise ValueError(self.refusal(refused, asked[refused]))

    def step_random(self) -> None:
        """Play a random legal action in each game: `random_actions` and `step` in one.

        Raises:
            ValueError: a game is over, see `play`.
        """
        if self._some_over:
            over = np.flatnonzero(self._states["outcome"])
            if len(over):
                raise ValueError(f"games {quoted(over.tolist())} are over: call restart with them")
            self._some_over = False
        self._run(self.game.batch_kernels.batch_step_random)

    def random_actions(self) -> np.ndarray:
        """Draw a legal action of each game uniformly, from the game's own random numbers.

        Returns:
            int64[N], the actions, -1 where the game is over.
        """
        actions = np.empty(self.num_envs, np.int64)
        self._run(self.game.batch_kernels.batch_choose, actions)
        return actions

    def play(self, games: Any, actions: Any) -> None:
        """Play in some of the games only; finished games stay finished until `restart`.

        Args:
            games: integers [K], the numbers of the games, each once.
            actions: integers [K], their actions.

        Raises:
            ValueError: as for `step`, or a game's number is wrong or occurs twice; finished games
                have no legal action.
        """
        games, asked = self._numbers("games", games), np.asarray(actions)
        played = self._integers("actions", asked, len(games)).copy()
        is_asked = np.zeros(self.num_envs, np.bool_)
        is_asked[games] = True
        if np.count_nonzero(is_asked) < len(games):
            raise ValueError("games has a number twice; play one action in each, then the next")
        self._some_over = True
        refused = self.game.batch_kernels.batch_play(self._batch, games, played)
        if refused >= 0:
            raise ValueError(self.refusal(int(games[refused]), asked[refused]))

    def restart(
        self,
        games: Any,
        seeds: Sequence[int] | None = None,
        starts: Sequence[Position] | None = None,
    ) -> None:
        """Restart some of the games.

        Args:
            games: integers [K], the numbers of the games.
            seeds: integers from 0 [K], seeds of their random numbers from here on; None: these
                continue.
            starts: N positions, of which these games take theirs; None: the start of the game.

        Raises:
            ValueError: a game's number or a seed is wrong, or there are not K seeds or N starts.
        """
        games = self._numbers("games", games)
        if starts is not None and len(starts) != self.num_envs:
            raise ValueError(f"starts has {len(starts)} for {self.num_envs} games; give each one")
        if seeds is not None:
            rngs = [seed_rng(checked_seed(seed))[0] for seed in seeds]
            if len(rngs) != len(games):
                raise ValueError(f"seeds has {len(rngs)} for {len(games)} games; give each its own")
            self._choices["rng"][games] = np.reshape(rngs, (len(games), 2))
        self.game.batch_kernels.batch_restart(self._batch, games)
        if starts is not None:
            self._begin_at(games, starts)

    def observe(self, games: Any, players: Any) -> None:
        """Write into ``observations`` what given players see of some of the games.

        Args:
            games: integers [K], the numbers of the games.
            players: integers [K], the player (0 or 1) who looks at each.

        Raises:
            ValueError: a game's number or a player is wrong, or there are not K players.
        """
        games, players = self._numbers("games", games), np.asarray(players)
        is_fit = players.shape == games.shape and (players.dtype.kind in "iu" or not len(games))
        if not is_fit or ((players != 0) & (players != 1)).any():
            raise ValueError(f"players must be 0 or 1, one for each of {len(games)} games")
        self.game.batch_kernels.batch_observe(self._batch, games, players.astype(np.int64))

    def position(self, index: int) -> Position:
        """A copy of one game's position.

        Raises:
            ValueError: ``index`` is not the number of a game, 0 to N - 1.
        """
        number = checked_whole("index", index, 0, self.num_envs - 1)
        return Position.of_state(self.game, self._states[number])

    def in_play(
        self, index: int, seat: int, seed: int, actions: list[int], start: str | None
    ) -> GameInPlay:
        """A player's handle of one game, which follows it; for the arguments see `GameInPlay`."""
        return GameInPlay(self.game, index, seat, seed, self._states, actions, start)

    def snapshot(self) -> dict[str, np.ndarray]:
        """The games and their random numbers, as copies, for `resume`.

        Returns:
            ``states`` structured [N], ``rngs`` int64[N, 2], and a ``digest`` of both, uint8[16].
            Compiled rules trust a state, so `resume` accepts only what a batch of the same game
            with the same options and N has returned.
        """
        states, rngs = self.states, self._choices["rng"].copy()
        return {"states": states, "rngs": rngs, "digest": _digest(self.game, states, rngs)}

    def resume(self, snapshot: Mapping[str, np.ndarray]) -> None:
        """Continue from a `snapshot`; rewards, ``terminated`` and ``truncated`` are cleared.

        Raises:
            ValueError: it is not a snapshot, it is of another game or another number of games, or
                it was changed. Nothing has changed then.
        """
        try:
            states, rngs = np.array(snapshot["states"]), np.array(snapshot["rngs"])
            digest = np.asarray(snapshot["digest"])
        except (KeyError, TypeError, IndexError):
            raise ValueError("resume takes what `snapshot` returned") from None
        own_rngs = self._choices["rng"]
        for name, own, saved in (("states", self._states, states), ("rngs", own_rngs, rngs)):
            if saved.shape != own.shape or saved.dtype != own.dtype:
                raise ValueError(
                    f"the saved games do not fit {self}: {name} is {quoted(str(saved.dtype))} of "
                    f"{saved.shape}"
                )
        if not np.array_equal(digest, _digest(self.game, states, rngs)):
            raise ValueError(
                f"the saved games are not of {self.game}, or were changed after `snapshot`"
            )
        self._some_over = True
        self._choices["mask"] = 0  # nothing is legal until all is in its place
        self._states[...], self._choices["rng"] = states, rngs
        self._run(self.game.batch_kernels.batch_rewrite)

    def _run(self, kernel: Callable, *arguments: np.ndarray) -> None:
        batch = self._batch
        if self.threads == 1:
            kernel(batch, *arguments, 0, self.num_envs)
        else:
            parallel_for(
                lambda begin, end: kernel(batch, *arguments, begin, end),
                self.num_envs,
                self.threads,
            )

    def refusal(self, index: int, action: Any) -> str:
        """Why game ``index`` does not take ``action``, which is in the frame of the batch."""
        position, action = self.position(index), int(action)
        if self.canonical and 0 <= action < self.game.num_actions:
            action = position.turned_action(action)
        remedy = f": call restart([{index}])" if position.is_over else ""
        return f"game {index}: {position.refusal(action)}{remedy}"

    def _integers(self, name: str, values: np.ndarray, count: int) -> np.ndarray:
        """``values`` as int64[count] for compiled code; ``ValueError`` if they are not integers."""
        if values.dtype is _INT64 and values.shape == (count,) and values.flags.carray:
            return values
        if values.shape != (count,) or (count and values.dtype.kind not in "iu"):
            raise ValueError(
                f"{name} must be integers of shape ({count},), not {values.dtype} of {values.shape}"
            )
        return values.astype(np.int64)

    def _numbers(self, name: str, games: Any) -> np.ndarray:
        """Game numbers as int64[K]; ``ValueError`` if they are not, or out of range."""
        games = np.asarray(games)
        if games.ndim != 1 or (games.size and games.dtype.kind not in "iu"):
            raise ValueError(
                f"{name} must be a list of integers, not {games.dtype} of {games.shape}"
            )
        games = games.astype(np.int64)
        if ((games < 0) | (games >= self.num_envs)).any():
            raise ValueError(f"{name} must be from 0 to {self.num_envs - 1}")
        return games


#: For ``batch.make("corso", num_envs=2)``.
make = BatchEnv


def _digest(game: Game, states: np.ndarray, rngs: np.ndarray) -> np.ndarray:
    """uint8[16], a digest that tells these arrays of this game from all others."""
    name = f"{game.name} {game.version} {game.options!r}\n".encode()
    content = name + contents_of(states) + rngs.tobytes()
    return np.frombuffer(hashlib.blake2b(content, digest_size=16).digest(), np.uint8).copy()
