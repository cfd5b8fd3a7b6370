"""Questions that narrow the bounds of a value: for Corso's solver and the one for any game.

Template functions (see ``ludarium.envs.engine.compile``): compiled in the WebAssembly solvers,
called uncompiled by those in Python. The windows are those of MTD(f) (Plaat and others, "Best-first
fixed-depth minimax algorithms", 1996): the first question is whether the value is a win, unless the
bounds tell; each further one is whether it is more than the lower bound that the previous one
returned, or as much as the upper bound.
"""

from ludarium.machine.marks import part


@part
def is_open(low, high, leads):
    """Whether there is more to ask about a value from ``low`` to ``high``.

    ``leads`` is 1 if the number itself is asked for, 0 if only who wins.
    """
    return low < high and (leads != 0 or (low <= 0 and high >= 0))


@part
def first_target(low, high):
    """The first question about a value from ``low`` to ``high``: is it at least this?"""
    if low >= 1:
        return low + 1
    if high < 1:
        return high
    return 1


@part
def next_target(low, high, target):
    """The question after the one about ``target``, whose answer is in the bounds."""
    return low + 1 if low >= target else high
