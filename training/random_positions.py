"""Observations from random games, to compare networks and to calibrate number formats."""

from __future__ import annotations

import math

import numpy as np

from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.memory import require_memory

_GAMES_AT_ONCE = 64
_PLIES_BETWEEN = 7


def random_observations(game: Game, count: int, seed: int, canonical: bool = True) -> np.ndarray:
    """Observations of random games at various plies, float32[count, *shape].

    With ``canonical`` they are in the canonical frame, else in the board's own.

    Raises:
        ValueError: there is not enough free memory for them.
    """
    size = 4 * math.prod(game.observation_shape)
    require_memory(f"positions={count:,}", 2 * count * size)  # the parts and the whole
    games = BatchEnv(game, _GAMES_AT_ONCE, threads=1, seed=seed, canonical=canonical)
    found = []
    for _ in range(math.ceil(count / _GAMES_AT_ONCE)):
        found.append(games.observations.copy())
        for _ in range(_PLIES_BETWEEN):
            games.step_random()
    return np.concatenate(found)[:count]
