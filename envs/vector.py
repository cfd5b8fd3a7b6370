"""Any game as a Gymnasium ``VectorEnv``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ludarium.base.numbers import checked_flag, checked_whole

from .engine.game import Game
from .one_side import OneSide, agent_space
from .opponents import Opponent, check_choice
from .registry import as_game


class VectorBoardGameEnv(VectorEnv):
    """One side of N games as a Gymnasium ``VectorEnv``; an opponent plays the other sides.

    It behaves like N `ludarium.envs.single.SingleAgentEnv`, in compiled code. The autoreset mode
    is ``SAME_STEP``: the step that ends a game returns the first observation of the next one;
    the last observation and info are in ``infos["final_obs"]`` and ``infos["final_info"]``
    (see Gymnasium). ``infos["action_mask"]`` is int8[N, A]. ``infos["illegal_action"]`` is int64[N]
    and always -1: the action by which the agent has lost is in ``infos["final_info"]``.

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        opponent: as for `ludarium.envs.single.SingleAgentEnv`, see `ludarium.envs.opponents`; a
            function is asked game by game, `FromArrays` and an agent for all games together.
            `Opponents` may differ from game to game.
        seat: the player that the agent is: 0, 1, ``"random"`` or ``"alternate"`` (game after
            game; after a reset, 0 in the games with even numbers). With ``"both"`` there is no
            opponent: each step is one ply, observations and masks are the mover's, also
            in ``infos["final_obs"]``, and a reward belongs to the player who moved.
        illegal: an illegal action from 0 to ``num_actions`` - 1 loses its game
            (``"lose"``), or raises a ``ValueError`` and changes nothing (``"raise"``). Any other
            value always raises one. `refusals` has the reasons.
        observation_dtype, canonical: as for `BatchEnv`; `FromArrays` sees and answers in the same
            frame.
        other_view: also give the observations from the other side, as ``infos["other_view"]`` and
            in ``infos["final_info"]``.
        max_episode_steps: truncate a game after so many of the agent's steps, as Gymnasium's
            ``TimeLimit`` does; None or -1: do not.
        render_mode: None; pictures of many games are not supported.
        **options: the game's options, if it is given by name.

    Attributes:
        batch: the `BatchEnv` of both sides.
        seats: int64[N], the agent's player index in each game; with ``"both"``, the
            mover's. It is read-only.

    Raises:
        ValueError: an argument out of its range, or an opponent that cannot be made.
        TypeError: no such option, or options beside a `Game`.
        ImportError: the opponent needs a package that is not installed.
        FileNotFoundError: there is no file, or no agent, where an option or the opponent names one.
    """

    #: TorchRL looks for it here, Gymnasium in the metadata.
    autoreset_mode = AutoresetMode.SAME_STEP
    metadata: dict[str, Any] = {"autoreset_mode": autoreset_mode}
    closed = True  # until it is made: Gymnasium 1.1 closes what was refused too

    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        *,
        opponent: Opponent = "random",
        seat: int | str = "random",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        canonical: bool = False,
        other_view: bool = False,
        max_episode_steps: int | None = None,
        render_mode: None = None,
        **options: Any,
    ) -> None:
        check_choice("render_mode", render_mode, (None,))
        self.game = as_game(game, options)
        self._side = OneSide(
            self.game, num_envs, opponent, seat, illegal, observation_dtype, canonical=canonical
        )
        self.batch = self._side.batch
        self._other_view = checked_flag("other_view", other_view)
        self._limit: float = math.inf
        if max_episode_steps not in (None, -1):
            self._limit = checked_whole("max_episode_steps", max_episode_steps, 1)
        self._steps = np.zeros(num_envs, np.int64)
        self.num_envs = num_envs
        self.single_observation_space = agent_space(self.batch)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._has_begun = self.closed = False

    @property
    def seats(self) -> np.ndarray:
        """See the class."""
        return self._side.seats

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start all games anew, each up to the agent's first turn.

        Args:
            seed: one integer for all games; it fixes seats, random starts and an opponent given by
                name.
            options: as for `BatchEnv.reset`: ``position`` is one text, or one for each game.

        Raises:
            ValueError: see `OneSide.reset`; or ``options`` has a ``reset_mask``: games that end
                restart by themselves.
            gymnasium.error.Error: ``seed`` is not an ``int`` from 0 on; nothing is changed.
        """
        if options and "reset_mask" in options:
            raise ValueError(
                "options has reset_mask, and reset starts all games: leave it out; a game that "
                "ends restarts in the same step"
            )
        super().reset(seed=seed)
        begins = seed is not None or not self._has_begun
        self._side.reset(self.np_random if begins else None, options)
        self._has_begun, self.closed = True, False
        self._steps[:] = 0
        return self.batch.observations.copy(), self._infos()

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action in each game, and then the opponent's, up to the agent's next turn.

        Returns:
            Observations [N, ...], rewards float64[N], terminated and truncated bool[N], infos.

        Raises:
            ValueError, gymnasium.error.ResetNeeded: as for `OneSide.play` and `OneSide.renew`.
        """
        side = self._side
        side.play(actions)
        self._steps += 1
        side.truncate(np.flatnonzero(self._steps >= self._limit))
        self._steps[side.is_over] = 0
        rewards = side.rewards.astype(np.float64)
        terminated, truncated = side.terminated.copy(), side.truncated.copy()
        final = self._finals(terminated | truncated)
        side.renew()
        return self.batch.observations.copy(), rewards, terminated, truncated, self._infos() | final

    @property
    def refusals(self) -> dict[int, str]:
        """Why the illegal actions of the last step are so, by the numbers of their games."""
        return self._side.refusals

    def close_extras(self, **kwargs: Any) -> None:
        """Abandon the games in play; `reset` begins others."""
        self._side.abandon()

    def _infos(self) -> dict[str, Any]:
        """Infos in Gymnasium's format: each array, with a mask of the games that it describes."""
        every = np.ones(self.num_envs, np.bool_)
        infos: dict[str, Any] = {
            "action_mask": self.batch.masks.copy(),
            "_action_mask": every,
            "illegal_action": np.full(self.num_envs, -1),  # a game that has one is in `_finals`
            "_illegal_action": every.copy(),
        }
        if self._other_view:
            infos["other_view"] = self._side.other_views(np.arange(self.num_envs))
            infos["_other_view"] = every.copy()
        return infos

    def _finals(self, is_over: np.ndarray) -> dict[str, Any]:
        """Last observations and infos of the finished games, from the agent's side."""
        games = self._side.write_final_observations()
        if not len(games):
            return {}
        observations = np.full(self.num_envs, None, object)
        for game in games:
            observations[game] = self.batch.observations[game].copy()
        info: dict[str, Any] = {
            "action_mask": np.where(is_over[:, None], self._side.last_masks(), np.int8(0)),
            "_action_mask": is_over.copy(),
            "illegal_action": self._side.illegal_actions.copy(),
            "_illegal_action": is_over.copy(),
        }
        if self._other_view:
            info["other_view"] = np.zeros_like(self.batch.observations)
            info["other_view"][games] = self._side.other_views(games)
            info["_other_view"] = is_over.copy()
        return {
            "final_obs": observations,
            "_final_obs": is_over,
            "final_info": info,
            "_final_info": is_over.copy(),
        }
