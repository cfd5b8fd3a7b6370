"""Agents for the games, from random to trained, with one interface.

Import what is in `__all__` from here. The module `checkpoints` finds the files of trained agents.

    agent = make_agent("uct:1000", game)     # module `names` documents the names
    agent = as_agent(my_function, game)      # a function, or a torch module, of your own
    action = agent.choose(position)          # one position
    actions = agent.actions(states)          # many at once

The package imports torch only for agents with a network of the user's own, when they are made.
"""

from __future__ import annotations

from ludarium.envs.engine.game_in_play import GameInPlay

from .agent import (
    RESIGN,
    Agent,
    AgentSpec,
    InstantSearch,
    Needs,
    Seed,
    labels_of,
    require_different,
)
from .alphabeta import AlphaBetaAgent
from .names import AgentLike, as_agent, make_agent, make_agents, read_agent, spec_of
from .outside import FunctionAgent
from .settings import setting
from .uct import UCTAgent
from .uniform import RandomAgent

__all__ = [
    "RESIGN",
    "Agent",
    "AgentLike",
    "AgentSpec",
    "AlphaBetaAgent",
    "FunctionAgent",
    "GameInPlay",
    "InstantSearch",
    "Needs",
    "RandomAgent",
    "Seed",
    "UCTAgent",
    "as_agent",
    "labels_of",
    "make_agent",
    "make_agents",
    "read_agent",
    "require_different",
    "setting",
    "spec_of",
]
