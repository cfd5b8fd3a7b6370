"""A trained network that thinks for a given time about each move of each game."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.codec import observations_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.envs.engine.threads import available_cores, take_turns
from ludarium.models import Evaluation, Evaluator, InferenceEngine
from ludarium.models.inference import torch_threads
from ludarium.models.network import PolicyValueNetwork
from ludarium.training.networks import inference_engine
from ludarium.training.search import Budget, TreeSearch
from ludarium.training.search.tree_search import BATCH, SETTINGS, Batch, new_batches

from .agent import Agent, GameInPlay, Seed
from .checkpoints import check_score
from .settings import check_duration, duration_text

#: Standard errors of the lower bounds of values by which an action is chosen.
BOUND = 3.0

_MEMORY = 2**30  # bytes of the trees of all games in play


@dataclass
class _Thought:
    """What the agent keeps of a game.

    Attributes:
        search: with the tree of the agent's last decision.
        plies: actions of the game that the tree's root has behind it.
    """

    search: TreeSearch
    plies: int


class ThinkingAgent(Agent):
    """Plays the best action that a `TreeSearch` finds in a given time.

    One game gets all cores; of more games, as many as there are cores are thought about at a time.
    In a match the agent keeps each game's tree from one of its moves to the next.

    Args:
        game: the rules.
        network: with its weights; or a function that evaluates what `Search` shows it.
        seconds: for each move of each game, 0.001 to 3,600.
        name: how tables name it.
        seed: of the choice of a move, with a ``temperature``.
        temperature: 0 plays the best action found. Above, the action is drawn from the visits to
            the power 1/temperature.
        backend: see `ludarium.models.InferenceEngine`; not for a function.
        memory: bytes that the trees of all games in play may take together. A tree that has its
            share of it does not grow, and the move is played.
        score: see `NetworkAgent`.
        bound: standard errors of the lower confidence bounds by which the action is chosen; 0
            plays the most visited one. See `TreeSearch.best_action`.

    Raises:
        ValueError: ``seconds``, ``temperature`` or ``score`` is out of range, or there is no score
            to play for.
    """

    def __init__(
        self,
        game: Game,
        network: PolicyValueNetwork | Evaluator,
        seconds: float,
        name: str = "network",
        seed: Seed = None,
        temperature: float = 0.0,
        backend: str = "auto",
        memory: int = _MEMORY,
        score: float = 0.0,
        bound: float = BOUND,
    ) -> None:
        check_duration(seconds)
        if not 0 <= temperature < np.inf:
            raise ValueError(f"temperature is a number from 0 on, not {temperature!r}")
        label = f"{name}?time={duration_text(seconds)}" + (f"&score={score:g}" if score else "")
        label += f"&bound={bound:g}" if bound != BOUND else ""
        super().__init__(game, label, seed)
        self.seconds = seconds
        self.budget = Budget(seconds=seconds)
        self.temperature = temperature
        self.bound = bound
        self._settings = SETTINGS._replace(score=score, max_score=max(1, game.max_score))
        if score:
            check_score(game, score)
        with torch_threads(1):
            self._evaluator = shared_by_threads(evaluator_of(game, network, BATCH, backend))
        self._memory = memory
        self._in_play = 0
        cores = available_cores()
        self._desks = [new_batches(game, cores) for _ in range(cores)]
        self._compile()

    def deep_search(self, position: Position) -> TreeSearch:
        """See `NetworkAgent.deep_search`."""
        return TreeSearch(self.game, position.states, self._evaluator)

    def actions(self, states: np.ndarray) -> np.ndarray:
        """The best action found for each position; see `Agent.actions`."""
        states = self._check(states)
        chosen = np.full(len(states), -1, np.int64)
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)

        def search_in(number: int, desk: list[Batch]) -> TreeSearch:
            place = unfinished[number]
            return self._fresh(states[place : place + 1], desk, len(unfinished))

        chosen[unfinished] = self._think(len(unfinished), search_in)
        return chosen

    def preferences(self, states: np.ndarray) -> np.ndarray:
        """The network's policy; see `Agent.preferences`."""
        return self._evaluator(observations_of(self.game, self._check(states))).logits

    def begin(self, games: Sequence[GameInPlay]) -> None:
        """Share out the memory."""
        self._in_play += len(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        """The best action found in each game, whose trees are kept; see `Agent.play`."""
        states = self._check(states)

        def search_in(number: int, desk: list[Batch]) -> TreeSearch:
            each = games[number]
            thought: _Thought | None = each.memory
            if thought is None:
                in_play = max(self._in_play, len(games))
                search = self._fresh(states[number : number + 1], desk, in_play)
                each.memory = _Thought(search, len(each.actions))
                return search
            thought.search.batches = desk
            for action in each.actions[thought.plies :]:
                thought.search.play(action)
            thought.plies = len(each.actions)
            return thought.search

        return self._think(len(games), search_in)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        """Forget the trees."""
        self._in_play -= len(games)
        for each in games:
            each.memory = None

    def _compile(self) -> None:
        """Have all compiled before the first move, whose time it would take."""
        start = self.game.start(0)
        search = self._fresh(start.states, self._desks[0], 1)
        search.think(Budget(simulations=1))
        search.play(search.best_action())

    def _fresh(self, state: np.ndarray, desk: list[Batch], games: int) -> TreeSearch:
        memory = self._memory // max(1, games)
        return TreeSearch(self.game, state, self._evaluator, self._settings, desk, memory)

    def _think(self, count: int, search_in: Callable[[int, list[Batch]], TreeSearch]) -> np.ndarray:
        """Think about so many positions; int64 [count], the actions."""
        actions = np.full(count, -1, np.int64)
        lots = self._random.gumbel(size=(count, self.game.num_actions))

        def task(thread: int, number: int) -> None:
            started = time.perf_counter()
            desk = self._desks[thread]
            search = search_in(number, desk if count == 1 else desk[:1])
            left = max(0.0, self.seconds - (time.perf_counter() - started))
            search.think(Budget(seconds=left))
            actions[number] = self._choose(search, lots[number])

        if count == 1:
            task(0, 0)  # here, so that the search has the other threads
        else:
            take_turns(task, count, len(self._desks))
        return actions

    def _choose(self, search: TreeSearch, lots: np.ndarray) -> int:
        """The best action, or one drawn from the visits by Gumbel-max."""
        if not self.temperature:
            return search.best_action(self.bound)
        actions, visits = search.open_visits()
        with np.errstate(divide="ignore", over="ignore"):
            logits = np.log(visits / visits.max()) / self.temperature
        return int(actions[(logits + lots[actions]).argmax()])


def evaluator_of(
    game: Game, network: PolicyValueNetwork | Evaluator, batch: int, backend: str = "auto"
) -> Evaluator:
    """The network in a backend, for batches of at most ``batch``; a function is one already."""
    if isinstance(network, PolicyValueNetwork):
        return inference_engine(game, network, batch, backend)
    return network


def shared_by_threads(evaluate: Evaluator) -> Evaluator:
    """An evaluator that may be called from several threads at a time.

    A function of the user's own may not be thread-safe, so one call waits for the other.
    """
    if isinstance(evaluate, InferenceEngine):
        return evaluate.in_one_thread
    lock = threading.Lock()

    def evaluate_alone(observations: np.ndarray) -> Evaluation:
        with lock:
            return evaluate(observations)

    return evaluate_alone
