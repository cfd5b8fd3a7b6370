"""The measure that all examples share: points against random play."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ludarium.envs.vector import VectorBoardGameEnv


def score_against_random(
    choose: Callable[[np.ndarray, np.ndarray], Any],
    game: str,
    options: dict[str, Any],
    games: int = 400,
) -> float:
    """Share of the points that an agent takes from random play, in either seat alternately.

    Args:
        choose: from observations float32[N, ...] and masks int8[N, A] to N actions.
        game: the name of a game.
        options: the game's options.
        games: how many games are played, all at once.

    Returns:
        1 for nothing but wins, 0 for nothing but losses; a draw is half a point.

    Raises:
        ValueError: ``choose`` gave an illegal action; the message says where and why.
    """
    envs = VectorBoardGameEnv(game, games, seat="alternate", illegal="raise", **options)
    observations, infos = envs.reset(seed=0)
    points = np.full(games, np.nan)  # of the first game in each place
    while np.isnan(points).any():
        actions = choose(observations, infos["action_mask"])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        ended = np.isnan(points) & (terminated | truncated)
        points[ended] = (1 + rewards[ended]) / 2
    return float(points.mean())
