"""A trained network that plays, with search or without."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.envs.engine.codec import observations_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.models import Evaluation, Evaluator
from ludarium.models.evaluation import checked
from ludarium.training.networks import cache_size, evaluator_of, shared_by_threads
from ludarium.training.search import Budget, Finding, Search, SearchSettings, TreeSearch
from ludarium.training.search.tree_search import SETTINGS

from .agent import Agent, GameInPlay, Seed
from .settings import DEFAULT_SIMULATIONS, check_duration, check_score, check_simulations
from .trees import Trees

if TYPE_CHECKING:
    from ludarium.models.inference import Network

#: Standard errors of the lower bounds of values by which an action is chosen after a time.
BOUND = 3.0

_BATCH = 128
_NODES_AT_ONCE = 1 << 20  # tree nodes times actions of all positions searched together


class NetworkAgent(Agent):
    """Plays the best action that a search with a network finds.

    With a number of simulations the search is Gumbel AlphaZero's, without root noise, of many
    positions side by side (`Search`). With a time it is a `TreeSearch` of each position, and in a
    match each game's tree is kept from one of the agent's moves to the next (`Trees`).

    Args:
        game: the rules.
        network: as layers or of torch, with its weights; or a function that evaluates
            observations.
        simulations: per move; 0 plays the most probable action of the policy, without search.
        name: how tables name it.
        seed: of the choice of a move. Without ``temperature`` and time it always plays the same.
        backend: see `ludarium.models.InferenceEngine`; not for a function.
        temperature: 0 plays the best action found. Above, the action is drawn from the policy to
            the power 1/temperature: that of the search, or the network's.
        score: share of the final score in the value that the search goes by, 0 to below 1: above 0
            the agent plays for points too. For a network with a score, and a game that has one.
        seconds: for each move of each game, 0.001 to 3,600, in place of simulations.
        bound: with a time: standard errors of the lower confidence bounds by which the action is
            chosen, 3 by default; 0 plays the most visited one. See `TreeSearch.best_action`.
        memory: with a time: bytes that the trees may take, see `Trees`.

    Attributes:
        network, temperature, score: as given.
        budget: of a move.

    Raises:
        ValueError: ``simulations``, ``seconds``, ``temperature`` or ``score`` is out of range or
            has no use.
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
        score: float = 0.0,
        seconds: float | None = None,
        bound: float | None = None,
        memory: int = 2**30,
    ) -> None:
        check_simulations(simulations)
        if not 0 <= temperature < np.inf:
            raise ValueError(f"temperature is a number from 0 on, not {temperature!r}")
        if score:
            check_score(game, score)
        if seconds is None:
            if score and not simulations:
                raise ValueError("score is for a search: give simulations too, or leave it out")
            if bound is not None:
                raise ValueError("bound is for a time for each move, such as time=1s")
            self.budget = Budget(simulations=simulations)
        else:
            check_duration(seconds)
            self.budget = Budget(seconds=seconds)
        super().__init__(game, name, seed)
        self.network = network
        self.temperature = temperature
        self.score = score
        room = _NODES_AT_ONCE // ((simulations + 1) * game.num_actions)
        batch = int(np.clip(room, 1, _BATCH))
        self._evaluator = evaluator_of(game, network, batch, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        points: dict[str, Any] = {"score": score, "max_score": max(1, game.max_score)}
        self._search: Search | None = None
        self._trees: Trees | None = None
        if seconds is not None:
            settings = SETTINGS._replace(**points)
            bound = BOUND if bound is None else bound
            self._trees = Trees(game, self._shared_evaluator, settings, bound, memory)
        elif simulations:
            settings = SearchSettings(simulations=simulations, **points)
            self._search = Search(game, settings, batch, 0, cache_size(self._evaluator))

    @property
    def searches(self) -> bool:
        """Whether it searches, or plays the network's policy."""
        return self._search is not None or self._trees is not None

    def without_search(self) -> NetworkAgent:
        """The same network as an agent that plays the most probable action, without search."""
        twin = copy.copy(self)
        twin.budget, twin._search, twin._trees = Budget(simulations=0), None, None
        twin.name = f"{self.name} without search"
        return twin

    def search(self, states: np.ndarray) -> Finding:
        """What the agent goes by in unfinished positions; without search the network's policy.

        Raises:
            ValueError: a position is finished.
        """
        states = self._check(states)
        if (states["outcome"] != ONGOING).any():
            raise ValueError("there is nothing to search in a finished game")
        if self._trees is not None:
            return self._trees.find(states, self.budget)
        if self._search is not None:
            return self._search.run(states, self._evaluator)
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

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The best action found for each position; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        places = np.flatnonzero(states["outcome"] == ONGOING)
        if len(places):
            chosen[places] = self._choose(self.search(np.ascontiguousarray(states[places])))
        return chosen

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The policy of the search; with a time, or without search, the network's.

        See `Agent.preferences`.
        """
        if self._trees is not None:
            return self.evaluate(states).logits
        return self.search(states).policies

    def evaluate(self, states: np.ndarray) -> Evaluation:
        """Evaluate unfinished positions with the network alone.

        Args:
            states: structured array [N] of ``game.state_dtype``.

        Returns:
            For the players to move.

        Raises:
            ValueError: the evaluator's answer is not as it must be, see `Evaluation`.
        """
        answer = self._evaluator(observations_of(self.game, self._check(states)))
        found = checked(answer, len(states), self.game.num_actions, self._evaluator)
        if self.game.max_score:
            return found
        return found._replace(score=np.full_like(found.score, np.nan))  # nobody learnt it

    def deep_search(self, position: Position) -> TreeSearch:
        """A search of one position by all cores with the agent's network."""
        return TreeSearch(self.game, position.states, self._shared_evaluator)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """See `Trees.begin`."""
        if self._trees is not None:
            self._trees.begin(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The best action found in each game; see `Agent.play`."""
        if self._trees is None:
            return self.actions(states)
        return self._choose(self._trees.find_in(games, self._check(states), self.budget))

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """See `Trees.finish`."""
        if self._trees is not None:
            self._trees.finish(games)

    def _choose(self, found: Finding) -> np.ndarray:
        """The best actions, or such as are drawn from the policies, by Gumbel-max."""
        if not self.temperature:
            return found.actions
        with np.errstate(divide="ignore", over="ignore"):
            logits = np.log(found.policies)
            scaled = (logits - logits.max(axis=1, keepdims=True)) / self.temperature
        return (scaled + self._random.gumbel(size=logits.shape)).argmax(axis=1)
