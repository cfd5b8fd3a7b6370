"""`Searcher`, which searches for an agent, and `Choice`, which picks a move from its finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ludarium.base.messages import quoted
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.training.search.finding import Budget, Finding

if TYPE_CHECKING:
    from ludarium.training.search import TreeSearch

    from .uct_search import UCTSearch

#: Takes a finding for N positions, returns int64 [N], the actions to play.
Choice = Callable[[Finding, np.random.Generator], np.ndarray]


def best(found: Finding, rng: np.random.Generator) -> np.ndarray:
    """The best actions that the search found."""
    return found.actions


@dataclass(frozen=True)
class Drawn:
    """Draws actions from the policies, by Gumbel-max.

    Attributes:
        temperature: above 0; an action's probability is its share to the power 1/temperature.

    Raises:
        ValueError: ``temperature`` is out of range.
    """

    temperature: float

    def __post_init__(self) -> None:
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature is a number above 0, not {quoted(self.temperature)}")

    def __call__(self, found: Finding, rng: np.random.Generator) -> np.ndarray:
        """The actions."""
        with np.errstate(divide="ignore", over="ignore"):
            logits = np.log(found.policies)
            scaled = (logits - logits.max(axis=1, keepdims=True)) / self.temperature
        return (scaled + rng.gumbel(size=logits.shape)).argmax(axis=1)


class Searcher:
    """Searches positions of one game, within any given budget.

    It draws from the caller's random generator. It keeps only data that speed up the next search,
    and data of games from `begin` to `finish`.

    Args:
        game: the rules.
    """

    def __init__(self, game: Game) -> None:
        self.game = game

    def prepare(self, budget: Budget) -> None:
        """Allocate and compile for searches with this budget before a clock runs.

        Raises:
            ValueError: it cannot search with such a budget.
        """

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """Search each position from scratch.

        Args:
            states: structured array [N] of ``game.state_dtype``, of unfinished games.
            budget: budget of each search.
            rng: the generator to draw from.
        """
        raise NotImplementedError

    def find_in(
        self,
        games: Sequence[GameInPlay],
        states: np.ndarray,
        budget: Budget,
        rng: np.random.Generator,
    ) -> Finding:
        """Search the positions of N games in play; data of a game may be kept."""
        return self.find(states, budget, rng)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Called before the first search in these games."""

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Called once when these games are over, or abandoned."""

    def preferences(
        self, states: np.ndarray, budget: Budget, rng: np.random.Generator
    ) -> np.ndarray:
        """See `Agent.preferences`."""
        return np.zeros((len(states), self.game.num_actions))

    def deep_search(
        self, state: np.ndarray, rng: np.random.Generator
    ) -> TreeSearch | UCTSearch | None:
        """A search of one position, structured array [1], by all cores without a time limit.

        ``None`` if this searcher offers no such search.
        """
        return None


def as_positions(game: Game, states: np.ndarray) -> np.ndarray:
    """The positions in the form of compiled functions: contiguous, writable, of an aligned dtype.

    A dtype that was read from a file has lost its aligned flag, although it equals the game's.

    Raises:
        ValueError: they are not a structured array [N] of the game's positions.
    """
    if not isinstance(states, np.ndarray) or states.dtype != game.state_dtype:
        kind = getattr(states, "dtype", type(states).__name__)
        raise ValueError(f"positions of {game} are needed, not {kind}")
    if states.ndim != 1:
        raise ValueError(f"positions are an array of shape [N], not {states.shape}")
    return np.require(states, requirements=["C", "A", "W"]).view(game.state_dtype)


def random_streams(rng: np.random.Generator, count: int) -> np.ndarray:
    """Generator states for ``engine.rule.random_below``, int64[count, 2]."""
    return rng.integers(1, 1 << 32, (count, 2))
