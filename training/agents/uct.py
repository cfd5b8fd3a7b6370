"""Agents that search with UCT and random playouts, without a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ludarium.base.messages import quoted
from ludarium.envs.engine.game import Game
from ludarium.training.search.finding import Budget, Finding

from .agent import Agent, AgentSpec, Needs, Seed
from .searcher import Searcher, as_positions, random_streams
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


class UCTSearcher(Searcher):
    """Searches by UCT with random playouts (see `kernels.uct` for the sources).

    A budget's simulations are playouts for each position; the finding then does not depend on
    the number of cores. With seconds, one position gets all cores; of several, one per core is
    searched at a time. A search ends early after 10 million playouts.

    Args:
        game: the rules.
        exploration: weight of the exploration term.

    Raises:
        ValueError: ``exploration`` is out of range.
    """

    def __init__(self, game: Game, exploration: float = EXPLORATION) -> None:
        if not 0 <= exploration < np.inf:
            raise ValueError(f"uct exploration is a number from 0 on, not {quoted(exploration)}")
        super().__init__(game)
        self._exploration = exploration
        self._search = UCTSearch(game, exploration)

    def prepare(self, budget: Budget) -> None:
        """See `Searcher.prepare`."""
        playouts = budget.simulations
        if budget.seconds is not None:
            self._search.make_room(MOST_PLAYOUTS)
            self._search.restart(self.game.start(0).states, np.ones((1, 2), np.int64))
        elif playouts is None or not 1 <= playouts <= MOST_PLAYOUTS:
            raise ValueError(f"uct playouts are 1 to {MOST_PLAYOUTS:,}, not {quoted(playouts)}")
        else:
            self._search.make_room(playouts)

    def find(self, states: np.ndarray, budget: Budget, rng: np.random.Generator) -> Finding:
        """Search each position from scratch; see `Searcher.find`. Finished ones get no action."""
        states = as_positions(self.game, states)
        self.prepare(budget)
        is_alone = budget.seconds is not None and len(states) == 1
        streams = random_streams(rng, self._search.threads if is_alone else len(states))
        self._search.restart(states, streams)
        self._search.think(budget)
        return self._search.finding()

    def deep_search(self, state: np.ndarray, rng: np.random.Generator) -> UCTSearch:
        """See `Searcher.deep_search`."""
        search = UCTSearch(self.game, self._exploration)
        search.make_room(MOST_PLAYOUTS)
        search.restart(state, random_streams(rng, search.threads))
        return search


@dataclass(frozen=True, kw_only=True)
class UCTSpec(AgentSpec):
    """An agent that plays the action that a `UCTSearcher` visits most.

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
        searcher = UCTSearcher(game, self.exploration)
        agent = Agent(game, self.label, seed, searcher, Budget(self.playouts, self.time))
        agent.thinker = self.subject
        return agent
