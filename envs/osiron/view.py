"""What people see of a position of Osiron.

Slots, one above the other: for each circle, whether its petals are gilded; all circles as lines;
for each space, its piece and whether it was placed or exchanged last, then the name of each; for
each circle, the stud of the player for whom it does not count; for each circle, its ring; for each
pair, whether it must not be exchanged back; in advanced movement a sign for the kind of exchange;
for each player, twelve pieces, of which those left to place are shown. View tables: none.
"""

from ..engine.rule import DRAW, ONGOING, PLAYER_0_WINS, rule
from .rules import (
    CIRCLE_SIZE,
    CIRCLES,
    NO_PAIR,
    PAIRS,
    SPACES,
    at_least,
    movement,
)

#: Choices of a space: a light or a dark piece; the same with the mark of the last action; nothing.
DARK_PIECE = 1
MARKED = 2
EMPTY_SPACE = 4
#: Choices of a circle's golden petals and of its golden ring: hidden, shown.
#: Choices of a circle's stud: none, light's, dark's.
#: Choices of a space's name: on a light piece, on a dark one, on none.
NAME_ON_NONE = 2
#: Choices of the sign: none, bordering, pointing.

#: Reasons why pieces cannot be placed or exchanged. `OTHER_KIND` and `SAME_COLOUR` are each the
#: first of two, by the kind of exchange and by colour.
HOLDS_PIECE, TOO_EARLY, OTHER_KIND, WOULD_UNDO, SAME_COLOUR = 0, 1, 2, 4, 5

# First slot of each run.
_LINES = CIRCLES
_PIECES = _LINES + 1
_NAMES = _PIECES + SPACES
_STUDS = _NAMES + SPACES
_RINGS = _STUDS + CIRCLES
_FORBIDDEN = _RINGS + CIRCLES
_SIGN = _FORBIDDEN + PAIRS
_LEFT = _SIGN + 1

# Tasks: one for each forbidden pair; one for each kind of exchange, if none is forbidden; one for
# each number of pieces that the mover has left to place, from 1.
_OF_KIND = NO_PAIR
_PLACE = _OF_KIND + 2


@rule
def show(tables, view, before, state, action, shown):
    """Write every slot; circles that have won or tied are golden."""
    marked = _touched(tables, action)
    full = _full_circles(state, 0) | _full_circles(state, 1)
    shown[_LINES] = 0
    for circle in range(CIRCLES):
        digit = 8 << 4 * circle
        is_golden = full & digit != 0
        shown[circle] = is_golden
        shown[_RINGS + circle] = is_golden
        if int(state.counting[0]) & digit == 0:
            shown[_STUDS + circle] = 1
        else:
            shown[_STUDS + circle] = 2 if int(state.counting[1]) & digit == 0 else 0
    for space in range(SPACES):
        is_dark = 1 - (int(state.light) >> space & 1)
        piece = DARK_PIECE * is_dark + MARKED * (marked >> space & 1)
        is_empty = int(state.empty) >> space & 1
        shown[_PIECES + space] = EMPTY_SPACE if is_empty else piece
        shown[_NAMES + space] = NAME_ON_NONE if is_empty else is_dark
    is_on = state.outcome == ONGOING
    for pair in range(PAIRS):
        shown[_FORBIDDEN + pair] = int(is_on & (state.forbidden == pair))
    is_kind_told = is_on and tables.is_advanced and state.empty == 0
    shown[_SIGN] = 1 + movement(tables, state) if is_kind_told else 0
    for player in range(2):
        left = _left_to_place(state, player)
        for piece in range(SPACES // 2):
            shown[_LEFT + SPACES // 2 * player + piece] = int(piece < left)


@rule
def reason(tables, state, action):
    """The reason follows from the spaces, the kind of exchange, or the forbidden pair."""
    if action >= tables.first_placement:
        return HOLDS_PIECE
    if state.empty:
        return TOO_EARLY
    kind = movement(tables, state)
    if not int(tables.kinds[kind]) >> action & 1:
        return OTHER_KIND + kind
    if action == state.forbidden:
        return WOULD_UNDO
    is_light = int(state.light) >> int(tables.ends[action, 0]) & 1
    return SAME_COLOUR + 1 - is_light


@rule
def word(tables, state, action):
    """The number of an action's text, which names the mover's own space first.

    A pair has two: the action's name, lower space first, and after all names the same backwards.
    """
    if action >= tables.first_placement:
        return action
    is_lower_light = int(state.light) >> int(tables.ends[action, 0]) & 1
    return action + int(tables.num_actions) * int(is_lower_light == state.mover)


@rule
def task(tables, state):
    """The kind of exchange to play, the forbidden pair, or how many pieces are left to place."""
    if state.empty:
        return _PLACE + _left_to_place(state, int(state.mover)) - 1
    if state.forbidden != NO_PAIR:
        return int(state.forbidden)
    return _OF_KIND + movement(tables, state)


@rule
def give_turn(tables, state):
    """Forget the last exchange. Nobody can pass before all pieces are placed."""
    if state.empty:
        return False
    state.mover = 1 - state.mover
    state.forbidden = NO_PAIR
    return True


@rule
def _left_to_place(state, player):
    """How many pieces a player has left to place; players place in turn."""
    empty = 0
    for space in range(SPACES):
        empty += int(state.empty) >> space & 1
    return (empty + (state.mover == player)) // 2


@rule
def _touched(tables, action):
    """The set of spaces on which an action has put pieces; empty for -1."""
    if action < 0:
        return 0
    if action >= tables.first_placement:
        return 1 << (action - int(tables.first_placement))
    return int(tables.exchange[action])


@rule
def _full_circles(state, player):
    """The circles with which a player has won or tied, as a set of circles."""
    if state.outcome < PLAYER_0_WINS or state.outcome > DRAW:
        return 0
    return at_least(int(state.around[player]), CIRCLE_SIZE) & int(state.counting[player])
