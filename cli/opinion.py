"""What an agent thinks of a position, in words: its value and the best actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.position import Position
from ludarium.training.agents import Agent, AlphaBetaAgent, UCTAgent
from ludarium.training.agents.alphabeta import WIN

_MOST_ACTIONS = 5  # most actions that are shown


@dataclass(frozen=True)
class Opinion:
    """What an agent thinks, in the view of the player to move.

    Attributes:
        value: of the position, as the end of a sentence that begins with the agent's name.
        actions: the best ones with what speaks for each, the best first.
    """

    value: str
    actions: list[tuple[int, str]]


def opinion_of(agent: Agent, position: Position) -> Opinion | None:
    """The opinion of an agent; None for kinds of agents that have none to show.

    Args:
        agent: any.
        position: of a game that is not over.
    """
    if isinstance(agent, UCTAgent):
        result = agent.search(position.states)
        visits = result.visits[0]
        return Opinion(
            _estimate(result.values[0]), _shares(visits / visits.sum(), "of the playouts")
        )
    if isinstance(agent, AlphaBetaAgent):
        return _minimax(agent, position)
    solution = getattr(agent, "solution", None)
    if solution is not None:
        return _solved(solution, position)
    if getattr(agent, "simulations", 0):
        return _searched(agent, position)
    if hasattr(agent, "evaluate"):  # a network without search
        logits, values = agent.evaluate(position.states)
        weights = np.where(position.mask == 1, np.exp(logits[0] - logits[0].max()), 0.0)
        return Opinion(_estimate(values[0]), _shares(weights / weights.sum(), "of the policy"))
    return None


def _searched(agent: Any, position: Position) -> Opinion:
    """A network's search."""
    result = agent.search(position.states)
    value = _estimate(result.values[0])
    if result.proven[0]:
        value += ", which is proven"
    return Opinion(value, _shares(result.policies[0], "of the policy after search"))


def _estimate(value: float) -> str:
    return f"values this at {value:+.2f} for you (+1 is a win, -1 a loss)"


def _shares(shares: np.ndarray, of_what: str) -> list[tuple[int, str]]:
    order = np.argsort(-shares, kind="stable")[:_MOST_ACTIONS]
    return [
        (int(action), f"{100 * shares[action]:.0f} % {of_what}")
        for action in order
        if shares[action] > 0
    ]


def _minimax(agent: AlphaBetaAgent, position: Position) -> Opinion:
    result = agent.search(position.states)
    value = int(result.values[0]) * (1 - 2 * position.mover)
    plies = WIN - abs(value)
    if plies <= position.game.max_plies:
        words = f"sees {'a win' if value > 0 else 'a loss'} for you in {_plies(plies)}"
    else:
        words = f"expects a score of {value:+d} for you within {_plies(agent.depth)}"
    best = np.flatnonzero(result.best[0])[:_MOST_ACTIONS]
    return Opinion(words, [(int(action), "as good as any") for action in best])


def _solved(solution: Any, position: Position) -> Opinion:
    if hasattr(solution, "actions"):  # the values of all positions are known
        values = list(solution.actions(position).items())
        return Opinion(
            f"knows: a {solution.value(position)} for you",
            [(action, f"a {value}") for action, value in values[:_MOST_ACTIONS]],
        )
    best = np.flatnonzero(solution.best_actions(position.states)[0])[:_MOST_ACTIONS]
    return Opinion(
        "keeps what the position is worth", [(int(action), "as good as any") for action in best]
    )


def _plies(number: int) -> str:
    return f"{number} {'ply' if number == 1 else 'plies'}"
