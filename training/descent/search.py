"""Run a batch of minimax searches from Python, with any function that evaluates positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.search import Evaluator, join_results
from ludarium.training.search.cache import empty, new_cache

from . import minimax
from .minimax import EVALUATIONS, Requests
from .settings import MinimaxSettings
from .tree import new_tree

ROWS_AT_ONCE = 512  #: positions that wait for the network at a time


@dataclass(frozen=True)
class MinimaxResult:
    """Results of the searches of n positions.

    Attributes:
        actions: int64[n], the safest action, to be played.
        values: float32[n], value of the position for its player to move, in [-1, 1].
        visits: int32[n, A], lines that went through each root action.
        action_values: float32[n, A], value of each root action for the player to move; NaN where
            it is not legal.
        resolved: bool[n], whether the value is exact.
        expansions: positions expanded in all.
        evaluations: positions that the network evaluated in all.
    """

    actions: np.ndarray
    values: np.ndarray
    visits: np.ndarray
    action_values: np.ndarray
    resolved: np.ndarray
    expansions: int
    evaluations: int


def new_requests(game: Game, rows: int, megabytes: float) -> tuple[np.ndarray, Requests]:
    """Room for ``rows`` positions that wait, and a cache; returns their observations too.

    Returns:
        float32 [rows, *observation_shape], and the requests that write there.
    """
    rows = max(rows, game.num_actions)
    observations = np.zeros((rows, *game.observation_shape), np.float32)
    requests = Requests(
        planes=observations.reshape(rows, *game.planes_shape),
        cache=new_cache(observations, 1, megabytes),
        searches=np.zeros(rows, np.int32),
        nodes=np.zeros(rows, np.int32),
        counts=np.zeros(4, np.int64),
    )
    return observations, requests


class MinimaxSearch:
    """Searches up to ``batch`` positions in parallel; their children wait in one batch.

    Args:
        game: the rules.
        settings: see `MinimaxSettings`.
        batch: most positions that are searched in parallel; more are split into batches.
        rows: most positions that wait for the network at a time, at least all children of one.
        cache: megabytes for answers of the network, which are kept from one `run` to the next.

    An evaluator's "logits" are one number here, the final score: see `network.ScoreAsPolicy`.

    Raises:
        ValueError: ``settings.expansions`` or ``batch`` is below 1.
    """

    def __init__(
        self,
        game: Game,
        settings: MinimaxSettings,
        batch: int = 64,
        rows: int = ROWS_AT_ONCE,
        cache: float = 0.0,
    ) -> None:
        if settings.expansions < 1 or batch < 1:
            raise ValueError(
                f"a search needs at least 1 expansion and a batch of at least 1, not "
                f"{settings.expansions} and {batch}"
            )
        self.game = game
        self.settings = settings
        self.batch = batch
        self.kernels = specialise(minimax, game.rules)
        states = settings.expansions + (game.max_plies if settings.to_end else 0)
        self.tree = new_tree(game, batch, states)
        self.observations, self.requests = new_requests(game, rows, cache)

    def forget(self) -> None:
        """Empty the cache, before the answers come from another network."""
        empty(self.requests.cache)

    def run(
        self,
        states: np.ndarray,
        evaluate: Evaluator,
        go_on: Callable[[], bool] = lambda: True,
    ) -> MinimaxResult:
        """Search positions, structured array [n], none of them finished.

        Args:
            states: the positions.
            evaluate: the network.
            go_on: asked after each batch for the network, once all roots are expanded; False ends
                the search with what it has found.

        Raises:
            ValueError: a position is finished.
        """
        if (states["outcome"] != ONGOING).any():
            raise ValueError("there is nothing to search in a finished game")
        portions = [
            self._run(states[start : start + self.batch], evaluate, go_on)
            for start in range(0, len(states), self.batch)
        ]
        return portions[0] if len(portions) == 1 else join_results(portions)

    def _run(
        self, states: np.ndarray, evaluate: Evaluator, go_on: Callable[[], bool]
    ) -> MinimaxResult:
        count, tree, requests = len(states), self.tree, self.requests
        tree.states[:count, 0] = states
        requests.counts[:] = 0
        self.kernels.begin(tree, count)
        scores = np.zeros((0, 1), np.float32)
        values = np.zeros(0, np.float32)
        while True:
            waiting = self._advance(scores, values, count)
            if not waiting:
                break
            scores, values = evaluate(self.observations[:waiting])
            if not go_on() and (tree.roots["states"][:count] > 0).all():
                self._stop(scores, values, count)
                break
        actions = np.zeros(count, np.int64)
        root_values = np.zeros(count, np.float32)
        visits = np.zeros((count, self.game.num_actions), np.int32)
        action_values = np.full(visits.shape, np.nan, np.float32)
        self.kernels.results(
            tree, self.settings, actions, root_values, visits, action_values, count
        )
        return MinimaxResult(
            actions=actions,
            values=root_values,
            visits=visits,
            action_values=action_values,
            resolved=tree.nodes[:count, 0]["resolved"] == 1,
            expansions=int(tree.roots["expansions"][:count].sum()),
            evaluations=int(requests.counts[EVALUATIONS]),
        )

    def _advance(self, scores: np.ndarray, values: np.ndarray, count: int) -> int:
        """Give the answers, and search on; returns how many positions wait for the network."""
        return self.kernels.advance(
            self.game.tables,
            self.tree,
            self.settings,
            self.requests,
            self.game.num_actions,
            self.game.max_score,
            scores,
            values,
            count,
        )

    def _stop(self, scores: np.ndarray, values: np.ndarray, count: int) -> None:
        """Give the answers to those who wait for them, and search no further."""
        self.kernels.finish(self.tree, self.settings, self.requests, scores, values, count)
