"""What people see of a position of Osiron.

Slots, one upon the other: for each circle, whether its petals are gilded; for each space, its piece
and whether it was exchanged last; the studs, which are always there; for each circle, its ring; the
pair that must not be exchanged back. View tables: none.
"""

from ..engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, rule
from .rules import (
    CIRCLE_SIZE,
    CIRCLES,
    NO_PAIR,
    PAIRS,
    SPACES,
    at_least,
    pieces_around,
)

#: Choices of a space: a light or a dark piece; the same with the mark of the last action.
DARK_PIECE = 1
MARKED = 2
#: Choices of a circle's petals and of its ring: plain, golden.
#: Choices of the pair: each one, and `NO_PAIR`.


@rule
def show(tables, view, before, state, action, shown):
    """The pieces and the circles that have won."""
    studs = CIRCLES + SPACES
    marked = int(tables.exchange[action if action >= 0 else NO_PAIR])
    won = _won_circles(tables, state)
    for circle in range(CIRCLES):
        is_golden = won >> 4 * circle + 3 & 1
        shown[circle] = is_golden
        shown[studs + 1 + circle] = is_golden
    for space in range(SPACES):
        is_dark = 1 - (int(state.light) >> space & 1)
        shown[CIRCLES + space] = DARK_PIECE * is_dark + MARKED * (marked >> space & 1)
    shown[studs] = 0
    is_on = state.outcome == ONGOING
    shown[studs + 1 + CIRCLES] = int(state.forbidden) if is_on else NO_PAIR


@rule
def word(tables, state, action):
    """The mover's own space comes first: in the second half of the words the higher one."""
    is_lower_light = int(state.light) >> int(tables.ends[action, 0]) & 1
    return action + PAIRS * int(is_lower_light == state.mover)


@rule
def task(tables, state):
    """What must not be exchanged back."""
    return int(state.forbidden)


@rule
def pass_turn(tables, state):
    """No pair was exchanged last."""
    state.mover = 1 - state.mover
    state.forbidden = NO_PAIR
    return True


@rule
def _won_circles(tables, state):
    """The circles with which the game was won, as a set of circles."""
    if state.outcome != PLAYER_0_WINS and state.outcome != PLAYER_1_WINS:
        return 0
    winner = int(state.outcome) - PLAYER_0_WINS
    full = at_least(pieces_around(int(state.light_around), winner), CIRCLE_SIZE)
    return full & int(tables.counting[winner])
