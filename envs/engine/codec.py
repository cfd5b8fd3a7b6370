"""`Codec`: encodes positions for a network that learns.

Both players share one network, so it sees every position from the side of its player to move: in
the canonical frame, if the game has a `BoardTurn`, and optionally in one of the game's symmetries.
Observation, action mask and action numbers are always in the same frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .game import Game


@dataclass(frozen=True)
class Encoded:
    """N encoded positions, each from the side of its player to move.

    Attributes:
        observations: float32 [N, *observation_shape].
        masks: bool [N, A], legal actions in the network's numbers.
        actions: int32 [N, A], the game's number of each of the network's actions.
    """

    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray

    def decode(self, chosen: np.ndarray) -> np.ndarray:
        """The game's action numbers int64 [N] of the network's actions [N]."""
        return np.take_along_axis(self.actions, chosen[:, None], axis=1)[:, 0].astype(np.int64)

    def encode_policies(self, policies: np.ndarray) -> np.ndarray:
        """Reorder policies or logits [N, A] from the game's action numbers to the network's."""
        return np.take_along_axis(policies, self.actions, axis=1)


class Codec:
    """Encodes positions of one game for networks.

    Args:
        game: the rules.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.symmetries = game.symmetries()

    def draw_symmetries(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Numbers of random symmetries, int64 [count]."""
        return rng.integers(len(self.symmetries), size=count)

    def encode(self, states: np.ndarray, symmetries: np.ndarray | None = None) -> Encoded:
        """Encode positions for a network.

        Args:
            states: structured array [N] of ``game.state_dtype``, contiguous.
            symmetries: int [N], the symmetry of each; None: as they are.
        """
        game, count = self.game, len(states)
        planes, masks, actions = encode_states(game, states, canonical=True)
        flat = planes.reshape(count, math.prod(game.planes_shape))
        if symmetries is not None:
            flat = np.take_along_axis(flat, self.symmetries.observation[symmetries], axis=1)
            table = self.symmetries.actions_of(states, symmetries)
            masks = np.take_along_axis(masks, table, axis=1)
            actions = np.take_along_axis(actions, table, axis=1)
        return Encoded(
            flat.reshape(count, *game.observation_shape), masks.astype(np.bool_), actions
        )


def encode_states(
    game: Game, states: np.ndarray, canonical: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What movers see of positions, in the board's own frame or in the canonical one.

    Args:
        game: the rules.
        states: structured array [N] of ``game.state_dtype``, contiguous.
        canonical: see `spec.BoardTurn`.

    Returns:
        Observations float32 [N, planes, cells], masks int8 [N, A] and the game's numbers of the
        actions int32 [N, A].
    """
    count = len(states)
    planes = np.empty((count, *game.planes_shape), np.float32)
    masks = np.empty((count, game.num_actions), np.int8)
    actions = np.empty((count, game.num_actions), np.int32)
    game.kernels.encode(game.tables, states, planes, masks, actions, canonical)
    return planes, masks, actions
