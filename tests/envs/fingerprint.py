"""Digests of what the kernels of every game do, to compare compiled and plain Python.

``LUDARIUM_CODE=plain python -m tests.envs.fingerprint`` prints them as JSON.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from ludarium.envs import Game
from ludarium.envs.batch import BatchEnv
from ludarium.envs.engine.position import contents_of
from ludarium.envs.engine.rule import seed_rng
from tests.games import CASES, random_game

RANDOM_GAMES = 3


def fingerprint(game: Game) -> dict[str, object]:
    """Actions, outcomes, plies of random games, and a digest of everything on the way."""
    kernels, tables = game.kernels, game.tables
    rng = seed_rng(12345)
    counts = np.zeros(5, np.int64)
    states = game.new_states(1)
    plies = kernels.random_games(tables, states, rng[0], game.num_actions, RANDOM_GAMES, counts)
    digest = hashlib.sha256(contents_of(states))
    for position, _ in random_game(game, seed=1):
        digest.update(contents_of(position.states))
        digest.update(position.mask.tobytes())
        digest.update(position.observation(0).tobytes())
        digest.update(position.observation(1).tobytes())
        digest.update(str((position.score, position.rewards)).encode())
    games = BatchEnv(game, 4, seed=2)
    drawn = []
    for _ in range(30):
        games.step_random()
        drawn.append(games.actions.tolist())
        digest.update(contents_of(games.states))
        for array in (games.masks, games.observations, games.rewards, games.snapshot()["rngs"]):
            digest.update(array.tobytes())
    return {
        "drawn": drawn,
        "plies": int(plies),
        "outcomes": counts.tolist(),
        "random state": rng.tolist(),
        "positions": digest.hexdigest(),
        "perft": game.start(1).perft(2) if game.num_actions < 100 else None,
    }


def all_fingerprints() -> dict[str, dict[str, object]]:
    """Fingerprints by game and option set."""
    return {name: fingerprint(kind(**options)) for name, (kind, options) in CASES.items()}


if __name__ == "__main__":
    print(json.dumps(all_fingerprints()))
