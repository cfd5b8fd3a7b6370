"""Many games in parallel as a Stable-Baselines3 ``VecEnv``.

    import torch
    from sb3_contrib import MaskablePPO
    from ludarium.envs.sb3 import BoardGameVecEnv

    torch.set_num_threads(1)  # faster for small networks, and much so on a busy machine
    games = BoardGameVecEnv("corso", 256, opponent="random", seed=1)
    MaskablePPO("MlpPolicy", games).learn(1_000_000)

Nothing else in `ludarium.envs` needs Stable-Baselines3.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

try:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices
except ImportError as error:
    raise ImportError(
        f'ludarium.envs.sb3 needs Stable-Baselines3: pip install "ludarium[train]" ({error})'
    ) from error

from ludarium.base.numbers import checked_seed

from .engine.game import Game
from .one_side import OneSide, agent_space
from .opponents import SEATS, Opponent, check_choice
from .registry import as_game

_has_warned = False


def _warn_of_threads() -> None:
    """Warn once if torch has more threads than pay for the small networks of a board game.

    Whoever sets ``OMP_NUM_THREADS`` has decided already.
    """
    global _has_warned
    torch = sys.modules.get("torch")
    count = 1 if torch is None else torch.get_num_threads()
    if count > 1 and not _has_warned and "OMP_NUM_THREADS" not in os.environ:
        _has_warned = True
        warnings.warn(
            f"torch has {count} threads, which make small networks slower, and on a busy machine "
            "many times so: add torch.set_num_threads(1)",
            stacklevel=3,
        )


class BoardGameVecEnv(VecEnv):
    """One side of N games as an SB3 ``VecEnv``, in compiled code; opponents play the other sides.

    The agent acts in every game in every step; if the rules let a player act several times
    in a row, each action is a step. Rewards come at the end: +1, -1 (also for an illegal action, if
    it loses), or 0 for a draw or at the ply cap. Masks come from ``env_method("action_masks")`` in
    one array, as sb3-contrib's ``MaskablePPO`` asks for them. Each info has the ``action_mask``
    after the step, all 0 where that ended the game, and ``illegal_action``, a number or -1, of
    which `OneSide.refusals` has the reasons. The infos of a game that ended in the step have
    ``terminal_observation`` and ``TimeLimit.truncated``, which is true if the game reached its ply
    cap.

    Args:
        game: the name of a game, or rules from `ludarium.envs.make_game`.
        num_envs: how many games, N.
        opponent, seat, illegal, observation_dtype, canonical: as for
            `ludarium.envs.vector.VectorBoardGameEnv`; ``seat`` cannot be ``"both"``.
        opening_plies: each game starts with a random number of random plies, from 0 to this,
            which is at most 100; an opening that would end the game is omitted.
        seed: fixes seats, starts, openings and an opponent given by name; ``seed()`` does so
            from the next reset on.
        **options: the game's options, if it is given by name.

    Attributes:
        side: the games, a `ludarium.envs.one_side.OneSide`.

    Raises:
        ValueError: an argument out of its range, or an opponent that cannot be made.
        TypeError: no such option, or options beside a `Game`.
        ImportError: the opponent needs a package that is not installed.
        FileNotFoundError: there is no file, or no agent, where an option or the opponent names one.
    """

    def __init__(
        self,
        game: str | Game,
        num_envs: int = 1,
        *,
        opponent: Opponent = "random",
        seat: int | str = "alternate",
        illegal: str = "lose",
        observation_dtype: Any = np.float32,
        opening_plies: int = 0,
        canonical: bool = False,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        _warn_of_threads()
        check_choice("seat", seat, SEATS)  # not "both": SB3 reads all values from one side
        self.game = as_game(game, options)
        self.side = OneSide(
            *(self.game, num_envs, opponent, seat, illegal),
            *(observation_dtype, opening_plies, canonical),
        )
        self._actions = np.zeros(num_envs, np.int64)
        self._has_begun = False
        super().__init__(
            num_envs, agent_space(self.side.batch), spaces.Discrete(self.game.num_actions)
        )
        if seed is not None:
            self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Fix the random numbers from the next reset on; None draws a seed.

        Returns:
            A seed for each game, as SB3 wants it; the first one fixes all random numbers.

        Raises:
            ValueError: it is not a seed.
        """
        return super().seed(None if seed is None else checked_seed(seed))

    def reset(self) -> np.ndarray:
        """Start all games anew, each up to the agent's first turn; observations [N, ...].

        After ``set_options({"position": text})`` they begin there, see `BatchEnv.reset`.

        Raises:
            ValueError: as for `OneSide.reset`.
        """
        texts = [options.get("position") for options in self._options]
        seed = self._seeds[0]
        begins = seed is not None or not self._has_begun
        self.side.reset(
            np.random.default_rng(seed) if begins else None,
            {"position": texts} if any(texts) else None,
        )
        self._has_begun = True
        self._reset_seeds()
        self._reset_options()
        return self._observe()

    def step_async(self, actions: np.ndarray) -> None:
        """Take the agent's actions, integers [N]."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play the actions, and the opponents' up to the agent's next turn.

        Returns:
            Observations [N, ...], rewards float32[N], dones bool[N], and N infos. Where a game
            ended, the observation is the first one of the next game.

        Raises:
            ValueError, gymnasium.error.ResetNeeded: as for `OneSide.play` and `OneSide.renew`.
        """
        side = self.side
        side.play(self._actions)
        rewards, dones = side.rewards.copy(), side.is_over
        infos = self._infos()
        side.renew()
        return self._observe(), rewards, dones, infos

    def action_masks(self) -> np.ndarray:
        """bool[N, A], the agent's legal actions in each game.

        Raises:
            gymnasium.error.ResetNeeded: the games have not begun or were abandoned, or an error has
                stopped them.
        """
        self.side.require_ready()
        return self.side.batch.masks.astype(np.bool_)

    def _observe(self) -> np.ndarray:
        """A copy of the agent's observations, because the batch overwrites them."""
        return self.side.batch.observations.copy()

    def _infos(self) -> list[dict[str, Any]]:
        """Infos of a step, taken before games restart."""
        masks, illegal = self.side.last_masks(), self.side.illegal_actions.tolist()
        infos: list[dict[str, Any]] = [
            {"action_mask": mask, "illegal_action": action}
            for mask, action in zip(masks, illegal, strict=True)
        ]
        for game in self.side.write_final_observations():
            infos[game]["terminal_observation"] = self.side.batch.observations[game].copy()
            infos[game]["TimeLimit.truncated"] = bool(self.side.truncated[game])
        return infos

    # Methods by which SB3 asks environments one by one.

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of this object, once for each game asked for; ``render_mode`` is None."""
        value = None if attr_name == "render_mode" else getattr(self, attr_name)
        return [value] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Not supported: the games have no attributes of their own."""
        raise NotImplementedError(f"the games have no attribute {attr_name!r} of their own to set")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> Any:
        """`action_masks`, one row for each game asked for.

        Raises:
            AttributeError: another method; the games have none.
            gymnasium.error.ResetNeeded: as for `action_masks`.
        """
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r}, only action_masks")
        masks = self.action_masks()
        return masks if indices is None else masks[np.atleast_1d(np.asarray(indices))]

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Always false: the games have no wrappers."""
        return [False] * self._count(indices)

    def close(self) -> None:
        """Abandon the games in play; `reset` begins others."""
        self.side.abandon()

    def _count(self, indices: VecEnvIndices) -> int:
        return self.num_envs if indices is None else np.size(np.asarray(indices))
