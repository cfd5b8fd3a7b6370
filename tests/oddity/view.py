"""What people see of a position of Oddity: a slot for each counter that a pile may have."""

from ludarium.envs.engine.rule import rule

from .rules import HIGHEST, PILES


@rule
def show(tables, view, before, state, action, shown):
    """The counters of each pile."""
    for pile in range(PILES):
        for place in range(HIGHEST):
            shown[HIGHEST * pile + place] = int(place < state.piles[pile])
