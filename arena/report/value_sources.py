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
from ludarium.training.agents import UCTAgent
from ludarium.training.evaluation.games import Games
from ludarium.training.search import Budget, SearchResult

from .enumeration import Enumeration, position_keys, rewards_of

_LEAST_CHANCE = 0.005  # smaller chances have the logit of this one
_AT_ONCE = 4096  # positions valued at a time
_MOST_SEARCHED = 1 << 22  # most positions searched for one value
_MEMORY = 1 << 28  # bytes for the table of that search


@dataclass(frozen=True)
class ValueSource:
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

        Entry ``t`` is the value after ``t`` plies; that after all plies of a game is its result.
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
    search: Callable[[np.ndarray], SearchResult], name: str, plays_out: bool = False
) -> ValueSource:
    """Values found by a search.

    Args:
        search: an agent's `search`, or its `policy`.
        name: a name for people.
        plays_out: whether it searches by random playouts.
    """

    def unfinished(states: np.ndarray) -> np.ndarray:
        return search(states).values * (1.0 - 2.0 * states["mover"])

    return ValueSource(name, unfinished, plays_out=plays_out)


def playout_values(game: Game, playouts: int, seed: int) -> ValueSource:
    """Values found by UCT with so many playouts for each position."""
    agent = UCTAgent(game, Budget(simulations=playouts), seed=seed)
    return searched_values(agent.search, f"uct:{playouts}", plays_out=True)


def exact_evaluator(game: Game, positions: Enumeration) -> ValueSource | None:
    """Exact values of all positions of a game, if they are known or few."""
    found = positions.values
    if found is not None:

        def counted(states: np.ndarray) -> np.ndarray:
            return np.array([found[key.tobytes()] for key in position_keys(game, states)])

        name = f"all {sum(positions.counts):,} positions, solved"
        return ValueSource(name, counted, is_exact=True)
    table = table_of(game)
    if table is None or not table.knows(game.start(0).states)[0]:
        return None

    def looked_up(states: np.ndarray) -> np.ndarray:
        return np.sign(table.values(states)) * (1.0 - 2.0 * states["mover"])

    return ValueSource(table.source, looked_up, is_exact=True)


def exact_values(game: Game, exact: ValueSource | None, states: np.ndarray) -> np.ndarray | None:
    """Player 0's values of unfinished early positions [N] with perfect play, float[N].

    Without exact values of all positions those of Corso, up to 5 x 5, are searched, with what ships
    about the first plies. The result is None in other games, or if one of the values is not found
    within `_MOST_SEARCHED` positions.

    Args:
        game: the rules.
        exact: exact values of all positions, if they are known.
        states: the positions, structured [N].
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
