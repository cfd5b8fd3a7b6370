"""Analyses of positions by an agent: every legal move with its value, as far as the agent knows.

    analysis = analyse_position(position, "corso", Budget(simulations=10_000))
    analysis.best.text, analysis.value       # values are the mover's, in [-1, 1]

    thinker = make_thinker(make_agent("corso", game), position)
    thinker.think(Budget(seconds=1))         # a `PositionAnalysis`; call again to improve it
    thinker.play(action)                     # keeps results for the new position

Agents know different things. A network's search and UCT know visits, values and probabilities of
the outcomes; alpha-beta the best moves and a score; `perfect` exact values, or in Corso only the
best moves.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, AlphaBetaSearcher, make_agent
from ludarium.training.agents.alphabeta import WIN
from ludarium.training.agents.checkpoints import ShippedSpec
from ludarium.training.agents.network import NetworkSearcher
from ludarium.training.agents.uct_search import UCTSearch
from ludarium.training.search import Budget, TreeSearch

from .answer import Value
from .perfect import SolvedSearcher
from .solution import Solution, TableSolution

_SIMULATIONS = 1000  # for an agent without a budget, such as a level


@dataclass(frozen=True)
class Estimate:
    """The value of a position or a move for the player to move; ``None``: not known.

    Attributes:
        value: expected reward in [-1, 1]: the probability of a win minus that of a loss.
        win, draw, loss: probabilities of the outcomes; they agree with the value.
        exact: whether the value is proven.
        note: further knowledge, in words: ``win in 5``.
    """

    value: float | None = None
    win: float | None = None
    draw: float | None = None
    loss: float | None = None
    exact: bool = False
    note: str = ""

    @staticmethod
    def of(value: float, draw: float, exact: bool = False, note: str = "") -> Estimate:
        """An estimate of a value and a probability of a draw; NaN: not known."""
        if math.isnan(value):
            return Estimate(note=note)
        if exact:
            draw = float(value == 0)
        if math.isnan(draw):
            return Estimate(value, note=note)
        draw = min(draw, 1 - abs(value))
        win, loss = (1 + value - draw) / 2, (1 - value - draw) / 2
        return Estimate(value, win, draw, loss, exact, note)

    @staticmethod
    def exactly(value: Value) -> Estimate:
        """An estimate made of an exact value."""
        return Estimate.of(value.outcome, 0.0, True, str(value))

    def as_json(self) -> dict[str, Any]:
        """The estimate as JSON values; unknown numbers are null."""
        known = {
            name: None if number is None else round(number, 6)
            for name, number in (
                ("value", self.value),
                ("win", self.win),
                ("draw", self.draw),
                ("loss", self.loss),
            )
        }
        return {**known, "exact": self.exact, "note": self.note}


@dataclass(frozen=True)
class MoveAnalysis:
    """An analysis of one legal move.

    Attributes:
        action: the action's number.
        text: its notation.
        estimate: its estimate for the player who makes it.
        visits: simulations or playouts spent on it; ``None`` if nothing is counted.
        prior: the network's policy, in [0, 1]; ``None`` without a network.
        variation: the move and the best play found after it, as texts.
    """

    action: int
    text: str
    estimate: Estimate
    visits: int | None = None
    prior: float | None = None
    variation: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "move": self.text,
            "action": self.action,
            "visits": self.visits,
            **self.estimate.as_json(),
            "prior": None if self.prior is None else round(self.prior, 6),
            "pv": list(self.variation),
        }


@dataclass(frozen=True)
class PositionAnalysis:
    """An agent's analysis of a position.

    Attributes:
        agent: the agent's name; for agents that search step by step, without the simulations and
            settings in it.
        mover: index of the player to move.
        ply: actions played so far.
        estimate: estimated value of the position, in the mover's view.
        moves: all legal moves, the best first.
        simulations: simulations in the search's tree, including those kept from earlier positions;
            ``None`` if nothing is counted.
        seconds: time spent on this position.
        speed: simulations per second; ``None`` if nothing is counted.
    """

    agent: str
    mover: int
    ply: int
    estimate: Estimate
    moves: tuple[MoveAnalysis, ...]
    simulations: int | None = None
    seconds: float = field(default=0.0, compare=False)
    speed: float | None = field(default=None, compare=False)

    @property
    def best(self) -> MoveAnalysis:
        """The best move."""
        return self.moves[0]

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "agent": self.agent,
            "mover": f"player_{self.mover}",
            "ply": self.ply,
            **self.estimate.as_json(),
            "best": self.best.text,
            "simulations": self.simulations,
            "seconds": round(self.seconds, 3),
            "simulations_per_second": None if self.speed is None else round(self.speed, 1),
            "moves": [move.as_json() for move in self.moves],
        }


#: The estimate of a position, all its moves, the best first, and the simulations, None if they are
#: not counted.
_Answer = tuple[Estimate, list[MoveAnalysis], int | None]


class Thinker:
    """Thinks about one position after another; `make_thinker` makes one.

    Args:
        agent: the agent that thinks.
        position: the first position.
        answer: function from a position to its estimate, moves and simulations.
        search: a search without a time limit; None for an agent that answers at once.

    Attributes:
        agent: the agent that thinks.
        position: the present position.
    """

    def __init__(
        self,
        agent: Agent,
        position: Position,
        answer: Callable[[Position], _Answer],
        search: TreeSearch | UCTSearch | None = None,
    ) -> None:
        self.agent = agent
        self.position = position.copy()
        self._answer = answer
        self._search = search
        self._name, self._budget = agent.name, agent.budget
        if search is not None and agent.budget == Budget():
            self._budget = Budget(simulations=_SIMULATIONS)
        elif search is not None:
            self._name = agent.thinker
        self._seconds = 0.0  # time spent on this position
        self._new = 0  # simulations in this time
        self._began: tuple[float, int] | None = None  # time and simulations when `think` began

    def analysis(self) -> PositionAnalysis:
        """The analysis so far; may be called while another thread is in `think`."""
        started = time.perf_counter()
        seconds, new = self._spent()
        estimate, moves, simulations = self._answer(self.position)
        speed = new / max(seconds, 1e-6)
        if self._search is None:
            seconds = time.perf_counter() - started
        return PositionAnalysis(
            self._name,
            self.position.mover,
            self.position.ply,
            estimate,
            tuple(moves),
            simulations,
            seconds,
            None if simulations is None else speed,
        )

    def think(self, budget: Budget | None = None, progress: Progress = SILENT) -> PositionAnalysis:
        """Continue until the budget is spent, or there is nothing more to find.

        An agent that does not search step by step (`alphabeta`, `perfect`) answers at once.

        Args:
            budget: if it sets neither simulations nor seconds, the agent's own for a move is used.
            progress: see `TreeSearch.think`; it may call `analysis`.
        """
        search = self._search
        if search is None:
            return self.analysis()
        budget = budget or self._budget
        if budget.simulations is None and budget.seconds is None:
            budget = self._budget
        self._began = time.perf_counter(), search.simulations
        try:
            search.think(budget, progress)
        finally:
            self._seconds, self._new = self._spent()
            self._began = None
        return self.analysis()

    def _spent(self) -> tuple[float, int]:
        """Seconds and new simulations, those of a `think` that has not ended included."""
        if self._search is None or self._began is None:
            return self._seconds, self._new
        started, before = self._began
        seconds = self._seconds + time.perf_counter() - started
        return seconds, self._new + self._search.simulations - before

    def play(self, action: int) -> None:
        """Go to the position after a legal action.

        Raises:
            ValueError: the action is not legal, or ends the game; nothing is changed.
        """
        after = self.position.copy()
        after.play(action)
        _check(self.agent, after)
        if self._search is not None:
            self._search.play(action)
        self.position = after
        self._seconds, self._new = 0.0, 0


def make_thinker(agent: Agent, position: Position, leaves_out_score: bool = False) -> Thinker:
    """A `Thinker` about a position, with the knowledge of the agent's searcher.

    Supported are agents whose `Searcher.deep_search` returns a search, alpha-beta, and `perfect`.

    Args:
        agent: the agent.
        position: the position.
        leaves_out_score: an agent that plays for points too may tell the chances of winning alone.

    Raises:
        ValueError: the game is over; the agent plays another game, cannot analyse positions, or
            plays for points too, which an analysis does not show.
    """
    _check(agent, position)
    searcher = agent.searcher
    if isinstance(searcher, AlphaBetaSearcher):
        return Thinker(agent, position, partial(_by_minimax, searcher, agent.rng))
    if isinstance(searcher, SolvedSearcher):
        return Thinker(agent, position, partial(_by_solution, searcher.solution))
    if isinstance(searcher, NetworkSearcher) and searcher.settings.score and not leaves_out_score:
        raise ValueError("an analysis tells chances of winning: leave score out")
    search = None if searcher is None else searcher.deep_search(position.states, agent.rng)
    if search is not None:
        return Thinker(agent, position, partial(_by_search, search), search)
    raise ValueError(
        f"agent {agent.name} cannot say what it thinks of a position; take a trained one, uct, "
        "alphabeta or perfect"
    )


def _by_search(search: TreeSearch | UCTSearch, position: Position) -> _Answer:
    """The full knowledge of a search."""
    found, priors = search.finding(), search.priors()
    moves = [
        _move(
            position,
            action,
            Estimate.of(
                float(found.action_values[0, action]),
                float(found.action_draws[0, action]),
                bool(found.proven_actions[0, action]),
            ),
            int(found.visits[0, action]),
            None if priors is None else float(priors[action]),
            search.line(action),
        )
        for action in search.ranked()
    ]
    estimate = Estimate.of(float(found.values[0]), float(found.draws[0]), bool(found.proven[0]))
    return estimate, moves, found.simulations


def _by_minimax(
    searcher: AlphaBetaSearcher, rng: np.random.Generator, position: Position
) -> _Answer:
    """The knowledge of alpha-beta: a score, or a win or loss if it is within the depth."""
    _, scores, best = searcher.minimax(position.states, rng)
    value = int(scores[0]) * (1 - 2 * position.mover)
    plies = WIN - abs(value)
    if plies <= position.game.max_plies:
        estimate = Estimate.exactly(Value(1 if value > 0 else -1, plies=plies))
    else:
        words = "1 ply" if searcher.depth == 1 else f"{searcher.depth} plies"
        estimate = Estimate(note=f"score {value:+d} within {words}")
    return estimate, _best_moves(position, best[0] == 1, estimate), None


def _by_solution(solution: Solution, position: Position) -> _Answer:
    """The knowledge of a solution of the game."""
    if isinstance(solution, TableSolution):
        moves = [
            _move(position, action, Estimate.exactly(value))
            for action, value in solution.actions(position).items()
        ]
        return Estimate.exactly(solution.value(position)), moves, None
    best = solution.best_actions(position.states)[0]
    kept = Estimate(note="keeps what the position is worth")
    return Estimate(), _best_moves(position, best, kept), None


def _best_moves(position: Position, best: np.ndarray, of_best: Estimate) -> list[MoveAnalysis]:
    """All legal moves, those in bool [A] ``best`` first; nothing is known of the others."""
    legal = position.legal_actions
    others = Estimate(note="not better")
    return [_move(position, int(action), of_best) for action in legal[best[legal]]] + [
        _move(position, int(action), others) for action in legal[~best[legal]]
    ]


def _move(
    position: Position,
    action: int,
    estimate: Estimate,
    visits: int | None = None,
    prior: float | None = None,
    variation: tuple[int, ...] = (),
) -> MoveAnalysis:
    texts = tuple(position.copy().play_all(variation or (action,)))
    return MoveAnalysis(action, position.action_to_text(action), estimate, visits, prior, texts)


def analyse_position(
    position: Position,
    agent: Agent | str | None = None,
    budget: Budget | None = None,
) -> PositionAnalysis:
    """Analyse a position by an agent.

    Args:
        position: the position, not finished.
        agent: an agent or its name; default: see `default_agent`.
        budget: see `Thinker.think`.

    Raises:
        ValueError, FileNotFoundError: see `make_agent` and `make_thinker`.
    """
    if agent is None:
        agent = default_agent(position.game)
    elif isinstance(agent, str):
        agent = make_agent(agent, position.game)
    return make_thinker(agent, position).think(budget)


def default_agent(game: Game) -> Agent:
    """The shipped agent that fits a game and its options; if there is none, ``uct``."""
    try:
        return ShippedSpec(game=game.name).make(game)
    except (FileNotFoundError, ValueError):  # there is none, or only for another board
        return make_agent("uct", game)


def _check(agent: Agent, position: Position) -> None:
    if position.game != agent.game:
        raise ValueError(f"agent {agent.name} plays {agent.game}, not {position.game}")
    if position.is_over:
        raise ValueError("the game is over: there is nothing to think about")
