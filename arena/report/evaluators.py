"""The value of a position: exact if that is known, else by a network or by playouts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ludarium.analysis.corso import CorsoSolver
from ludarium.analysis.probing import solver_of, source_of
from ludarium.analysis.solutions import table_of
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import ONGOING
from ludarium.training.agents import Searcher, UCTSearcher
from ludarium.training.evaluation.games import Games
from ludarium.training.search import Budget

from .enumeration import Enumeration, position_keys, rewards_of

_LEAST_CHANCE = 0.005  # smaller chances have the logit of this one
_AT_ONCE = 4096  # positions valued at a time
_MOST_SEARCHED = 1 << 22  # most positions searched for one value
_MEMORY = 1 << 28  # bytes for the table of that search


@dataclass(frozen=True)
class Evaluator:
    """Values positions of one game.

    Attributes:
        name: a name for people.
        unfinished: player 0's values of unfinished positions [N], float[N].
        is_exact: whether the values are those of perfect play.
        plays_out: whether the values are mean results of random playouts, which vary and take
            long.
    """

    name: str
    unfinished: Callable[[np.ndarray], np.ndarray]
    is_exact: bool = False
    plays_out: bool = False

    def values(self, states: np.ndarray) -> np.ndarray:
        """Player 0's values in [-1, 1] of positions, structured [N]; float64[N].

        A value is the expected reward: twice the expected points of a game, minus one.
        """
        values = rewards_of(states["outcome"])
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)
        for first in range(0, len(unfinished), _AT_ONCE):
            portion = unfinished[first : first + _AT_ONCE]
            values[portion] = self.unfinished(np.ascontiguousarray(states[portion]))
        return np.clip(values, -1, 1)

    def along(self, sample: Games, games: int) -> np.ndarray:
        """Player 0's values along the first games, float64[games, T + 1]; NaN beyond the end.

        Entry ``t`` is the value after ``t`` plies; the last entry is the result.
        """
        plies = sample.plies[:games]
        found = np.full((games, int(plies.max(initial=0)) + 1), np.nan)
        kept: list[np.ndarray] = []
        rows: list[int] = []
        numbers: list[int] = []
        for ply, playing, before, _ in sample.replay(np.arange(games)):
            kept.append(before)
            rows += playing.tolist()
            numbers += [ply] * len(playing)
        if kept:
            found[rows, numbers] = self.values(np.concatenate(kept))
        found[np.arange(games), plies] = sample.rewards(0)[:games]
        return found


def searched_values(
    searcher: Searcher, budget: Budget, name: str, seed: int | None = None
) -> Evaluator:
    """Values found by a searcher.

    Args:
        searcher: a searcher for this game.
        budget: budget for each position.
        name: a name for people.
        seed: seed of its random numbers.
    """
    rng = np.random.default_rng(seed)

    def unfinished(states: np.ndarray) -> np.ndarray:
        found = searcher.find(states, budget, rng)
        return found.values * (1.0 - 2.0 * states["mover"])

    return Evaluator(name, unfinished, plays_out=isinstance(searcher, UCTSearcher))


def playout_values(game: Game, playouts: int, seed: int) -> Evaluator:
    """Values found by UCT."""
    budget = Budget(simulations=playouts)
    return searched_values(UCTSearcher(game), budget, f"uct:{playouts}", seed)


def exact_evaluator(game: Game, positions: Enumeration) -> Evaluator | None:
    """Exact values of all positions of a game, if they are known or few."""
    found = positions.values
    if found is not None:

        def counted(states: np.ndarray) -> np.ndarray:
            return np.array([found[key.tobytes()] for key in position_keys(game, states)])

        name = f"all {sum(positions.counts):,} positions, solved"
        return Evaluator(name, counted, is_exact=True)
    table = table_of(game)
    if table is None or not table.knows(game.start(0).states)[0]:
        return None

    def looked_up(states: np.ndarray) -> np.ndarray:
        return np.sign(table.values(states)) * (1.0 - 2.0 * states["mover"])

    return Evaluator(table.source, looked_up, is_exact=True)


def exact_values(game: Game, exact: Evaluator | None, states: np.ndarray) -> np.ndarray | None:
    """Player 0's values of unfinished early positions [N] with perfect play, float[N].

    Corso's are searched, on 5 x 5 with what ships about the first plies. The result is None if one
    of the values is not found within `_MOST_SEARCHED` positions.
    """
    if exact is not None:
        return exact.values(states)
    if source_of(game) is not CorsoSolver:
        return None
    solver = solver_of(game, _MEMORY)
    positions = (Position.of_state(game, state) for state in states)
    found = [solver.answer(each, _MOST_SEARCHED, leads=False).outcome for each in positions]
    if None in found:
        return None
    return np.array(found, float) * (1.0 - 2.0 * states["mover"])


def logit(chances: np.ndarray) -> np.ndarray:
    """``log(p / (1 - p))`` of chances kept away from 0 and 1; NaN stays."""
    inside = np.clip(chances, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    logits: np.ndarray = np.log(inside / (1 - inside))
    return logits


def expit(logits: np.ndarray) -> np.ndarray:
    """The chances for logits."""
    return 1 / (1 + np.exp(-logits))
