"""A trained network that plays, with search or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ludarium.base.messages import quoted
from ludarium.configs.schema import SearchSettings
from ludarium.envs.engine.codec import encode_states
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.game_in_play import GameInPlay
from ludarium.envs.engine.rule import ONGOING
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import checked, is_canonical
from ludarium.training.networks import cache_size, evaluator_of, shared_by_threads
from ludarium.training.search import Budget, Finding, Search, TreeSearch
from ludarium.training.search.settings import DEFAULTS

from .agent import Agent, Seed
from .searcher import Drawn, Searcher, as_positions, best
from .settings import DEFAULT_SIMULATIONS, LCB, check_duration, check_simulations
from .trees import Trees

if TYPE_CHECKING:
    from ludarium.models.inference import Network

_BATCH = 128
_NODES_AT_ONCE = 1 << 20  # tree nodes times actions of all positions searched together


class NetworkSearcher(Searcher):
    """Searches with a network.

    With a number of simulations, this is a search of many positions side by side (`Search`), by
    default Gumbel AlphaZero without root noise. With seconds, each position gets a `TreeSearch`,
    and each game's tree is kept from one move to the next (`Trees`). With 0 simulations there is no
    search: the finding is the network's policy.

    Args:
        game: the rules.
        network: layers or a torch module, with weights; or a function that evaluates
            observations.
        backend: see `ludarium.models.InferenceEngine`, and `evaluator_of` for ``compiled-int8``;
            not used for a function.
        settings: settings of the search; the budget has the number of simulations, and with seconds
            the algorithm is PUCT. A share of the score needs a network with a score, and a game
            that has one.
        lcb: with seconds, the action with the greatest lower confidence bound is chosen, this
            many standard errors below its value; 0: the most visited. See `TreeSearch.best_action`.

    Attributes:
        settings: as given.

    Raises:
        ValueError: ``lcb`` is out of range, or the game has no score.
    """

    def __init__(
        self,
        game: Game,
        network: Network | Evaluator,
        backend: str = "auto",
        settings: SearchSettings = DEFAULTS,
        lcb: float = LCB,
    ) -> None:
        if settings.score and not game.max_score:
            raise ValueError(
                f"{game} counts no points to play for: leave out score={settings.score:g}"
            )
        if not 0 <= lcb < np.inf:
            raise ValueError(f"lcb is a number from 0 on, not {quoted(lcb)}")
        super().__init__(game)
        self.settings = settings
        self._evaluator = evaluator_of(game, network, _BATCH, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        self._lcb = lcb
        self._search: Search | None = None
        self._trees: Trees | None = None

    def prepare(self, budget: Budget) -> None:
        """See `Searcher.prepare`."""
        if budget.seconds is not None:
            self._in_trees()
            return
        simulations = budget.simulations or 0
        check_simulations(simulations)
        if simulations:
            self._side_by_side(simulations)

    def _in_trees(self) -> Trees:
        if self._trees is None:
            settings = msgspec.structs.replace(self.settings, algorithm="puct")
            self._trees = Trees(self.game, self._shared_evaluator, settings, self._lcb)
        return self._trees

    def _side_by_side(self, simulations: int) -> Search:
        if self._search is None or self._search.settings.simulations != simulations:
            settings = msgspec.structs.replace(self.settings, simulations=simulations)
            room = _NODES_AT_ONCE // ((simulations + 1) * self.game.num_actions)
            batch, cache = int(np.clip(room, 1, _BATCH)), cache_size(self._evaluator)
            self._search = Search(self.game, settings, batch, 0, cache)
        return self._search

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """Search positions; see `Searcher.find`.

        Raises:
            ValueError: a position is finished.
        """
        states = as_positions(self.game, states)
        if (states["outcome"] != ONGOING).any():
            raise ValueError("there is nothing to search in a finished game")
        if budget.seconds is not None:
            return self._in_trees().find(states, budget)
        if budget.simulations:
            return self._side_by_side(budget.simulations).run(states, self._evaluator)
        masks = np.empty((len(states), self.game.num_actions), np.int8)
        self.game.kernels.legal_actions(self.game.tables, states, masks)
        evaluation = self.evaluate(states)
        logits = np.where(masks == 1, evaluation.logits, -np.inf)
        policies = np.exp(logits - logits.max(axis=1, keepdims=True))
        return Finding.of(
            logits.argmax(axis=1),
            policies / policies.sum(axis=1, keepdims=True),
            values=evaluation.values,
            draws=evaluation.wdl[:, 1],
            evaluations=len(states),
        )

    def find_in(
        self,
        games: Sequence[GameInPlay],
        states: np.ndarray,
        budget: Budget,
        rng: np.random.Generator,
    ) -> Finding:
        """Search; with seconds each game's tree is kept. See `Searcher.find_in`."""
        if budget.seconds is None:
            return self.find(states, budget, rng)
        return self._in_trees().find_in(games, states, budget)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """See `Trees.begin`."""
        if self._trees is not None:
            self._trees.begin(games)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """See `Trees.finish`."""
        if self._trees is not None:
            self._trees.finish(games)

    def preferences(
        self, states: np.ndarray, budget: Budget, rng: np.random.Generator
    ) -> np.ndarray:
        """The search's policy; with seconds the network's logits. See `Agent.preferences`."""
        if budget.seconds is not None:
            return self.evaluate(states).logits
        return self.find(states, budget, rng).policies

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
        planes, _, actions = encode_states(
            game, as_positions(game, states), is_canonical(self._evaluator)
        )
        answer = self._evaluator(planes.reshape(count, *game.observation_shape))
        found = checked(answer, count, game.num_actions, self._evaluator)
        # A turn is its own inverse: it leads from the board's numbers to the network's too.
        found = found._replace(logits=np.take_along_axis(found.logits, actions, axis=1))
        if game.max_score:
            return found
        return found._replace(score=np.full_like(found.score, np.nan))  # no score was learnt

    def deep_search(self, state: np.ndarray, rng: np.random.Generator) -> TreeSearch:
        """A `TreeSearch` with the network, without points; see `Searcher.deep_search`."""
        settings = msgspec.structs.replace(self.settings, algorithm="puct", score=0.0)
        return TreeSearch(self.game, state, self._shared_evaluator, settings)


def network_agent(
    game: Game,
    network: Network | Evaluator,
    simulations: int = DEFAULT_SIMULATIONS,
    name: str = "network",
    seed: Seed = None,
    backend: str = "auto",
    temperature: float = 0.0,
    seconds: float | None = None,
    lcb: float | None = None,
    settings: SearchSettings = DEFAULTS,
) -> Agent:
    """An agent that plays the best action that a `NetworkSearcher` finds.

    Args:
        game, network, backend, settings: see `NetworkSearcher`.
        simulations: per move; 0 plays the most probable action of the policy, without search.
        name: the name in tables.
        seed: seed of the moves that ``temperature`` draws; without it the seed has no effect.
        temperature: 0 plays the best action found. Above 0, the action is drawn from the policy to
            the power 1/temperature: the search's policy, or without a search the network's.
        seconds: seconds for each move of each game, 0.001 to 3,600, in place of simulations.
        lcb: see `NetworkSearcher`, 3 by default; only with ``seconds``.

    Raises:
        ValueError: ``simulations``, ``seconds``, ``temperature`` or ``lcb`` is out of range;
            ``lcb`` is given without ``seconds`` or with ``temperature``, or a share of the score
            without a search.
    """
    if lcb is not None and temperature:
        raise ValueError("lcb chooses the best move, temperature draws one: give one of them")
    if seconds is not None:
        check_duration(seconds)
    elif lcb is not None:
        raise ValueError("lcb is for a time for each move, such as time=1s")
    elif settings.score and not simulations:
        raise ValueError("score is for a search: give simulations too, or leave it out")
    searcher = NetworkSearcher(game, network, backend, settings, LCB if lcb is None else lcb)
    budget = Budget(simulations=simulations) if seconds is None else Budget(seconds=seconds)
    choice = Drawn(temperature) if temperature else best
    return Agent(game, name, seed, searcher, budget, choice)
