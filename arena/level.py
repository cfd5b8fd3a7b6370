"""`LevelSearcher`: a trained network below its strength, by mistakes as people make them.

It searches as the trained agent does and then draws among the moves that the search looked at, by
how much of the position's value each loses: a small loss is likely, a large one unlikely, and one
beyond a bound does not happen. `Knobs` say how likely and how large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.training.agents import Searcher
from ludarium.training.networks import cache_size, evaluator_of, shared_by_threads
from ludarium.training.search import Budget, Finding, Search, SearchSettings, TreeSearch

from .knobs import Knobs

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_BATCH = 128
_NODES_AT_ONCE = 1 << 22  # tree nodes times actions of all positions searched together
#: What a factor of e in the search's policy is worth, in value. Among moves of equal value, such
#: as those of a won position, the search's favourites keep a level from playing aimlessly.
_PREFERENCE = 0.02
_LEAST_POLICY = 1e-6


class LevelSearcher(Searcher):
    """Finds moves with a network at the strength that its knobs make.

    Its moves are those that `choose` draws. The draw is made here and not by the agent's choice,
    since one row of random numbers for each position, those of the search's noise among them, gives
    a position the same move alone and among others. No budget is asked.

    Args:
        game: the rules.
        network: with its weights.
        knobs: the strength.
        most_simulations: that `adjust` may ask for; default: those of ``knobs``.
        backend: see `ludarium.models.InferenceEngine`.

    Attributes:
        knobs: the strength.
    """

    def __init__(
        self,
        game: Game,
        network: Network,
        knobs: Knobs,
        most_simulations: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__(game)
        most = max(most_simulations or 0, knobs.simulations)
        room = _NODES_AT_ONCE // ((most + 1) * game.num_actions)
        batch = int(np.clip(room, 1, _BATCH))
        self._evaluator = evaluator_of(game, network, batch, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        cache = cache_size(self._evaluator)
        self._search = Search(game, SearchSettings(simulations=most), batch, seed=0, cache=cache)
        self.adjust(knobs)

    def adjust(self, knobs: Knobs) -> None:
        """Change the strength, to at most the simulations that there is room for."""
        self.knobs = knobs
        self._set_search(sees_wins=True)

    def deep_search(self, state: np.ndarray, rng: np.random.Generator) -> TreeSearch:
        """With the network's full strength, for analyses; see `Searcher.deep_search`."""
        return TreeSearch(self.game, state, self._shared_evaluator)

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """The search's finding, but for its actions: mistakes are included."""
        lots = rng.random((len(states), 2 + self.game.num_actions))
        sees_wins = lots[:, 1] < self.knobs.sees_wins
        places, findings = [], []
        for sees in (True, False):
            group = np.flatnonzero(sees_wins == sees)
            if len(group):
                found = self._look(states[group], lots[group, 2:], sees)
                actions = choose(found, self.knobs, lots[group, 0])
                places.append(group)
                findings.append(replace(found, actions=actions))
        return Finding.scattered(len(states), self.game.num_actions, places, findings)

    def _set_search(self, sees_wins: bool) -> None:
        simulations = self.knobs.simulations
        self._search.use(
            SearchSettings(simulations=simulations, prove=sees_wins, temperature_plies=0)
        )

    def _look(self, states: np.ndarray, lots: np.ndarray, sees_wins: bool) -> Finding:
        """Search positions, with noise from uniform ``lots`` [N, A] on what is looked at."""
        self._set_search(sees_wins)
        noise = None
        if self.knobs.blur:
            gumbel = -np.log(-np.log(np.clip(lots, 1e-12, 1 - 1e-12)))
            noise = (self.knobs.blur * gumbel).astype(np.float32)
        return self._search.run(states, self._evaluator, noise)


def choose(found: Finding, knobs: Knobs, lots: np.ndarray) -> np.ndarray:
    """Draw an action for each of N searched positions.

    Args:
        found: by the searches.
        knobs: the temperature and the bound are used.
        lots: float64[N], uniform in [0, 1).

    Returns:
        int64[N], actions that the searches visited.
    """
    if not knobs.temperature:
        return found.actions
    chances = choice_probabilities(found, knobs)
    cumulative = chances.cumsum(axis=1)
    return (cumulative > lots[:, None] * cumulative[:, -1:]).argmax(axis=1).astype(np.int64)


def choice_probabilities(found: Finding, knobs: Knobs) -> np.ndarray:
    """Probability of each action, float64[N, A]: exp(-loss / temperature) within the bound.

    The loss is against the action that the search would play, in its values of the two.
    """
    rows, best = np.arange(len(found.actions)), found.actions
    values = found.action_values.astype(np.float64)
    favour = np.log(np.maximum(found.policies, _LEAST_POLICY)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        losses = np.maximum(values[rows, best][:, None] - values, 0)
        is_considered = losses <= knobs.bound  # not where the search did not look: NaN
    losses += _PREFERENCE * (favour.max(axis=1, keepdims=True) - favour)
    losses[rows, best] = 0
    is_considered[rows, best] = True
    weights = np.where(
        is_considered, np.exp(-np.where(is_considered, losses, 0) / knobs.temperature), 0
    )
    return weights / weights.sum(axis=1, keepdims=True)
