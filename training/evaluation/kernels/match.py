"""Plays the chosen actions of many games at once.

Template functions for ``engine.compile.specialise``.
"""

from typing import Any

from ludarium.envs.engine.compile import kernel
from ludarium.envs.engine.rule import ONGOING

rules: Any = None  # one game's rule module, filled in by `specialise`


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
