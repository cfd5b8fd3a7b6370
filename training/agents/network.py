"""A trained network that plays, with search or without."""

from __future__ import annotations

import copy

import numpy as np

from ludarium.envs.engine.codec import observations_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.models import Evaluation, Evaluator, InferenceEngine
from ludarium.models.backends import BATCH_INVARIANT
from ludarium.models.evaluation import checked
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.search import Budget, Finding, Search, SearchSettings, TreeSearch

from .agent import Agent, Seed
from .checkpoints import DEFAULT_SIMULATIONS, check_score, network_name
from .settings import check_simulations
from .thinking import BOUND, ThinkingAgent, evaluator_of, shared_by_threads

_BATCH = 128
_CACHE_MEGABYTES = 16.0
_NODES_AT_ONCE = 1 << 20  # tree nodes times actions of all positions searched together


class NetworkAgent(Agent):
    """Plays the best action of a Gumbel AlphaZero search with a network, without root noise.

    Args:
        game: the rules.
        network: with its weights; or a function that evaluates observations.
        simulations: per move; 0 plays the most probable action of the policy, without search.
        name: how tables name it.
        seed: of the choice of a move. Without ``temperature`` the agent always plays the same.
        backend: see `ludarium.models.InferenceEngine`; not for a function.
        temperature: 0 plays the best action found. Above, the action is drawn from the policy to
            the power 1/temperature: the improved policy of the search, or the network's.
        score: share of the final score in the value that the search goes by, 0 to below 1: above 0
            the agent plays for points too. For a network with a score, and a game that has one.

    Attributes:
        network, simulations, temperature, score: as given.
        budget: of a decision.

    Raises:
        ValueError: ``simulations``, ``temperature`` or ``score`` is out of range, or there is no
            score to play for.
    """

    def __init__(
        self,
        game: Game,
        network: PolicyValueNetwork | Evaluator,
        simulations: int = DEFAULT_SIMULATIONS,
        name: str = "network",
        seed: Seed = None,
        backend: str = "auto",
        temperature: float = 0.0,
        score: float = 0.0,
    ) -> None:
        check_simulations(simulations)
        if not 0 <= temperature < np.inf:
            raise ValueError(f"temperature is a number from 0 on, not {temperature!r}")
        super().__init__(game, name, seed)
        if score and not simulations:
            raise ValueError("score is for a search: give simulations too, or leave it out")
        self.score = score
        self.network = network
        self.simulations = simulations
        self.budget = Budget(simulations=simulations)
        self.temperature = temperature
        room = _NODES_AT_ONCE // ((simulations + 1) * game.num_actions)
        self._batch = int(np.clip(room, 1, _BATCH))
        if score:
            check_score(game, score)
        self._evaluator = evaluator_of(game, network, self._batch, backend)
        self._shared_evaluator = shared_by_threads(self._evaluator)
        self._search: Search | None = None
        if simulations:
            cache = cache_size(self._evaluator)
            settings = SearchSettings(
                simulations=simulations, score=score, max_score=max(1, game.max_score)
            )
            self._search = Search(game, settings, self._batch, seed=0, cache=cache)

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
        playing = np.ascontiguousarray(states[open_games])
        if self._search is None:
            logits = self._legal_logits(playing)
            actions = logits.argmax(axis=1)
        else:
            result = self._search.run(playing, self._evaluator)
            with np.errstate(divide="ignore"):
                logits = np.log(result.policies)
            actions = result.actions
        chosen[open_games] = self._draw(logits) if self.temperature else actions
        return chosen

    def search(self, states: np.ndarray) -> Finding:
        """Search unfinished positions; see `Search.run`.

        Raises:
            ValueError: a position is finished, or the agent plays without search.
        """
        if self._search is None:
            raise ValueError(f"agent {self.name} plays without search")
        return self._search.run(self._check(states), self._evaluator)

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The policy of the search, or the network's; see `Agent.preferences`."""
        if self._search is None:
            return self.evaluate(states).logits
        return self.search(states).policies

    def deep_search(self, position: Position) -> TreeSearch:
        """A search of one position by all cores with the agent's network."""
        return TreeSearch(self.game, position.states, self._shared_evaluator)

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
        return checked(answer, len(states), self.game.num_actions, self._evaluator)

    def _legal_logits(self, states: np.ndarray) -> np.ndarray:
        """The policy's logits float32 [N, A], -inf where an action is not legal."""
        masks = np.empty((len(states), self.game.num_actions), np.int8)
        self.game.kernels.legal_actions(self.game.tables, states, masks)
        return np.where(masks == 1, self.evaluate(states).logits, -np.inf)

    def _draw(self, logits: np.ndarray) -> np.ndarray:
        """Draw an action for each row of logits, by Gumbel-max."""
        with np.errstate(over="ignore"):
            scaled = (logits - logits.max(axis=1, keepdims=True)) / self.temperature
        return (scaled + self._random.gumbel(size=logits.shape)).argmax(axis=1)


def cache_size(evaluate: Evaluator) -> float:
    """Megabytes of a search's cache: cached answers must equal fresh ones, or moves would change.

    So there is none unless an answer is the same, bit for bit, in whatever batch it is given.
    """
    is_engine = isinstance(evaluate, InferenceEngine)
    return _CACHE_MEGABYTES if is_engine and evaluate.backend in BATCH_INVARIANT else 0.0


def network_agent(
    game: Game,
    network: PolicyValueNetwork | Evaluator,
    label: str,
    seed: Seed = None,
    simulations: int = DEFAULT_SIMULATIONS,
    temperature: float = 0.0,
    time: float | None = None,
    backend: str = "auto",
    score: float = 0.0,
    bound: float | None = None,
) -> Agent:
    """The agent that a checkpoint and the settings of a name ask for.

    Args:
        game, network, seed, temperature, score: see `NetworkAgent`.
        label: its name in tables, without settings.
        simulations: for each move.
        time: seconds for each move, in place of simulations.
        backend: see `ludarium.models.InferenceEngine`.
        bound: see `ThinkingAgent`; only with a time.

    Raises:
        ValueError: a setting is out of range, or has no use.
    """
    if time is not None:
        bound = BOUND if bound is None else bound
        return ThinkingAgent(
            game, network, time, label, seed, temperature, backend, score=score, bound=bound
        )
    if bound is not None:
        raise ValueError("bound is for a time for each move, such as time=1s")
    name = network_name(label, simulations, temperature, score)
    return NetworkAgent(game, network, simulations, name, seed, backend, temperature, score)
