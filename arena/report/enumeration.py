"""Every position of a small game, counted ply by ply and solved from the last ply back.

Positions are counted by the observation of the player to move, so histories that a game keeps for a
rule on repetition do not count; positions at different plies count as different. Values are kept by
the state, see `position_keys`. In a larger game the first plies are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from ludarium.analysis.search.solver import key_masks
from ludarium.envs.engine.codec import encode_states
from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS
from ludarium.training.evaluation.kernels import match as match_templates

_ENCODED_AT_ONCE = 1024
_MOST_BYTES = 1 << 26  # memory for the positions of a ply, before equal ones are merged


def position_keys(game: Game, states: np.ndarray) -> np.ndarray:
    """Keys of positions [N], without ``game.log_fields``: void[N], equal for equal positions."""
    masks = key_masks(game)
    words = states.view(np.uint32).reshape(-1, len(masks)) & masks
    keys: np.ndarray = words.view(f"V{masks.nbytes}").reshape(len(states))
    return keys


def observed(game: Game, states: np.ndarray) -> np.ndarray:
    """Canonical observations of the players to move, float32[N, planes, cells]."""
    return encode_states(game, states, canonical=True)[0]


def observation_keys(game: Game, states: np.ndarray) -> np.ndarray:
    """Keys of the observations of `observed`, int64[N]: equal for equal ones."""
    found = np.empty(len(states), np.int64)
    for first in range(0, len(states), _ENCODED_AT_ONCE):
        for number, planes in enumerate(observed(game, states[first : first + _ENCODED_AT_ONCE])):
            digest = blake2b(planes.tobytes(), digest_size=8).digest()
            found[first + number] = int.from_bytes(digest, "little", signed=True)
    return found


def rewards_of(outcomes: np.ndarray) -> np.ndarray:
    """Player 0's reward for each outcome [N], float64[N]."""
    return (outcomes == PLAYER_0_WINS).astype(float) - (outcomes == PLAYER_1_WINS)


@dataclass(frozen=True)
class Enumeration:
    """The reachable positions, as far as they were counted.

    Attributes:
        counts: distinct positions after 0, 1, ... plies; none if the start is random.
        paths: numbers of sequences of actions that lead there (the perft numbers).
        values: player 0's value in [-1, 1] of each position by its key's bytes, if all of them
            were counted; None if there are too many, or the start is random.
    """

    counts: tuple[int, ...]
    paths: tuple[int, ...]
    values: dict[bytes, float] | None

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "positions_by_ply": list(self.counts),
            "paths_by_ply": list(self.paths),
            "complete": self.values is not None,
        }


def enumerate_positions(game: Game, limit: int) -> Enumeration:
    """Count positions, and solve the game if it has at most ``limit`` states in all.

    Counting ends at a ply after which ``limit`` or the memory for the next ply is exceeded.

    A game with a random start has no single start to count from; then there are no counts.
    """
    if game.random_start:
        return Enumeration((), (), None)
    play = specialise(match_templates, game).play
    states = game.start().states
    keys = position_keys(game, states)
    multiplicity: list[int] = [1]
    layers: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    counts, paths, records = [], [], 0
    while len(states):
        counts.append(len(np.unique(observation_keys(game, states))))
        records += len(states)
        paths.append(sum(multiplicity))
        masks = np.empty((len(states), game.num_actions), np.int8)
        game.kernels.legal_actions(game.tables, states, masks)
        parents, actions = np.nonzero(masks * (states["outcome"] == ONGOING)[:, None])
        if records > limit or len(parents) * game.state_dtype.itemsize > _MOST_BYTES:
            return Enumeration(tuple(counts), tuple(paths), None)
        following = states[parents]
        play(game.tables, following, actions.copy(), game.num_actions)
        following_keys, first, children = np.unique(
            position_keys(game, following), return_index=True, return_inverse=True
        )
        layers.append((states, keys, parents, children))
        ways = [0] * len(first)
        for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
            ways[child] += multiplicity[parent]
        states, keys, multiplicity = following[first], following_keys, ways
    return Enumeration(tuple(counts), tuple(paths), _solve(layers))


def _solve(layers: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> dict:
    """Solve by minimax from the last ply back."""
    found: dict[bytes, float] = {}
    below = np.zeros(0)
    for states, keys, parents, children in reversed(layers):
        signs = 1.0 - 2.0 * states["mover"]
        best = np.full(len(states), -np.inf)
        np.maximum.at(best, parents, signs[parents] * below[children])
        below = np.where(states["outcome"] == ONGOING, signs * best, rewards_of(states["outcome"]))
        found.update(zip((key.tobytes() for key in keys), below.tolist(), strict=True))
    return found
