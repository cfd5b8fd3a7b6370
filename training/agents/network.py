"""A trained network that plays, with search or without."""

from __future__ import annotations

import copy

import numpy as np

from ludarium.envs.engine.codec import Codec
from ludarium.envs.engine.game import Game
from ludarium.models import Checkpoint, InferenceEngine
from ludarium.models.backends import BATCH_INVARIANT
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.search import Search, SearchResult, SearchSettings

from .agent import Agent, Seed
from .checkpoints import DEFAULT_SIMULATIONS, check_fits

MOST_SIMULATIONS = 100_000
_BATCH = 128
_CACHE_MEGABYTES = 16.0
_NODES_AT_ONCE = 1 << 20  # tree nodes times actions of all positions searched together


class NetworkAgent(Agent):
    """Plays the best action of a Gumbel AlphaZero search with a network, without root noise.

    Args:
        game: the rules.
        network: with its weights.
        simulations: per move; 0 plays the most probable action of the policy, without search.
        name: how tables name it.
        seed: not used; the agent always plays the same.
        backend: see `ludarium.models.InferenceEngine`.

    Raises:
        ValueError: ``simulations`` is out of range.
    """

    def __init__(
        self,
        game: Game,
        network: PolicyValueNetwork,
        simulations: int = DEFAULT_SIMULATIONS,
        name: str = "network",
        seed: Seed = None,
        backend: str = "auto",
    ) -> None:
        if not 0 <= simulations <= MOST_SIMULATIONS:
            raise ValueError(f"simulations are 0 to {MOST_SIMULATIONS:,}, not {simulations!r}")
        super().__init__(game, name, seed)
        self.simulations = simulations
        room = _NODES_AT_ONCE // ((simulations + 1) * game.num_actions)
        self._batch = int(np.clip(room, 1, _BATCH))
        self._codec = Codec(game)
        self._engine = InferenceEngine(
            network, game.observation_shape, self._batch, backend, sizes=(1, self._batch)
        )
        self._search: Search | None = None
        if simulations:
            settings = SearchSettings(simulations=simulations)
            # Cached outputs must equal fresh ones bit for bit, or the cache would change moves.
            cache = _CACHE_MEGABYTES if self._engine.backend in BATCH_INVARIANT else 0.0
            self._search = Search(game, settings, self._batch, seed=0, cache=cache)

    @classmethod
    def from_checkpoint(
        cls, checkpoint: Checkpoint, game: Game, simulations: int, name: str, seed: Seed = None
    ) -> NetworkAgent:
        """Make the agent of a checkpoint.

        Raises:
            ValueError: the checkpoint is of another game, of other options that change its
                shape, or of another version of the rules.
        """
        check_fits(checkpoint, game, name)
        return cls(game, checkpoint.network, simulations, name, seed)

    def without_search(self) -> NetworkAgent:
        """The same network as an agent that plays the most probable action, without search."""
        twin = copy.copy(self)
        twin.simulations, twin._search = 0, None
        twin.name = f"{self.name} without search"
        return twin

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The best action found for each position; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        open_games = np.flatnonzero(states["outcome"] == 0)
        if not len(open_games):
            return chosen
        if self._search is not None:
            chosen[open_games] = self._search.run(states[open_games], self._engine).actions
        else:
            chosen[open_games] = self._favourites(np.ascontiguousarray(states[open_games]))
        return chosen

    def search(self, states: np.ndarray) -> SearchResult:
        """Search unfinished positions; see `Search.run`.

        Raises:
            ValueError: a position is finished, or the agent plays without search.
        """
        if self._search is None:
            raise ValueError(f"agent {self.name} plays without search")
        return self._search.run(self._check(states), self._engine)

    def evaluate(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate unfinished positions with the network alone.

        Args:
            states: structured array [N] of ``game.state_dtype``.

        Returns:
            logits float32 [N, A] in the game's numbers, legal or not, and values float32 [N] for
            the player to move, in [-1, 1].
        """
        encoded = self._codec.encode(self._check(states))
        logits, values = self._engine(encoded.observations)
        return encoded.decode_policies(logits), values

    def _favourites(self, states: np.ndarray) -> np.ndarray:
        masks = np.empty((len(states), self.game.num_actions), np.int8)
        self.game.kernels.legal_actions(self.game.tables, states, masks)
        logits, _ = self.evaluate(states)
        return np.where(masks == 1, logits, -np.inf).argmax(axis=1)
