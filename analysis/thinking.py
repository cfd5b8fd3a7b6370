"""What an agent thinks of a position: every legal move with its value, as far as the agent knows.

    analysis = analyse_position(position, "corso", Budget(simulations=10_000))
    analysis.best.text, analysis.value       # values are the mover's, in [-1, 1]

    thinker = make_thinker(make_agent("corso", game), position)
    thinker.think(Budget(seconds=1))         # a `PositionAnalysis`; think on for a better one
    thinker.play(action)                     # keeps what is known of the new position

Agents know different things. A network's search and UCT know visits, values and probabilities of
the outcomes; alpha-beta the best moves and a score; `perfect` what is exact.
"""

from __future__ import annotations

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, AlphaBetaSearcher, make_agent
from ludarium.training.agents.alphabeta import WIN
from ludarium.training.agents.uct_search import UCTSearch
from ludarium.training.search import Budget, TreeSearch

from .answer import Value
from .perfect import SolvedSearcher
from .solution import Solution, TableSolution

_SIMULATIONS = 1000  # by a network whose agent does not say how many


@dataclass(frozen=True)
class Estimate:
    """The value of a position or a move for the player to move; ``None``: not known.

    Attributes:
        value: expected reward in [-1, 1]: the probability of a win less that of a loss.
        win, draw, loss: probabilities of the outcomes; they agree with the value.
        exact: whether the value is proven.
        note: more that is known of it, in words: ``win in 5``.
    """

    value: float | None = None
    win: float | None = None
    draw: float | None = None
    loss: float | None = None
    exact: bool = False
    note: str = ""

    @staticmethod
    def of(value: float, draw: float, exact: bool = False, note: str = "") -> Estimate:
        """From a value and a probability of a draw; NaN: not known."""
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
        """From an exact value."""
        return Estimate.of(value.outcome, 0.0, True, str(value))

    def as_json(self) -> dict[str, Any]:
        """As JSON values; what is not known is null."""
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
    """What is known of one legal move.

    Attributes:
        action: its number.
        text: its notation.
        estimate: in the view of the player who makes it.
        visits: simulations or playouts spent on it; ``None`` where nothing is counted.
        prior: the network's policy, in [0, 1]; ``None`` without a network.
        variation: the move and the best play that was found after it, as texts.
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
    """What an agent thinks of a position.

    Attributes:
        agent: its name; of one that searches, without the effort that it would spend in a game.
        mover: index of the player to move.
        ply: actions played so far.
        estimate: of the position, in the mover's view.
        moves: all legal ones, the best first.
        simulations: of the search, those kept from earlier positions included; ``None`` where
            nothing is counted.
        seconds: spent on this position.
        speed: simulations a second; ``None`` where nothing is counted.
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


class Thinker(ABC):
    """Thinks about one position after another; `make_thinker` makes one.

    Attributes:
        agent: whose thoughts they are.
        position: the one that it thinks about.
    """

    def __init__(self, agent: Agent, position: Position) -> None:
        _check(agent, position)
        self.agent = agent
        self.position = position.copy()
        self._name = agent.name
        self._seconds = 0.0
        self._new = 0

    @abstractmethod
    def analysis(self) -> PositionAnalysis:
        """What was found so far; may be asked while another thread is in `think`."""

    @abstractmethod
    def think(
        self,
        budget: Budget | None = None,
        report: Callable[[PositionAnalysis], None] | None = None,
        every: float = 0.5,
    ) -> PositionAnalysis:
        """Think on until the budget is spent, or there is nothing more to find.

        An agent that does not search step by step (`alphabeta`, `perfect`) answers at once.

        Args:
            budget: without simulations and seconds those that the agent spends on a move.
            report: is given what was found so far about every ``every`` seconds.
            every: see ``report``.
        """

    def play(self, action: int) -> None:
        """Go to the position after a legal action.

        Raises:
            ValueError: the action is not legal, or ends the game; nothing is changed.
        """
        after = self.position.copy()
        after.play(action)
        _check(self.agent, after)
        self._follow(action, after)
        self.position = after
        self._seconds, self._new = 0.0, 0

    @abstractmethod
    def _follow(self, action: int, after: Position) -> None:
        """Go to the position after an action."""

    def _move(
        self,
        action: int,
        estimate: Estimate,
        visits: int | None = None,
        prior: float | None = None,
        variation: tuple[int, ...] = (),
    ) -> MoveAnalysis:
        position = self.position
        text = position.action_to_text(action)
        return MoveAnalysis(
            action, text, estimate, visits, prior, _texts(position, variation or (action,))
        )

    def _report(
        self, estimate: Estimate, moves: list[MoveAnalysis], simulations: int | None = None
    ) -> PositionAnalysis:
        return PositionAnalysis(
            self._name,
            self.position.mover,
            self.position.ply,
            estimate,
            tuple(moves),
            simulations,
            self._seconds,
            None if simulations is None else self._new / max(self._seconds, 1e-6),
        )


class _Clock:
    """Counts the time and the simulations of one call of `Thinker.think`."""

    def __init__(self, thinker: Thinker, count: Callable[[], int]) -> None:
        self._thinker = thinker
        self._count = count
        self._seconds, self._new = thinker._seconds, thinker._new
        self._first = count()
        self._started = time.perf_counter()

    def __call__(self) -> None:
        self._thinker._seconds = self._seconds + time.perf_counter() - self._started
        self._thinker._new = self._new + self._count() - self._first


class _SearchThinker(Thinker):
    """With a search that goes on for as long as one likes."""

    def __init__(self, agent: Agent, search: TreeSearch | UCTSearch, position: Position) -> None:
        super().__init__(agent, position)
        self._search = search
        self._budget = Budget(simulations=_SIMULATIONS)
        if agent.budget != Budget():
            self._name, self._budget = _without_effort(agent.name), agent.budget

    def think(
        self,
        budget: Budget | None = None,
        report: Callable[[PositionAnalysis], None] | None = None,
        every: float = 0.5,
    ) -> PositionAnalysis:
        """Search on; see `Thinker.think`."""
        budget = budget or self._budget
        if budget.simulations is None and budget.seconds is None:
            budget = replace(self._budget, stop=budget.stop)
        clock = _Clock(self, lambda: self._search.simulations)

        def tell() -> None:
            clock()
            assert report is not None
            report(self.analysis())

        try:
            self._search.think(budget, tell if report else None, every)
        finally:
            clock()
        return self.analysis()

    def _follow(self, action: int, after: Position) -> None:
        self._search.play(action)

    def analysis(self) -> PositionAnalysis:
        """All that the search tells; see `Thinker.analysis`."""
        found = self._search.finding()
        priors = self._search.priors()
        moves = [
            self._move(
                action,
                Estimate.of(
                    float(found.action_values[0, action]),
                    float(found.action_draws[0, action]),
                    bool(found.proven_actions[0, action]),
                ),
                int(found.visits[0, action]),
                None if priors is None else float(priors[action]),
                self._search.line(action),
            )
            for action in self._search.ranked()
        ]
        estimate = Estimate.of(float(found.values[0]), float(found.draws[0]), bool(found.proven[0]))
        return self._report(estimate, moves, found.simulations)


class _InstantThinker(Thinker):
    """Answers at once."""

    _found: PositionAnalysis | None = None

    def analysis(self) -> PositionAnalysis:
        """The answer; see `Thinker.analysis`."""
        if self._found is None:
            started = time.perf_counter()
            estimate, moves = self._answer()
            self._seconds = time.perf_counter() - started
            self._found = self._report(estimate, moves)
        return self._found

    def think(
        self,
        budget: Budget | None = None,
        report: Callable[[PositionAnalysis], None] | None = None,
        every: float = 0.5,
    ) -> PositionAnalysis:
        """The answer; see `Thinker.think`."""
        return self.analysis()

    def _follow(self, action: int, after: Position) -> None:
        self._found = None

    @abstractmethod
    def _answer(self) -> tuple[Estimate, list[MoveAnalysis]]:
        """The estimate of the position, and all moves, the best first."""

    def _best_moves(self, best: np.ndarray, of_best: Estimate) -> list[MoveAnalysis]:
        """All legal moves, those of bool [A] ``best`` first, of the others nothing is known."""
        legal = self.position.legal_actions
        first = [int(action) for action in legal if best[action]]
        others = [int(action) for action in legal if not best[action]]
        return [self._move(action, of_best) for action in first] + [
            self._move(action, Estimate(note="not better")) for action in others
        ]


class _MinimaxThinker(_InstantThinker):
    """By alpha-beta, which knows a score, and sees the end of the game where that is near."""

    def __init__(self, agent: Agent, searcher: AlphaBetaSearcher, position: Position) -> None:
        super().__init__(agent, position)
        self._searcher = searcher

    def _answer(self) -> tuple[Estimate, list[MoveAnalysis]]:
        _, scores, best = self._searcher.minimax(self.position.states, self.agent.rng)
        value = int(scores[0]) * (1 - 2 * self.position.mover)
        plies = WIN - abs(value)
        if plies <= self.position.game.max_plies:
            estimate = Estimate.exactly(Value(1 if value > 0 else -1, plies=plies))
        else:
            depth = self._searcher.depth
            words = "1 ply" if depth == 1 else f"{depth} plies"
            estimate = Estimate(note=f"score {value:+d} within {words}")
        return estimate, self._best_moves(best[0] == 1, estimate)


class _SolvedThinker(_InstantThinker):
    """With a `Solution` of the game."""

    def __init__(self, agent: Agent, solution: Solution, position: Position) -> None:
        super().__init__(agent, position)
        self._solution = solution

    def _answer(self) -> tuple[Estimate, list[MoveAnalysis]]:
        solution = self._solution
        if isinstance(solution, TableSolution):
            moves = [
                self._move(action, Estimate.exactly(value))
                for action, value in solution.actions(self.position).items()
            ]
            return Estimate.exactly(solution.value(self.position)), moves
        best = solution.best_actions(self.position.states)[0]
        kept = Estimate(note="keeps what the position is worth")
        return Estimate(), self._best_moves(best, kept)


def make_thinker(agent: Agent, position: Position) -> Thinker:
    """A `Thinker` about a position, with what the agent's searcher knows.

    Any takes part that has a `Searcher.deep_search`.

    Raises:
        ValueError: the game is over; the agent plays another game, or does not tell what it
            thinks.
    """
    _check(agent, position)
    searcher = agent.searcher
    if isinstance(searcher, AlphaBetaSearcher):
        return _MinimaxThinker(agent, searcher, position)
    if isinstance(searcher, SolvedSearcher):
        return _SolvedThinker(agent, searcher.solution, position)
    search = None if searcher is None else searcher.deep_search(position.states, agent.rng)
    if search is not None:
        return _SearchThinker(agent, search, position)
    raise ValueError(
        f"agent {agent.name} cannot say what it thinks of a position; take a trained one, uct, "
        "alphabeta or perfect"
    )


def analyse_position(
    position: Position,
    agent: Agent | str | None = None,
    budget: Budget | None = None,
    report: Callable[[PositionAnalysis], None] | None = None,
    every: float = 0.5,
) -> PositionAnalysis:
    """What an agent thinks of a position.

    Args:
        position: not finished.
        agent: or its name; default: see `default_agent`.
        budget, report, every: see `Thinker.think`.

    Raises:
        ValueError, FileNotFoundError: see `make_agent` and `make_thinker`.
    """
    if agent is None:
        agent = default_agent(position.game)
    elif isinstance(agent, str):
        agent = make_agent(agent, position.game)
    return make_thinker(agent, position).think(budget, report, every)


def default_agent(game: Game) -> Agent:
    """The shipped agent that fits a game and its options; where there is none, ``uct``."""
    from ludarium.training.agents.checkpoints import ShippedFactory

    try:
        return ShippedFactory(name=game.name).make(game)
    except (FileNotFoundError, ValueError):  # there is none, or for another board
        return make_agent("uct", game)


def _check(agent: Agent, position: Position) -> None:
    if position.game != agent.game:
        raise ValueError(f"agent {agent.name} plays {agent.game}, not {position.game}")
    if position.is_over:
        raise ValueError("the game is over: there is nothing to think about")


def _without_effort(name: str) -> str:
    """An agent's name without the simulations or the time for each move: ``corso``, ``uct``."""
    return re.sub(r":\d+$", "", name.partition("?")[0])


def _texts(position: Position, actions: tuple[int, ...]) -> tuple[str, ...]:
    """The notation of actions that follow each other."""
    return tuple(position.copy().play_all(actions))
