"""Agents that search with UCT and random playouts, without a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.base.messages import quoted
from ludarium.base.numbers import checked_whole
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.training.search.result import Budget, SearchResult

from .agent import Agent, AgentSpec, Needs, Seed
from .settings import (
    TIME_HELP,
    check_duration,
    duration_text,
    read_duration,
    read_number,
    read_real,
    setting,
)
from .uct_search import MOST_PLAYOUTS, UCTSearch

DEFAULT_PLAYOUTS = 1000

#: Exploration constant of UCB1 for results of +1, 0 and -1. Measured on Corso 5x5 with
#: 1,000 playouts, 1,500 games for each pair: 0.7 scored 54.6 % against the others, 1.0 51.7 %,
#: 0.5 49.5 %, 1.4 44.2 %.
EXPLORATION = 0.7


class UCTAgent(Agent):
    """Plays the action that UCT with random playouts visits most (see `kernels.uct`).

    A budget's simulations are playouts for each position; the result then does not depend on
    the number of cores. With seconds, one position gets all cores; of several, one per core is
    searched at a time. A search ends early after 10 million playouts.

    Args:
        game: the rules.
        budget: playouts, or seconds, for each move.
        exploration: weight of the exploration term.
        name, seed, temperature: see `Agent`.

    Raises:
        ValueError: ``exploration``, ``seed``, ``temperature`` or the playouts are out of range.
    """

    def __init__(
        self,
        game: Game,
        budget: Budget,
        exploration: float = EXPLORATION,
        name: str = "uct",
        seed: Seed = None,
        temperature: float = 0.0,
    ) -> None:
        if not 0 <= exploration < np.inf:
            raise ValueError(f"uct exploration is a number from 0 on, not {quoted(exploration)}")
        super().__init__(game, name, seed, budget, temperature)
        self._exploration = exploration
        self._search = UCTSearch(game, exploration)
        playouts = budget.simulations
        if budget.seconds is not None:  # compile before a clock runs
            self._search.make_room(MOST_PLAYOUTS)
            self._search.restart(game.start(0).states, np.ones((1, 2), np.int64))
        else:
            self._search.make_room(checked_whole("uct playouts", playouts, 1, MOST_PLAYOUTS))

    def search(self, states: np.ndarray) -> SearchResult:
        """Search each position from scratch; see `Agent.search`. Finished ones get no action."""
        states = self._check(states)
        is_alone = self.budget.seconds is not None and len(states) == 1
        streams = self._streams(self._search.threads if is_alone else len(states))
        self._search.restart(states, streams)
        self._search.think(self.budget)
        return self._search.result()

    def start_search(self, position: Position) -> UCTSearch:
        """See `Agent.start_search`."""
        search = UCTSearch(self.game, self._exploration)
        search.make_room(MOST_PLAYOUTS)
        search.restart(position.states, self._streams(search.threads))
        return search


@dataclass(frozen=True, kw_only=True)
class UCTSpec(AgentSpec):
    """A `UCTAgent`.

    Raises:
        ValueError: there are playouts and a time.
    """

    usage = "uct[:PLAYOUTS]"
    help = "tree search with random playouts"
    argument = "playouts"
    needs = Needs.NOTHING

    playouts: int | None = setting(read_number, f"random games, {DEFAULT_PLAYOUTS:,} by default")
    time: float | None = setting(read_duration, TIME_HELP, write=duration_text)
    exploration: float = setting(
        read_real, f"weight of the exploration term, {EXPLORATION:g} by default", EXPLORATION
    )

    def __post_init__(self) -> None:
        if self.time is None and self.playouts is None:
            object.__setattr__(self, "playouts", DEFAULT_PLAYOUTS)
        elif self.time is not None and self.playouts is not None:
            raise ValueError("give playouts or a time for each move, not both")

    def make(self, game: Game, seed: Seed = None) -> Agent:
        """Make the agent for ``game``; see `AgentSpec.make`."""
        if self.time is not None:
            check_duration(self.time)
        agent = UCTAgent(game, Budget(self.playouts, self.time), self.exploration, self.label, seed)
        agent.thinker = self.subject
        return agent
