"""A trained network that plays, with search or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.codec import encode_states
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import checked, is_canonical
from ludarium.training.networks import cache_size, evaluator_of, shared_by_threads
from ludarium.training.search import BatchSearch, Budget, SearchResult, TreeSearch
from ludarium.training.search.settings import DEFAULTS

from .agent import Agent, Seed
from .settings import DEFAULT_SIMULATIONS

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_BATCH = 128
_NODES_AT_ONCE = 1 << 20  # tree nodes times actions of all positions searched together


class NetworkAgent(Agent):
    """Plays the best action that a search with a network finds.

    This is a search of many positions side by side (`BatchSearch`), by default Gumbel AlphaZero
    without root noise. With 0 simulations there is no search: the result is the network's policy.

    Args:
        game: the rules.
        network: layers or a torch module, with weights; or a function that evaluates
            observations.
        simulations: per move; 0 plays by the policy alone, without search.
        name: the name in tables.
        seed: seed of the moves that ``temperature`` draws; without it the seed has no effect.
        backend: see `ludarium.models.InferenceEngine`, and `evaluator_of` for ``compiled-int8``;
            not used for a function.
        temperature: 0 plays the best action found. Above 0, the action is drawn from the policy to
            the power 1/temperature: the search's policy, or without a search the network's.
        settings: settings of the search. A share of the score needs a network with a score, and a
            game that has one.

    Raises:
        ValueError: ``simulations``, ``seed`` or ``temperature`` is out of range, a share of the
            score is given in a game without one, the trees would take more memory than is free, or
            see `ludarium.models.InferenceEngine`.
    """

    def __init__(
        self,
        game: Game,
        network: Network | Evaluator,
        simulations: int = DEFAULT_SIMULATIONS,
        name: str = "network",
        seed: Seed = None,
        backend: str = "auto",
        temperature: float = 0.0,
        settings: SearchSettings = DEFAULTS,
    ) -> None:
        if settings.score and not game.max_score:
            raise ValueError(
                f"{game} counts no points to play for: leave out score={settings.score:g}"
            )
        self._settings = settings
        self._evaluator = evaluator_of(game, network, _BATCH, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        self._batch_search: BatchSearch | None = None
        super().__init__(game, name, seed, Budget(simulations=simulations), temperature)
        if simulations:
            by_simulations = msgspec.structs.replace(settings, simulations=simulations)
            room = _NODES_AT_ONCE // ((simulations + 1) * game.num_actions)
            batch, cache = int(np.clip(room, 1, _BATCH)), cache_size(self._evaluator)
            self._batch_search = BatchSearch(game, by_simulations, batch, 0, cache)

    @property
    def plays_for_score(self) -> bool:
        """See `Agent.plays_for_score`."""
        return self._settings.score > 0

    def search(self, states: np.ndarray) -> SearchResult:
        """Search positions; see `Agent.search`.

        Raises:
            ValueError: a position is finished, or the network's answer is not valid, see
                `BatchSearch.run`.
        """
        states = self._unfinished(states)
        if self._batch_search is not None:
            return self._batch_search.run(states, self._evaluator)
        return self.policy(states)

    def policy(self, states: np.ndarray) -> SearchResult:
        """What the network alone tells of unfinished positions, its policy as the search's."""
        states = self._check(states)
        masks = np.empty((len(states), self.game.num_actions), np.int8)
        self.game.kernels.legal_actions(self.game.tables, states, masks)
        evaluation = self.evaluate(states)
        logits = np.where(masks == 1, evaluation.logits, -np.inf)
        policies = np.exp(logits - logits.max(axis=1, keepdims=True))
        policies /= policies.sum(axis=1, keepdims=True)
        return SearchResult.of(
            logits.argmax(axis=1),
            policies,
            evaluations=len(states),
            values=evaluation.values,
            draws=evaluation.wdl[:, 1],
            priors=policies,
        )

    def start_search(self, position: Position) -> TreeSearch:
        """A `TreeSearch` with the network, without points; see `Agent.start_search`."""
        settings = msgspec.structs.replace(self._settings, algorithm="puct", score=0.0)
        return TreeSearch(self.game, position.states, self._shared_evaluator, settings)

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The search's policy; see `Agent.preferences`."""
        return self.search(states).policies

    def _unfinished(self, states: np.ndarray) -> np.ndarray:
        states = self._check(states)
        if (states["outcome"] != ONGOING).any():
            raise ValueError("there is nothing to search in a finished game")
        return states

    def evaluate(self, states: np.ndarray) -> Evaluation:
        """Evaluate unfinished positions with the network alone.

        Args:
            states: structured array [N] of ``game.state_dtype``.

        Returns:
            The answers, for the players to move.

        Raises:
            ValueError: ``states`` is not such an array, or the evaluator's answer is not valid, see
                `Evaluation`.
        """
        game, count = self.game, len(states)
        planes, _, actions = encode_states(game, self._check(states), is_canonical(self._evaluator))
        answer = self._evaluator(planes.reshape(count, *game.observation_shape))
        found = checked(answer, count, game.num_actions, self._evaluator)
        # A turn is its own inverse: it leads from the board's numbers to the network's too.
        found = found._replace(logits=np.take_along_axis(found.logits, actions, axis=1))
        if game.max_score:
            return found
        return found._replace(score=np.full_like(found.score, np.nan))  # no score was learnt
