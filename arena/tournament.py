"""Tournaments: everyone against everyone, or some against the others.

    standings = play_tournament(make_game("corso"), ["random", "uct:20", "uct:200"], games=100)
    print(standings_table(standings))

An agent that fails, by an exception or an illegal action, stops the tournament, and the message
names it: a game lost by a fault of the program says nothing about strength. What was played before
is in the folder; once the agent is repaired, the tournament goes on from there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.envs.registry import GAMES, make_stored_game
from ludarium.training.agents import AgentFactory, read_agent
from ludarium.training.evaluation.match import PlayedGame, Progress

from .chunks import Chunk, chunks_of, one_core_agents, play_chunks
from .folder import ArenaFolder, FinishedGame, checked, finished_game, record_of
from .standings import Standings
from .tables import standings_table
