"""Players of the games, from random to trained: one interface, made by name.

    agent = make_agent("uct:1000", game)
    action = agent.choose(position)          # one position
    actions = agent.actions(states)          # many at once

Nothing here imports torch, unless a checkpoint is named, nor the analysis of games, unless the
perfect agent is.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ludarium.envs.engine.game import Game

from .agent import Agent, Seed
from .alphabeta import DEFAULT_DEPTH, AlphaBetaAgent, AlphaBetaResult, GreedyAgent
from .uct import DEFAULT_PLAYOUTS, UCTAgent, UCTResult
from .uniform import RandomAgent

__all__ = [
    "Agent",
    "AlphaBetaAgent",
    "AlphaBetaResult",
    "GreedyAgent",
    "RandomAgent",
    "UCTAgent",
    "UCTResult",
    "make_agent",
]

_ACCEPTED = (
    "accepted: random, greedy, "
    f"uct or uct:PLAYOUTS (default {DEFAULT_PLAYOUTS}), "
    f"alphabeta or alphabeta:DEPTH (default {DEFAULT_DEPTH} plies), "
    "perfect (in games that are solved), "
    "or the path of a checkpoint, with or without :SIMULATIONS"
)


def make_agent(spec: str, game: Game, seed: Seed = None) -> Agent:
    """The agent that ``spec`` names.

    Args:
        spec: ``random``, ``greedy``, ``uct`` or ``uct:PLAYOUTS``, ``alphabeta`` or
            ``alphabeta:DEPTH``, ``perfect``, or the path of a checkpoint, optionally with
            ``:SIMULATIONS``.
        game: the rules that it shall play by.
        seed: of its random numbers; ``None`` takes fresh ones from the system.

    Raises:
        ValueError: ``spec`` names no agent, its number is out of range, or the agent cannot
            play ``game``; the message says what is accepted.
    """
    name, colon, number = spec.partition(":")
    try:
        if name in ("random", "greedy", "perfect") and colon:
            raise ValueError(f"{name} takes no number")
        if name in ("random", "greedy"):
            return RandomAgent(game, seed) if name == "random" else GreedyAgent(game, seed)
        if name == "uct":
            return UCTAgent(game, _read_number(number) if colon else DEFAULT_PLAYOUTS, seed)
        if name == "alphabeta":
            return AlphaBetaAgent(game, _read_number(number) if colon else DEFAULT_DEPTH, seed)
    except ValueError as error:
        raise ValueError(f"agent {spec!r}: {error}; {_ACCEPTED}") from None
    if name == "perfect":
        # Named rather than imported: the analysis is built on this package.
        perfect: Agent = import_module("ludarium.analysis.perfect").PerfectAgent(game, seed)
        return perfect
    path, _, simulations = spec.rpartition(":")
    if _is_there(spec) or (simulations.isdecimal() and _is_there(path)):
        from .network import NetworkAgent

        return NetworkAgent.from_spec(spec, game, seed)
    raise ValueError(f"no agent is called {spec!r}, and no file or folder either; {_ACCEPTED}")


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _is_there(path: str) -> bool:
    return bool(path) and Path(path).exists()
