"""Any game as a Gymnasium environment: one agent against an opponent.

    env = gymnasium.make("ludarium/Corso-v0", size=5, opponent="uct:500", seat="alternate")
    observation, info = env.reset(seed=1)
    action = choose(observation, info["action_mask"])
    observation, reward, terminated, truncated, info = env.step(action)

Importing `ludarium.envs` registers ``ludarium/<Title>-v<version>`` for every game;
``gymnasium.make_vec`` of the same id gives a `ludarium.envs.vector.VectorBoardGameEnv`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from .aec import AGENTS, BoardGameEnv
from .engine.game import Game
from .engine.game_in_play import GameInPlay
from .engine.position import Position
from .opponents import SEATS, Player, check_choice, check_opponent, make_agent
from .registry import as_game


class SingleAgentEnv(gymnasium.Env):
    """One side of a game; the other is played by an opponent inside the environment.

    An observation is float32 of ``game.observation_shape`` within [0, 1], from the agent's
    side; ``info["action_mask"]`` is int8[num_actions], 1 for each legal action, all zero when
    the game is over. The reward comes at the end: +1, -1, or 0 for a draw. Where the rules let
    a player act several times in turn, each action is a step. A game that reaches its ply cap
    is truncated.

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        opponent: ``"random"``; a function from a `Position` to a legal action; another name
            that the training package knows, such as ``"uct:1000"``, ``"level:3"`` or a
            checkpoint's path; or an agent, which is told of every game's begin and end.
        seat: the player that the agent is: 0 (moves first), 1, ``"random"`` (drawn for each
            game) or ``"alternate"`` (0 after a reset with a seed, then in turn).
        illegal: what an illegal action does: ``"lose"`` ends the game with reward -1 and the
            reason in ``info["illegal_action"]``; ``"raise"`` is a ``ValueError`` that changes
            nothing.
        render_mode, canonical: as for `BoardGameEnv`; opponents play in the board's own frame.
        **options: the game's options, if it is given by name.

    Attributes:
        board: the PettingZoo environment of both sides, with position, notation and records.
        seat: the player that the agent is in this game, 0 or 1.

    Raises:
        ValueError: an argument out of its range, or an opponent that cannot be made.
        ImportError: the opponent needs the training package, which is not installed.
    """

    metadata = BoardGameEnv.metadata

    def __init__(
        self,
        game: str | Game,
        *,
        opponent: str | Callable[[Position], Any] | Player = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        render_mode: str | None = None,
        canonical: bool = False,
        **options: Any,
    ) -> None:
        self.game = as_game(game, options)
        check_choice("seat", seat, SEATS)
        check_choice("illegal", illegal, ("lose", "raise"))
        check_opponent(opponent)
        self.board = BoardGameEnv(self.game, render_mode, canonical)
        self.render_mode = render_mode
        shape = self.game.observation_shape
        self.observation_space = spaces.Box(0.0, 1.0, shape, np.float32)
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.seat = 0
        self._seats = seat
        self._raises = illegal == "raise"
        self._opponent = opponent
        self._choose: Callable[[Position], Any] | Player | None = None
        self._handle: GameInPlay | None = None  # of this game, for a `Player`
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a new game, up to the agent's first turn.

        Args:
            seed: fixes the seats, random starts and the opponent, from here on.
            options: not used.
        """
        super().reset(seed=seed)
        if self._seats == "random":
            self.seat = int(self.np_random.integers(2))
        elif self._seats == "alternate":
            self.seat = 0 if seed is not None or self._choose is None else 1 - self.seat
        else:
            self.seat = int(self._seats)
        if seed is not None or self._choose is None:
            self._choose = self._make_opponent()
        self.board.reset(int(self.np_random.integers(2**63)) if self.game.random_start else 0)
        self._is_over = False
        self._hand_over()
        self._play_opponent()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an action, and then the opponent's, up to the agent's next turn or the end.

        Raises:
            ValueError: the action is not legal and ``illegal="raise"``; or the opponent chose
                an illegal action.
            gymnasium.error.ResetNeeded: the game is over or has not begun.
        """
        if self._is_over:
            raise ResetNeeded("the game is over or has not begun: call reset() first")
        board = self.board
        try:
            board.step(action)
        except ValueError as refusal:
            if self._raises:
                raise
            self._is_over = True
            info = self._info() | {"illegal_action": str(refusal)}
            return self._observation(), -1.0, True, False, info
        self._play_opponent()
        agent = AGENTS[self.seat]
        terminated, truncated = board.terminations[agent], board.truncations[agent]
        self._is_over = terminated or truncated
        if self._is_over and isinstance(self._choose, Player):
            assert self._handle is not None
            self._choose.finish([self._handle])
        reward = float(board.rewards[agent])
        return self._observation(), reward, terminated, truncated, self._info()

    def action_masks(self) -> np.ndarray:
        """bool[num_actions], the legal actions, as sb3-contrib's MaskablePPO asks for them."""
        return self.board.mask().astype(np.bool_)

    def render(self) -> Any:
        """Show the position, see `BoardGameEnv.render`."""
        return self.board.render()

    def close(self) -> None:
        """Close the window, if there is one."""
        self.board.close()

    def _hand_over(self) -> None:
        """Give a new game to an opponent that is a `Player`."""
        if isinstance(self._choose, Player):
            board = self.board
            states = board.position.states
            self._handle = GameInPlay(
                self.game, 0, 1 - self.seat, board.start_seed, states, board.moves
            )
            self._choose.begin([self._handle])

    def _opponents_action(self, position: Position) -> Any:
        if isinstance(self._choose, Player):
            assert self._handle is not None
            return self._choose.play([self._handle], position.states)[0]
        assert self._choose is not None
        return self._choose(position)

    def _play_opponent(self) -> None:
        position = self.board.position
        while position.mover != self.seat and not position.is_over:
            action = self._opponents_action(position)
            try:
                self.board.step_on_board(action)
            except ValueError as refusal:
                raise ValueError(f"the opponent chose an illegal action: {refusal}") from None

    def _observation(self) -> np.ndarray:
        return self.board.observe(AGENTS[self.seat])["observation"]

    def _info(self) -> dict[str, Any]:
        mask = self.board.mask()
        return {"action_mask": np.zeros_like(mask) if self._is_over else mask}

    def _make_opponent(self) -> Callable[[Position], Any] | Player:
        if isinstance(self._opponent, Player) or callable(self._opponent):
            return self._opponent
        if self._opponent == "random":
            return self._random_action
        agent = make_agent(self._opponent, self.game, int(self.np_random.integers(2**31)))
        return agent if isinstance(agent, Player) else agent.choose

    def _random_action(self, position: Position) -> int:
        legal = position.legal_actions
        return int(legal[int(self.np_random.random() * len(legal))])
