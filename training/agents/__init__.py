"""Agents for the games, from random to trained, with one interface.

Import what is in `__all__` from here. The functions that find agents' files are in `checkpoints`.

    agent = make_agent("uct:1000", game)     # module `names` documents the names
    agent = as_agent(my_function, game)      # a function, or a torch module, of your own
    action = agent.choose(position)          # one position
    actions = agent.actions(states)          # many at once

Only a trained agent imports torch, and only when it is made.
"""

from __future__ import annotations

from ludarium.envs.engine.game_in_play import GameInPlay

from .agent import Agent, AgentFactory, Seed
from .alphabeta import AlphaBetaSearcher
from .names import AgentKind, Player, as_agent, make_agent, read_agent
from .outside import PolicyAgent
from .searcher import Drawn, Searcher, best
from .settings import setting
from .uct import UCTSearcher
from .uniform import RandomAgent

__all__ = [
    "Agent",
    "AgentFactory",
    "AgentKind",
    "AlphaBetaSearcher",
    "Drawn",
    "GameInPlay",
    "Player",
    "PolicyAgent",
    "RandomAgent",
    "Searcher",
    "Seed",
    "UCTSearcher",
    "as_agent",
    "best",
    "make_agent",
    "read_agent",
    "setting",
]
