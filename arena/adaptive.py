"""`AdaptiveAgent` (``level:auto``): finds the strength at which its opponent wins half the games.

It estimates the opponent's Elo points from the results of finished games by Bayes' rule over a grid
of possible values, with the Bradley-Terry model as likelihood, and plays the next game at the mean
of the estimate, as far as the ladder reaches. The estimate widens a little with every game, so that
it follows an opponent who learns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ludarium.base.messages import quoted
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, GameInPlay, Seed
from ludarium.training.evaluation.statistics import ELO
from ludarium.training.search import Search, SearchResult

from .ladder import RANDOM_STRENGTH, Ladder
from .level import LevelAgent
from .level_params import params_at

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_GRID = 10.0  # step of the grid in Elo points
_MARGIN = 600.0  # Elo points by which the grid at least exceeds the ladder's ends
_PRIOR_SPREAD = 400.0  # standard deviation in Elo points
_MOST_ELO = 10_000.0  # largest initial estimate of an opponent
_DRIFT = 25.0  # standard deviation of an opponent's change in a game


class OpponentEstimate:
    """Estimate of an opponent's strength.

    Args:
        low, high: ends of the scale, Elo points.
        start: the most likely strength before any game; default: the middle.
    """

    def __init__(self, low: float, high: float, start: float | None = None) -> None:
        centre = (low + high) / 2 if start is None else start
        reach = max(centre - low, high - centre, (high - low) / 2) + _MARGIN
        self._elo = np.arange(centre - reach, centre + reach + _GRID, _GRID)
        self._weights = np.exp(-(((self._elo - centre) / _PRIOR_SPREAD) ** 2) / 2)
        steps = np.arange(-4 * _DRIFT, 4 * _DRIFT + _GRID, _GRID)
        kernel = np.exp(-((steps / _DRIFT) ** 2) / 2)
        self._drift = kernel / kernel.sum()
        self._weights /= self._weights.sum()

    @property
    def elo(self) -> float:
        """The mean, Elo points."""
        return float(self._elo @ self._weights)

    @property
    def spread(self) -> float:
        """The standard deviation, Elo points."""
        return float(np.sqrt(((self._elo - self.elo) ** 2) @ self._weights))

    def learn(self, elo: float, points: float) -> None:
        """Update the estimate: the opponent got ``points`` (0, 0.5, 1) against ``elo``."""
        odds = (self._elo - elo) / ELO
        log_likelihood = -points * np.logaddexp(0, -odds) - (1 - points) * np.logaddexp(0, odds)
        weights = self._weights * np.exp(log_likelihood)
        weights = np.convolve(weights, self._drift, mode="same")
        self._weights = weights / weights.sum()


class AdaptiveAgent(Agent):
    """Plays each game at the estimated strength of its opponent.

    A game is played at one strength from `begin` to `finish`; all results count as one opponent's.
    So it adapts from game to game in single or vectorised environments, but not within a match,
    whose games all begin with the same estimate, nor between matches: `play_match` restarts agents.

    Args:
        game: the rules.
        network: a network that fits the game, with its weights.
        ladder: levels of that network.
        start: the opponent's Elo points to begin with, 0 to 10,000; default: the middle between
            random play and the strongest level.
        name: the name in tables.
        seed: seed of its mistakes.

    Attributes:
        level: the agent that plays, at any strength.
        estimate: estimate of the opponent, on the ladder's scale, where random play has 0.

    Raises:
        ValueError: ``start`` is out of range, or ``seed`` is not a seed.
    """

    def __init__(
        self,
        game: Game,
        network: Network,
        ladder: Ladder,
        start: float | None = None,
        name: str = "level:auto",
        seed: Seed = None,
    ) -> None:
        if start is not None and not 0 <= start <= _MOST_ELO:
            raise ValueError(f"elo of {name} is 0 to {_MOST_ELO:,.0f}, not {quoted(start)}")
        self._ladder = ladder
        self._start = start
        params = params_at(RANDOM_STRENGTH, ladder.simulations)
        self.level = LevelAgent(game, network, params, ladder.simulations, name)
        super().__init__(game, name, seed)

    @property
    def elo(self) -> float:
        """Strength of the next game, in Elo points."""
        return float(np.clip(self.estimate.elo, 0.0, self._ladder.levels[-1].rating.value))

    def restart(self, seed: Seed = None) -> None:
        """Reseed, and forget the opponent; see `Agent.restart`."""
        super().restart(seed)
        self.level.restart(int(self.rng.integers(1 << 63)))
        self.estimate = OpponentEstimate(0.0, self._ladder.levels[-1].rating.value, self._start)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Fix the strength of these games; see `Agent.begin`."""
        for game in games:
            game.memory = self.elo

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """A move in each game, at that game's strength; see `Agent.play`."""
        elo = np.array([game.memory for game in games])
        chosen = np.full(len(states), -1, np.int64)
        for each in np.unique(elo):
            group = elo == each
            chosen[group] = self._play_at(float(each), states[group])
        return chosen

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Learn from the results; see `Agent.finish`."""
        for game in games:
            if game.reward is not None:  # an abandoned game tells nothing
                self.estimate.learn(game.memory, (1 - game.reward) / 2)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """Moves at the strength of a new game; see `Agent.actions`."""
        return self._play_at(self.elo, self._check(states))

    def search(self, states: np.ndarray) -> SearchResult:
        """The result at the strength of a new game; see `Agent.search`."""
        self._adjust(self.elo)
        return self.level.search(states)

    def start_search(self, position: Position) -> Search:
        """A search with the network's full strength; see `LevelAgent.start_search`."""
        return self.level.start_search(position)

    def _play_at(self, elo: float, states: np.ndarray) -> np.ndarray:
        self._adjust(elo)
        return self.level.actions(states)

    def _adjust(self, elo: float) -> None:
        strength = self._ladder.scale.strength_at(elo)
        self.level.adjust(params_at(strength, self._ladder.simulations))
