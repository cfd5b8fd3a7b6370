"""Plays the chosen actions of many games at once.

Template functions for ``engine.compile.specialise``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.envs.engine.rule import ONGOING
from ludarium.machine.marks import kernel

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "matches"


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    for kind in (np.int64, np.int32, np.int16):
        yield "play", (game.tables, game.new_states(1), np.zeros(1, kind), game.num_actions)


@kernel
def play(tables, states, actions, num_actions):
    """Play one action in every position, up to the first that is illegal.

    Returns:
        -1, or the index of the first position whose game is over or whose action is not
        legal; that position and those after it are unchanged.
    """
    for i in range(len(states)):
        action = actions[i]
        if states[i].outcome != ONGOING or action < 0 or action >= num_actions:
            return i
        if not rules.is_legal(tables[0], states[i], action):
            return i
        rules.step(tables[0], states[i], action)
    return -1
