"""Analyses of positions by an agent: every legal move with its value, as far as the agent knows.

    analysis = analyse_position(position, "corso", Budget(simulations=10_000))
    analysis.best.text, analysis.estimate.value       # values are the mover's, in [-1, 1]

    thinker = make_thinker(make_agent("corso", game), position)
    thinker.think(Budget(seconds=1))         # a `PositionAnalysis`; call again to improve it
    thinker.play(action)                     # keeps results for the new position

Agents know different things. A network's search and UCT know visits, values and probabilities of
the outcomes; alpha-beta the best moves, a score, and wins and losses that it can force; `perfect`
exact values, or without a table, as in Corso, only the best moves.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, make_agent
from ludarium.training.agents.checkpoints import ShippedSpec
from ludarium.training.search import Budget, SearchResult

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

    def as_json(self) -> dict[str, Any]:
        """The estimate as JSON values; unknown numbers are null."""
        return {
            name: round(each, 6) if type(each) is float else each
            for name, each in vars(self).items()
        }


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


class Thinker:
    """Thinks about one position after another; `make_thinker` makes one.

    Args:
        agent: the agent that thinks.
        position: the first position.

    Attributes:
        agent: the agent that thinks.
        position: the present position.

    Raises:
        ValueError: the agent cannot say what it thinks.
    """

    def __init__(self, agent: Agent, position: Position) -> None:
        self.agent = agent
        self.position = position.copy()
        self._search = agent.start_search(position)
        self._budget = agent.budget
        if agent.budget == Budget():
            self._budget = Budget(simulations=_SIMULATIONS)
        self._seconds = 0.0  # time spent on this position
        self._new = 0  # simulations in this time
        self._began: tuple[float, int] | None = None  # time and simulations when `think` began

    def analysis(self) -> PositionAnalysis:
        """The analysis so far; may be called while another thread is in `think`."""
        search, position = self._search, self.position
        seconds, new = self._spent()
        result = search.result()
        return PositionAnalysis(
            self.agent.thinker,
            position.mover,
            position.ply,
            Estimate.of(
                float(result.values[0]),
                float(result.draws[0]),
                bool(result.proven[0]),
                search.note(),
            ),
            tuple(self._move(result, line) for line in search.lines()),
            search.simulations,
            seconds,
            None if search.simulations is None else new / max(seconds, 1e-6),
        )

    def _move(self, result: SearchResult, line: tuple[int, ...]) -> MoveAnalysis:
        action, prior = line[0], float(result.priors[0, line[0]])
        return MoveAnalysis(
            action,
            self.position.action_to_text(action),
            Estimate.of(
                float(result.action_values[0, action]),
                float(result.action_draws[0, action]),
                bool(result.proven_actions[0, action]),
                self._search.note(action),
            ),
            None if self._search.simulations is None else int(result.visits[0, action]),
            None if math.isnan(prior) else prior,
            tuple(self.position.copy().play_all(line)),
        )

    def think(self, budget: Budget | None = None, progress: Progress = SILENT) -> PositionAnalysis:
        """Continue until the budget is spent, or there is nothing more to find.

        Args:
            budget: if it sets neither simulations nor seconds, the agent's own for a move is used,
                or 1000 simulations if the agent has none.
            progress: see `Search.think`; it may call `analysis`.
        """
        search = self._search
        budget = budget or self._budget
        if budget.simulations is None and budget.seconds is None:
            budget = self._budget
        self._began = time.perf_counter(), search.simulations or 0
        try:
            search.think(budget, progress)
        finally:
            self._seconds, self._new = self._spent()
            self._began = None
        return self.analysis()

    def _spent(self) -> tuple[float, int]:
        """Seconds and new simulations, those of a `think` that has not ended included."""
        if self._began is None:
            return self._seconds, self._new
        started, before = self._began
        seconds = self._seconds + time.perf_counter() - started
        return seconds, self._new + (self._search.simulations or 0) - before

    def play(self, action: int) -> None:
        """Go to the position after a legal action.

        Raises:
            ValueError: the action is not legal, or ends the game; nothing is changed.
        """
        after = self.position.copy()
        after.play(action)
        _check(self.agent, after)
        self._search.play(action)
        self.position = after
        self._seconds, self._new = 0.0, 0


def make_thinker(agent: Agent, position: Position, leaves_out_score: bool = False) -> Thinker:
    """A `Thinker` about a position, with the knowledge of the agent's `Agent.start_search`.

    Args:
        agent: the agent.
        position: the position.
        leaves_out_score: accept an agent that plays for points too; the analysis then tells its
            chances of winning alone.

    Raises:
        ValueError: the game is over; the agent plays another game, cannot analyse positions, or
            plays for points too, which an analysis does not show.
    """
    _check(agent, position)
    if agent.plays_for_score and not leaves_out_score:
        raise ValueError("an analysis tells chances of winning: leave the setting score out")
    return Thinker(agent, position)


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
        ValueError, FileNotFoundError, ImportError: see `make_agent` and `make_thinker`.
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
