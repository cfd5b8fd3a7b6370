"""What people see of a position of Osiron.

Slots, one above the other: for each circle, whether its petals are gilded; all circles as lines;
for each space, its piece and whether it was placed or exchanged last, then the name of each; for
each circle, the stud of the player for whom it does not count; for each circle, its ring; for each
pair, whether it must not be exchanged back; in advanced movement a sign for the kind of exchange;
for each player, twelve pieces, of which those left to place are shown. View tables: none.
"""

from ..engine.position_text import FINE, OWN, note, plies_of, say
from ..engine.rule import DRAW, ONGOING, PLAYER_0_WINS, TRUNCATED, rule
from .rules import (
    ALL_CIRCLES,
    ALL_SPACES,
    CIRCLE_SIZE,
    CIRCLES,
    NO_PAIR,
    PAIRS,
    SPACES,
    at_least,
    exchanges,
    has_circle,
    has_complete_circle,
    is_repetition,
    mixed_pairs,
    movement,
    pieces,
    pieces_around,
    position_key,
    set_up,
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

#: Fields of a position's text: without placements ``seen0`` and ``seen1`` follow at `EXCLUDED`.
PLIES, FORBIDDEN, EXCLUDED = range(3)
#: Faults of a position's text; `WRONG_MOVER` by the player who is to move.
WRONG_PLACER, WRONG_COUNTS, WRONG_MOVER = OWN, OWN + 1, OWN + 2
NOT_FORBIDDEN, TOO_EARLY_EXCLUDED, TOO_MANY_EXCLUDED = range(OWN + 4, OWN + 7)
SEEN_UNEVEN, SEEN_TOO_MANY, SEEN_TOO_OFTEN, NEEDS_NO_FIELD = range(OWN + 7, OWN + 11)

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


@rule
def write_text(tables, state, said):
    """Write the pieces, and what else the exchanges have left."""
    light, empty, mover = int(state.light), int(state.empty), int(state.mover)
    for space in range(SPACES):
        is_empty = empty >> space & 1
        said.board[space] = 0 if is_empty else 2 - (light >> space & 1)
    if empty == 0:
        past = int(state.ply) - int(tables.placements)
        if state.ply != _least_plies(tables, light, mover):
            say(said, PLIES, int(state.ply))
        if state.forbidden < PAIRS:
            say(said, FORBIDDEN, int(state.forbidden))
        if tables.placements and past > 0:
            for player in range(2):
                for circle in range(CIRCLES):
                    if not int(state.counting[player]) & 8 << 4 * circle:
                        say(said, EXCLUDED, CIRCLES * player + circle)
        if tables.repetition:
            now = position_key(tables, state)
            for player in range(2):
                for turn in range(_earlier_turns(tables, past, player)):
                    key = int(state.history[player, turn])
                    # After the end, only a draw by repetition needs them.
                    is_draw = state.outcome == DRAW and player == mover and key == now
                    if key != 0 and (state.outcome == ONGOING or is_draw):
                        _say_seen(tables, said, player, key)


@rule
def _say_seen(tables, said, player, key):
    """Add a position to those that a player has seen, which are in rising order."""
    pairs, pair = int(tables.first_placement), key >> SPACES & 63
    word = (pairs + 1) * (key >> SPACES + 6) + min(pair, pairs)
    value = word << SPACES | key & ALL_SPACES
    field = _seen(tables) + player
    place = int(said.counts[field])
    while place > 0 and said.values[field, place - 1] > value:
        place -= 1
    if place > 0 and said.values[field, place - 1] == value:
        said.times[field, place - 1] += 1
        return
    for number in range(int(said.counts[field]), place, -1):
        said.values[field, number] = said.values[field, number - 1]
        said.times[field, number] = said.times[field, number - 1]
    said.values[field, place] = value
    said.times[field, place] = 1
    said.counts[field] += 1


@rule
def read_text(tables, state, said):
    """Write the position with these pieces; the history has what repetition counts."""
    set_up(tables, state, int(tables.start))
    placements, mover = int(tables.placements), int(said.mover)
    has_diagram = placements == 0 and not tables.is_random
    for player in range(2):
        if not has_diagram:
            state.counting[player] = ALL_CIRCLES
        for turn in range(state.history.shape[1]):
            state.history[player, turn] = 0
    light, dark = 0, 0
    for space in range(SPACES):
        light |= int(said.board[space] == 1) << space
        dark |= int(said.board[space] == 2) << space
    state.forbidden = NO_PAIR
    state.mover = mover
    state.light = light
    state.empty = ALL_SPACES ^ light ^ dark
    state.mixed = 0
    placed_light, placed_dark = _size(light), _size(dark)
    placed = placed_light + placed_dark
    wanted_light, wanted_dark = SPACES // 2, SPACES // 2
    if placements and state.empty:
        wanted_light, wanted_dark = (placed + 1) // 2, placed // 2
        if mover != placed % 2:
            note(said, placed, 1 - mover, 0)
            return WRONG_PLACER
    if placed_light != wanted_light or placed_dark != wanted_dark:
        note(said, placed_light, placed_dark, wanted_light)
        said.numbers[3] = wanted_dark
        return WRONG_COUNTS
    for player in range(2):
        around = pieces_around(tables, pieces(state, player))
        state.around[player] = around
        if placements:
            state.counting[player] = ALL_CIRCLES ^ at_least(around, CIRCLE_SIZE)
    if state.empty:
        state.ply = placed
        for field in range(len(said.counts)):
            if said.counts[field] > 0:
                return NEEDS_NO_FIELD
    else:
        least = _least_plies(tables, light, mover)
        if least < 0:
            return WRONG_MOVER + 1 - mover
        plies = plies_of(said, PLIES, least, int(tables.max_plies), 2)
        if plies < 0:
            return -plies
        state.ply = plies
        fault = _read_exchanges(tables, state, said)
        if fault != FINE:
            return fault
    if state.outcome == ONGOING and state.ply >= tables.max_plies:
        state.outcome = TRUNCATED
    return FINE


@rule
def _read_exchanges(tables, state, said):
    """Read what the exchanges before a position have left, and find out whether it is over."""
    past = int(state.ply) - int(tables.placements)
    state.mixed = mixed_pairs(tables, int(state.light))
    if said.counts[FORBIDDEN] > 0:
        pair = int(said.values[FORBIDDEN, 0]) % int(tables.first_placement)
        playable = int(state.mixed) & int(tables.kinds[movement(tables, state)])
        if past == 0 or not playable >> pair & 1:
            note(said, pair, 0, 0)
            return NOT_FORBIDDEN
        state.forbidden = pair
    if tables.placements:
        if past == 0 and said.counts[EXCLUDED] > 0:
            return TOO_EARLY_EXCLUDED
        if past > 0 and not _read_excluded(tables, state, said):
            return TOO_MANY_EXCLUDED
    is_repeated = False
    if tables.repetition:
        for player in range(2):
            turns = _earlier_turns(tables, past, player)
            fault = _read_seen(tables, state, said, player, turns)
            if fault != FINE:
                return fault
        is_repeated = is_repetition(tables, state)
    if past > 0:
        light_wins, dark_wins = has_circle(state, 0), has_circle(state, 1)
        if light_wins and dark_wins:
            state.outcome = DRAW
        elif light_wins or dark_wins:
            state.outcome = PLAYER_0_WINS + int(dark_wins)
        elif is_repeated or exchanges(tables, state) == 0:
            state.outcome = DRAW
    return FINE


@rule
def _read_excluded(tables, state, said):
    """Write the circles that count; return whether the others could all be complete at once."""
    held_by_both, held = ALL_SPACES, 0
    for player in range(2):
        counting, spaces = ALL_CIRCLES, 0
        for number in range(said.counts[EXCLUDED]):
            value = int(said.values[EXCLUDED, number])
            if value // CIRCLES == player:
                counting &= ~(8 << 4 * (value % CIRCLES))
                for space in range(SPACES):
                    around = int(tables.ones_around[space]) >> 4 * (value % CIRCLES) & 1
                    spaces |= around << space
        state.counting[player] = counting
        held_by_both &= spaces
        held = max(held, _size(spaces))
    return held_by_both == 0 and held <= SPACES // 2


@rule
def _read_seen(tables, state, said, player, turns):
    """Read the positions that ``player`` had before its earlier turns, into the history."""
    field = _seen(tables) + player
    words = int(tables.first_placement) + 1
    step = 2 if tables.is_advanced else 1
    for kind in range(step):
        turn = turns - 1
        while turn >= 0 and turn % step != kind:
            turn -= 1
        for number in range(said.counts[field]):
            value, times = int(said.values[field, number]), int(said.times[field, number])
            light, word = value & ALL_SPACES, value >> SPACES
            if word // words != kind:
                continue
            pair = NO_PAIR if word % words == words - 1 else word % words
            note(said, player, times, int(tables.repetition))
            if _size(light) != SPACES // 2:
                return SEEN_UNEVEN
            if times > turn // step + 1:
                return SEEN_TOO_MANY
            if times >= tables.repetition:
                return SEEN_TOO_OFTEN
            for _ in range(times):
                state.history[player, turn] = light | pair << SPACES | kind << SPACES + 6
                turn -= step
    return FINE


@rule
def _seen(tables):
    """The field ``seen0``."""
    return EXCLUDED + int(tables.placements > 0)


@rule
def _size(spaces):
    """How many spaces a set has."""
    size = 0
    for space in range(SPACES):
        size += spaces >> space & 1
    return size


@rule
def _earlier_turns(tables, past, player):
    """How many of the first ``past`` exchanges are ``player``'s."""
    is_first = int(player == int(tables.placements > 0))
    return (past + is_first) // 2


@rule
def _least_plies(tables, light, mover):
    """A lower bound on the plies that lead to a full board with these light spaces.

    It is -1 if no number does. Every exchange moves a light piece from a triangle that
    points up to one that points down, or back, so only 2, 4, ... more plies can lead there too.
    """
    if tables.placements:
        return SPACES + 1 - mover
    if tables.is_random:
        return 1 if mover else 2 * int(has_complete_circle(tables, light))
    start, upwards = int(tables.start), int(tables.upwards)
    parity = (_size(light & upwards) - _size(start & upwards)) % 2
    if parity != mover:
        return -1
    least = _size(light & ~start)
    return least + (least - parity) % 2
