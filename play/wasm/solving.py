"""The common part of all modules with exact values: keeping bounds of a position's actions.

Template parts (see ``ludarium.envs.engine.compile``). A value is a number, greater if better
for the mover; 0 is a draw, greater ones are wins. ``bounds`` has an entry for each action, and a
last one for the position itself.
"""

import numpy as np

from ludarium.envs.engine.rule import record_dtype
from ludarium.machine.marks import part

#: Bounds of an action: its value is at least ``low`` and at most ``high``.
BOUND = record_dtype(("low", np.int32), ("high", np.int32), ("is_legal", np.int32))


@part
def forget_bounds(bounds, most):
    """Begin with another position: no action is legal yet, bounds are ``-most`` and ``most``."""
    for entry in range(len(bounds)):
        bounds[entry].low = -most
        bounds[entry].high = most
        bounds[entry].is_legal = 0
    bounds[len(bounds) - 1].is_legal = 1


@part
def bounds_of(bounds, entry, is_movers):
    """The bounds of an entry: for the mover, or for the opponent, whose values are the opposite.

    Returns:
        The lower and the upper bound.
    """
    if is_movers:
        return int(bounds[entry].low), int(bounds[entry].high)
    return -int(bounds[entry].high), -int(bounds[entry].low)


@part
def note_bounds(bounds, entry, low, high):
    """Tighten the bounds of an action or of the position, and then those that follow from them."""
    actions = len(bounds) - 1
    best = bounds[actions]
    bounds[entry].low = max(bounds[entry].low, low)
    bounds[entry].high = min(bounds[entry].high, high)
    least = bounds[entry].low
    most = best.low
    for action in range(actions):
        if bounds[action].is_legal:
            least = max(least, bounds[action].low)
            most = max(most, bounds[action].high)
    best.low = max(best.low, least)
    best.high = min(best.high, most)
    for action in range(actions):
        if bounds[action].is_legal:
            bounds[action].high = min(bounds[action].high, best.high)


@part
def note_bounds_of(bounds, entry, is_movers, low, high):
    """`note_bounds` for bounds in the form of `bounds_of`."""
    if is_movers:
        note_bounds(bounds, entry, low, high)
    else:
        note_bounds(bounds, entry, -high, -low)
