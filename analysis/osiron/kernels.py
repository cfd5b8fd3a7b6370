"""Retrograde analysis of Osiron in compiled code: template functions.

They call none of the game's own rules but work on a `board_record`, so that comparing them with
the rules compares two programs.

**Positions.** Every position is written as its mover sees it: the set of the mover's pieces, the
board turned by half when dark is to move. So the mover is always "light" and always has light's
excluded circles, and a colouring stands for two positions of the game, one for each player to
move. The 2,704,156 colourings are numbered in rising order (`number_of`).

**Moves.** When the mover exchanges a pair, the opponent sees a colouring in which that very pair
is forbidden. The value of a colouring with pair ``f`` forbidden is that of its best action other
than ``f``: the best action's, unless that is ``f`` itself, and then the second best's. So one
word for each colouring holds the values of all its positions (`packed`).

**Values.** A win in n plies is worth ``WIN - n``, a loss in n plies ``n - WIN``, and 0 is a draw,
or not known yet.

**Layers.** Layer n decides all that is won or lost in n plies. It looks only at colourings that
are marked: a child of theirs was decided in the layer before. What is decided during layer n is
ignored until the next one, so threads need not wait for each other and the result does not
depend on them; each word is written by one thread, and read and written as a whole.
"""

from ludarium.envs.engine.compile import kernel, part
from ludarium.envs.osiron.rules import ALL_SPACES, CIRCLES, NO_PAIR, PAIRS, SPACES

COLOURINGS = 2_704_156  # of 24 spaces, half of them the mover's

#: Value of a finished game that is won; a byte holds wins and losses in up to ``WIN - 1`` plies.
WIN = 127
#: Stands for the value of an action that is not legal.
ILLEGAL = -128

_HALF = SPACES // 2
_LOW_HALF = (1 << _HALF) - 1
_BLOCK = 1 << 12  # colourings that a thread takes at a time


@part
def number_of(board, spaces):
    """The number of a colouring. Numbers rise with the upper half, then with the lower one."""
    return int(board.first[spaces >> _HALF]) + int(board.rank[spaces & _LOW_HALF])


@part
def turned(board, spaces):
    """A set of spaces on the board turned by half: ``space -> 23 - space``."""
    upper = int(board.reversed[spaces & _LOW_HALF])
    return upper << _HALF | int(board.reversed[spaces >> _HALF])


@part
def seen_by_mover(board, light, mover):
    """The mover's pieces as the mover sees them, of a game's colouring."""
    return turned(board, light ^ ALL_SPACES) if mover else light


@part
def has_circle(board, spaces, player):
    """Whether the mover, player 0, or the opponent, player 1, holds a circle that counts.

    ``spaces`` are that player's.
    """
    complete = 0
    for circle in range(CIRCLES):
        goal = int(board.goals[player, circle])
        complete |= spaces & goal == goal
    return complete


@part
def is_mixed(board, spaces, pair):
    """Whether a pair has one end in the set and the other one outside of it."""
    lower = spaces >> int(board.ends[pair, 0])
    higher = spaces >> int(board.ends[pair, 1])
    return (lower ^ higher) & 1


@part
def packed(best, second, pair):
    """One word: the values of the best and the second best action, and the best one's pair."""
    return (best + 128) << 16 | (second + 128) << 8 | pair


@part
def value_of(word, forbidden):
    """Value of a colouring, for its mover, where a pair or `NO_PAIR` is forbidden."""
    shift = 8 if word & 0xFF == forbidden else 16
    return (word >> shift & 0xFF) - 128


@part
def one_ply_before(value):
    """Value for the player who moves into a position of this value for its mover."""
    return (value > 0) - (value < 0) - value


@part
def is_decided(word):
    """Whether nothing is unknown about a colouring any more."""
    return value_of(word, NO_PAIR) != 0 and value_of(word, word & 0xFF) != 0


@part
def mark_parents(board, spaces, before, after, marks):
    """Mark the colourings from which one came to a position whose value has changed."""
    for pair in range(PAIRS):
        if is_mixed(board, spaces, pair) and value_of(before, pair) != value_of(after, pair):
            parent = turned(board, spaces ^ int(board.exchange[pair]) ^ ALL_SPACES)
            marks[number_of(board, parent)] = 1


@part
def best_actions(board, spaces, words, layer):
    """The word of a colouring, from what was decided about its children before ``layer``."""
    opponent_sees = turned(board, spaces ^ ALL_SPACES)
    best = second = ILLEGAL
    best_pair = NO_PAIR
    for pair in range(PAIRS):
        if is_mixed(board, opponent_sees, pair):
            child = opponent_sees ^ int(board.exchange[pair])
            value = value_of(int(words[number_of(board, child)]), pair)
            if abs(value) <= WIN - layer:  # not yet decided: it would be in `layer` plies or more
                value = 0
            value = one_ply_before(value)
            if value > best:
                second = best
                best = value
                best_pair = int(board.seen[1, pair])
            elif value > second:
                second = value
    return packed(best, second, best_pair)


@kernel
def start(boards, colourings, words, marks, begin, end):
    """Write the words of colourings ``begin`` to ``end``: finished games, the others unknown.

    A circle of the player who has just moved, the mover's opponent, comes first. Marks the
    parents of finished games. ``colourings`` int32[N], ``words`` int32[N], ``marks`` uint8[N].
    """
    board = boards[0]
    unknown = packed(0, 0, NO_PAIR)
    for number in range(begin, end):
        spaces = int(colourings[number])
        if has_circle(board, spaces ^ ALL_SPACES, 1):
            word = packed(-WIN, -WIN, NO_PAIR)
        elif has_circle(board, spaces, 0):
            word = packed(WIN, WIN, NO_PAIR)
        else:
            word = unknown
        words[number] = word
        if word != unknown:
            mark_parents(board, spaces, unknown, word, marks)


@kernel
def decide(boards, colourings, words, marks, next_marks, layer, worker, workers):
    """Decide what is won or lost in ``layer`` plies, in every ``workers``-th block of colourings.

    Takes the marks away, and marks the parents of what is decided in ``next_marks``. Returns
    how many colourings have changed.
    """
    board = boards[0]
    changed = 0
    for block in range(worker * _BLOCK, len(words), workers * _BLOCK):
        for number in range(block, min(block + _BLOCK, len(words))):
            if marks[number]:
                marks[number] = 0
                before = int(words[number])
                if not is_decided(before):
                    spaces = int(colourings[number])
                    after = best_actions(board, spaces, words, layer)
                    if (
                        value_of(before, NO_PAIR) != value_of(after, NO_PAIR)
                        or value_of(before, before & 0xFF) != value_of(after, after & 0xFF)
                    ):  # fmt: skip
                        words[number] = after
                        mark_parents(board, spaces, before, after, next_marks)
                        changed += 1
    return changed


@kernel
def tally(boards, colourings, words, counts, counts_all):
    """Count the values of unfinished positions, for either player to move.

    ``counts`` int64[256], at ``value + 128``: no pair is forbidden. ``counts_all``: the same,
    and with each pair forbidden that may have been exchanged last, its ends being of different
    colours.
    """
    board = boards[0]
    for number in range(len(words)):
        word = int(words[number])
        value = value_of(word, NO_PAIR)
        if abs(value) != WIN:
            counts[value + 128] += 2
            counts_all[value + 128] += 2
            spaces = int(colourings[number])
            for pair in range(PAIRS):
                if is_mixed(board, spaces, pair):
                    counts_all[value_of(word, pair) + 128] += 2


@kernel
def look_up(boards, words, states, values):
    """Values of positions for their movers; `ILLEGAL` where the game is over. int8[N]."""
    board = boards[0]
    for number in range(len(states)):
        state = states[number]
        if state.outcome:
            values[number] = ILLEGAL
        else:
            mover = int(state.mover)
            spaces = seen_by_mover(board, int(state.light), mover)
            forbidden = int(state.forbidden)
            if forbidden != NO_PAIR:
                forbidden = int(board.seen[mover, forbidden])
            values[number] = value_of(int(words[number_of(board, spaces)]), forbidden)


@kernel
def look_up_actions(boards, words, states, values):
    """Values of all actions for the movers, int8[N, 30]; `ILLEGAL` for those not legal."""
    board = boards[0]
    for number in range(len(states)):
        state = states[number]
        opponent = 1 - int(state.mover)
        for action in range(PAIRS):
            value = ILLEGAL
            is_open = state.outcome == 0 and action != state.forbidden
            if is_open and is_mixed(board, int(state.light), action):
                light = int(state.light) ^ int(board.exchange[action])
                word = int(words[number_of(board, seen_by_mover(board, light, opponent))])
                value = one_ply_before(value_of(word, int(board.seen[opponent, action])))
            values[number, action] = value
