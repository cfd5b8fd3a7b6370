"""`LevelAgent`: a trained network that plays below its strength, by mistakes as people make them.

It searches as the trained agent does and then draws among the moves that the search looked at, by
how much of the position's value each loses: a small loss is likely, a large one unlikely, and one
beyond a bound does not happen. `Knobs` say how likely and how large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Agent, Seed
from ludarium.training.networks import cache_size, evaluator_of, shared_by_threads
from ludarium.training.search import Finding, Search, SearchSettings, TreeSearch

from .knobs import Knobs

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_BATCH = 128
_NODES_AT_ONCE = 1 << 22  # tree nodes times actions of all positions searched together
#: What a factor of e in the search's policy is worth, in value. Among moves of equal value, such
#: as those of a won position, the search's favourites keep a level from playing aimlessly.
_PREFERENCE = 0.02
_LEAST_POLICY = 1e-6


class LevelAgent(Agent):
    """Plays with a network at the strength that its knobs make.

    With the same seed and the same positions in the same order it plays the same. Each decision
    takes one search, so many positions at once are as fast as for the trained agent.

    Args:
        game: the rules.
        network: with its weights.
        knobs: the strength.
        name: how tables name it.
        seed: of its mistakes.
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
        name: str = "level",
        seed: Seed = None,
        most_simulations: int | None = None,
        backend: str = "auto",
    ) -> None:
        super().__init__(game, name, seed)
        most = max(most_simulations or 0, knobs.simulations)
        room = _NODES_AT_ONCE // ((most + 1) * game.num_actions)
        batch = int(np.clip(room, 1, _BATCH))
        self._evaluator = evaluator_of(game, network, batch, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        cache = cache_size(self._evaluator)
        self._search = Search(game, SearchSettings(simulations=most), batch, seed=0, cache=cache)
        self.adjust(knobs)

    def adjust(self, knobs: Knobs) -> None:
        """Change the strength, to at most the simulations that the agent was made for."""
        self.knobs = knobs
        self._set_search(sees_wins=True)

    def deep_search(self, position: Position) -> TreeSearch:
        """See `NetworkAgent.deep_search`: analyses have the network's full strength."""
        return TreeSearch(self.game, position.states, self._shared_evaluator)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """A move for each position, mistakes included; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        lots = self._random.random((len(states), 2 + self.game.num_actions))
        open_games = np.flatnonzero(states["outcome"] == ONGOING)
        if len(open_games):
            sees_wins = lots[open_games, 1] < self.knobs.sees_wins
            for sees, games in ((True, open_games[sees_wins]), (False, open_games[~sees_wins])):
                if len(games):
                    result = self._look(states[games], lots[games, 2:], sees)
                    chosen[games] = choose(result, self.knobs, lots[games, 0])
        return chosen

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
