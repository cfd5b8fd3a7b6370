"""Measures agents of the examples by their score against random play."""

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
    """The share of the points that an agent takes against random play, in alternating seats.

    Args:
        choose: a function from observations float32[N, ...] and masks int8[N, A] to N actions.
        game: the name of a game.
        options: the game's options.
        games: number of games, which are played at once.

    Returns:
        1 if all games are won, 0 if all are lost; a draw is half a point.

    Raises:
        ValueError: ``choose`` gave an illegal action; the message says where and why.
    """
    envs = VectorBoardGameEnv(game, games, seat="alternate", illegal="raise", **options)
    observations, infos = envs.reset(seed=0)
    points = np.full(games, np.nan)  # points of the first game in each place
    while np.isnan(points).any():
        actions = choose(observations, infos["action_mask"])
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        ended = np.isnan(points) & (terminated | truncated)
        points[ended] = (1 + rewards[ended]) / 2
    return float(points.mean())
