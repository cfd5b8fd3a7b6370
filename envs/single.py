"""Any game as a Gymnasium environment: one agent against an opponent.

    env = gymnasium.make("ludarium/Corso-v0", size=5, opponent="uct:500", seat="alternate")
    observation, info = env.reset(seed=1)
    action = choose(observation, info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)

Importing `ludarium.envs` registers an id such as ``ludarium/MyGame-v1`` for every game, here
``my_game``; ``gymnasium.make_vec`` of the same id gives a
`ludarium.envs.vector.VectorBoardGameEnv`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from .aec import AGENTS, BoardGameEnv, unit_box
from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import IllegalActionError, Position, starts_in
from .engine.record import Forfeit
from .opponents import (
    MOST_BEGINNINGS,
    SEATS,
    Opponent,
    check_choice,
    make_opponents,
    no_turn,
    restarted,
)
from .registry import as_game

_GAME = np.zeros(1, np.int64)  # the number of the only game


class _Table:
    """The game of a `SingleAgentEnv`, for its opponents; see `ludarium.envs.opponents.Table`."""

    def __init__(self, env: SingleAgentEnv) -> None:
        self._env, self.game, self.canonical = env, env.game, env.aec.canonical

    @property
    def records(self) -> np.ndarray:
        return self._env.aec._current()._states

    @property
    def observations(self) -> np.ndarray:
        aec = self._env.aec
        seen: np.ndarray = aec.observe(aec.agent_selection)["observation"]
        return seen[None]

    @property
    def masks(self) -> np.ndarray:
        return self._env.aec.mask()[None]

    def position(self, index: int) -> Position:
        return self._env.aec.position

    def random_actions(self) -> np.ndarray:
        env, legal = self._env, self._env.aec._current().legal_actions
        action = legal[int(env.np_random.random() * len(legal))]
        return np.array([env.aec._in_frame(action)], np.int64)


class SingleAgentEnv(gymnasium.Env):
    """One side of a game; the other is played by an opponent inside the environment.

    An observation is float32 of ``game.observation_shape`` within [0, 1], from the agent's
    side; ``info["action_mask"]`` is int8[num_actions], 1 for each legal action, all zero when
    the game is over; ``info["illegal_action"]`` is the number of the illegal action by which the
    agent has lost, else -1. The reward comes at the end: +1, -1, or 0 for a draw. Where the rules
    let a player act several times in turn, each action is a step. A game that reaches its ply
    cap is truncated.

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        opponent: ``"random"``; a function from a `Position` to a legal action; another name
            that the training package knows, such as ``"uct:1000"``, ``"level:3"`` or a
            checkpoint's path; an agent, which is told of every game's begin and end; or
            `FromArrays`. See `ludarium.envs.opponents`.
        seat: the player that the agent is: 0 (moves first), 1, ``"random"`` (drawn for each
            game) or ``"alternate"`` (0 after the first reset and each with a seed, then in turn).
        illegal: what an illegal action from 0 to ``num_actions`` - 1 does: ``"lose"``
            ends the game with reward -1, the action in ``info["illegal_action"]`` and the reason in
            `refusal`; ``"raise"`` raises a ``ValueError`` and changes nothing. Any other value
            always raises one.
        render_mode, canonical: as for `BoardGameEnv`; opponents play in the board's own frame, but
            `FromArrays` and other `Opponents` in the environment's.
        **options: the game's options, if it is given by name.

    Attributes:
        aec: the PettingZoo environment of both sides, with position, notation and records.
        seat: the player that the agent is in this game, 0 or 1.
        refusal: why the action by which the agent has lost is illegal, as a text; else empty.

    Raises:
        ValueError: an argument out of its range, or an opponent that cannot be made.
        TypeError: no such option, or options beside a `Game`.
        ImportError: the opponent needs a package that is not installed.
        FileNotFoundError: there is no file, or no agent, where an option or the opponent names one.
    """

    metadata = BoardGameEnv.metadata

    def __init__(
        self,
        game: str | Game,
        *,
        opponent: Opponent = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        render_mode: str | None = None,
        canonical: bool = False,
        **options: Any,
    ) -> None:
        self.game = as_game(game, options)
        check_choice("seat", seat, SEATS)
        check_choice("illegal", illegal, ("lose", "raise"))
        self._opponent = opponent
        self._opponents = make_opponents(opponent, self.game, None, self._handle)
        self.aec = BoardGameEnv(self.game, render_mode, canonical)
        self._table = _Table(self)
        self.render_mode = render_mode
        self.observation_space = unit_box(self.game.observation_shape, np.float32)
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.seat = 0
        self._seats = seat
        self._raises = illegal == "raise"
        self._in_play = False  # the opponents still have to learn of the end
        self._has_begun = False
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game, up to the agent's first turn.

        Args:
            seed: fixes seats, random starts and an opponent given by name from here on.
            options: as for `BoardGameEnv.reset`.

        Raises:
            ValueError: ``position`` in the options is no position to play on from; nothing is
                changed. Or the opponent chose an illegal action, or 1,000 games in a row ended
                before the agent's first turn; then only another `reset` can continue.
            gymnasium.error.Error: ``seed`` is not an ``int`` from 0 on; nothing is changed.
            ImportError: as for `BoardGameEnv.step`, which plays the opponent's actions.
        """
        starts = starts_in(self.game, options)  # refused before anything changes
        super().reset(seed=seed)
        begins = seed is not None or not self._has_begun
        self._is_over = True  # stays so if the opponent fails
        self._finish()
        if begins:
            self._opponents = restarted(
                self._opponent, self._opponents, self.game, self.np_random, self._handle
            )
        self.seat = 1 if begins else self.seat  # `_begin` swaps the sides
        self._has_begun = True
        for _ in range(MOST_BEGINNINGS):
            self._begin(starts)
            self._is_over = self.aec._current().is_over  # before the agent's first turn
            if not self._is_over:
                return self._observation(), self._info()
            self._finish(self.aec.rewards[AGENTS[self.seat]])
        raise no_turn(self._seats)

    @property
    def refusal(self) -> str:
        """See the class."""
        return self.aec.refusal

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an action, and then the opponent's, up to the agent's next turn or the end.

        Raises:
            ValueError: the action is not an integer from 0 to ``num_actions`` - 1, or is not legal
                and ``illegal="raise"``; then nothing has changed. Or the opponent chose an illegal
                action; then only `reset` can continue.
            gymnasium.error.ResetNeeded: the game is over or has not begun.
            ImportError: as for `BoardGameEnv.step`.
        """
        if self._is_over:
            raise ResetNeeded("the game is over or has not begun: call reset() first")
        aec = self.aec
        try:
            aec.step(action)
        except IllegalActionError as refusal:
            if self._raises or not aec.is_action(action):
                raise
            self._is_over, aec.refusal = True, str(refusal)
            aec._forfeit = Forfeit(self.seat, int(aec._on_board(action)))
            self._finish(-1)
            return self._observation(), -1.0, True, False, self._info(int(action))
        self._is_over = True  # stays so if the opponent fails
        self._play_opponent()
        agent = AGENTS[self.seat]
        terminated, truncated = aec.terminations[agent], aec.truncations[agent]
        self._is_over = terminated or truncated
        reward = float(aec.rewards[agent])
        if self._is_over:
            self._finish(reward)
        return self._observation(), reward, terminated, truncated, self._info()

    def action_masks(self) -> np.ndarray:
        """bool[num_actions], the legal actions, as sb3-contrib's MaskablePPO asks for them.

        Raises:
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        return self._info()["action_mask"].astype(np.bool_)

    def render(self) -> Any:
        """Show the position, see `BoardGameEnv.render`."""
        return self.aec.render()

    def close(self) -> None:
        """Abandon the game in play and close the window, if any; `reset` begins another game."""
        self._is_over = True
        self._finish()
        self.aec.close()

    def _begin(self, starts: list[Position] | None) -> None:
        """Start a new game, up to the agent's first turn."""
        if self._seats == "random":
            self.seat = int(self.np_random.integers(2))
        elif self._seats == "alternate":
            self.seat = 1 - self.seat
        else:
            self.seat = int(self._seats)
        aec = self.aec
        aec._reset(int(self.np_random.integers(2**63)) if self.game.random_start else 0, starts)
        self._in_play = True
        self._opponents.begin(_GAME)
        self._play_opponent()

    def _handle(self, game: int) -> GameInPlay:
        """A `Player`'s handle of the game."""
        aec, seat = self.aec, 1 - self.seat
        states, start = aec._current()._states, aec.start_position
        return GameInPlay(self.game, game, seat, aec.start_seed, states, aec.moves, start)

    def _finish(self, reward: float = np.nan) -> None:
        """Tell the opponents once that the game in play is over, or abandoned."""
        if self._in_play:
            self._in_play = False
            self._opponents.finish(_GAME, np.array([reward], np.float32))

    def _play_opponent(self) -> None:
        position = self.aec._current()
        while position.mover != self.seat and not position.is_over:
            actions = np.asarray(self._opponents.choose(self._table, _GAME))
            try:
                if actions.shape != (1,):
                    raise ValueError(
                        f"actions must be one integer, not an array of {actions.shape}"
                    )
                self.aec.step(actions[0])
            except ValueError as refusal:
                raise ValueError(f"the opponent chose an illegal action: {refusal}") from None

    def _observation(self) -> np.ndarray:
        return self.aec.observe(AGENTS[self.seat])["observation"]

    def _info(self, illegal_action: int = -1) -> dict[str, Any]:
        mask = self.aec.mask()
        shown = np.zeros_like(mask) if self._is_over else mask
        return {"action_mask": shown, "illegal_action": illegal_action}
