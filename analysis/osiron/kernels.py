"""Retrograde analysis of Osiron in compiled code: template functions.

They work on a `board_record`, and of the game's own rules only `phase_of` calls one, so comparing
them with the rules compares two programs.

**Phases.** Besides the colouring a position has a phase: who is to move, and with which kind of
exchange. Each exchange leads from a phase to the next one, and from the last one to the first.
Basic movement has two phases, one for each player. Advanced movement has four: the first and the
second exchange of an odd round, and of an even round; player 0 of the analysis is the one who
begins the rounds, in the game either player (`view_of`). So player 0 is to move in even phases
and player 1 in odd ones. A colouring, the set of player 0's pieces, has a number
(`number_of`); a colouring in a phase has a place, ``phase * COLOURINGS + number``.

**Moves.** When the mover exchanges a pair, the opponent sees a colouring in which that same pair
is forbidden, unless the kind changes. The value of a colouring with pair ``f`` forbidden is the
value of its best action, or of its second best if the best one is ``f`` itself. So one word for
each place holds the values of all its positions (`packed`). In six colourings no pieces of
different colours point at each other: a draw in a phase that exchanges such pairs. All other
colourings have at least two such pairs, and all have at least four of different colours that
border.

**Values.** A win in n plies has the value ``WIN - n``, a loss in n plies ``n - WIN``; 0 is a draw,
or not known yet.

**Layers.** Layer n decides all positions that are won or lost in n plies. It looks only at marked
places: a child of theirs was decided in the layer before. Decisions during layer n are
ignored until the next one, so threads need not wait for each other and the result does not
depend on them; each word is written by one thread, and read and written as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ludarium.base.memory import read_only
from ludarium.envs.osiron.rules import ALL_SPACES, CIRCLES, NO_PAIR, SPACES, movement
from ludarium.machine.marks import kernel, part

from .colourings import COLOURINGS, RuleSet, board_record, view_record

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

TITLE = "solver"

#: Value of a won finished game; a byte holds wins and losses in up to ``WIN - 1`` plies.
WIN = 127
#: Stands for the value of an action that is not legal.
ILLEGAL = -128
#: Stands for the best pair in the word of a finished game.
FINISHED = 255

_HALF = SPACES // 2
_LOW_HALF = (1 << _HALF) - 1


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    board = board_record(RuleSet(game.options["movement"], ((), ())))
    view = view_record(np.arange(SPACES), 0)
    words, marks = np.zeros(1, np.int32), np.zeros(1, np.uint8)
    yield "start", (board, words, words, marks, 0, 0)
    yield "decide", (board, words, words, marks, marks, 0, 0, 0)
    yield "tally", (board, words, read_only(words), np.zeros((1, 2, 256), np.int64))
    looked_up = (board, view, game.tables, read_only(words), game.new_states(1))
    yield "look_up", (*looked_up, np.zeros(1, np.int8))
    yield "look_up_actions", (*looked_up, np.zeros((1, game.num_actions), np.int8))


@part
def number_of(board, spaces):
    """The number of a colouring. Numbers rise with the upper half, then with the lower one."""
    return int(board.first[spaces >> _HALF]) + int(board.rank[spaces & _LOW_HALF])


@part
def has_circle(board, spaces, player):
    """Whether a player, whose pieces are ``spaces``, holds a circle that counts for them."""
    complete = 0
    for circle in range(CIRCLES):
        goal = int(board.goals[player, circle])
        complete |= spaces & goal == goal
    return complete


@part
def is_mixed(board, spaces, pair):
    """Whether a pair has one end in the set and the other one outside it."""
    lower = spaces >> int(board.ends[pair, 0])
    higher = spaces >> int(board.ends[pair, 1])
    return (lower ^ higher) & 1


@part
def packed(best, second, pair):
    """One word: the values of the best and the second best action, and the best one's pair."""
    return (best + 128) << 16 | (second + 128) << 8 | pair


@part
def value_of(word, forbidden):
    """Value of a place, for its mover, if a pair or `NO_PAIR` is forbidden."""
    shift = 8 if word & 0xFF == forbidden else 16
    return (word >> shift & 0xFF) - 128


@part
def one_ply_before(value):
    """Value for the player who moves into a position that has this value for its mover."""
    return (value > 0) - (value < 0) - value


@part
def is_decided(board, phase, word):
    """Whether everything about a place is known."""
    is_best_known = value_of(word, NO_PAIR) != 0
    is_second_known = board.forbids[phase] == 0 or value_of(word, word & 0xFF) != 0
    return word & 0xFF == FINISHED or (is_best_known and is_second_known)


@part
def following(board, phase):
    """The phase after a phase."""
    return phase + 1 if phase + 1 < len(board.forbids) else 0


@part
def preceding(board, phase):
    """The phase before a phase."""
    return phase - 1 if phase > 0 else len(board.forbids) - 1


@part
def mark_parents(board, phase, spaces, before, after, marks):
    """Mark the places that lead to a position whose value has changed."""
    earlier = preceding(board, phase)
    for pair in range(int(board.kind[earlier, 0]), int(board.kind[earlier, 1])):
        if is_mixed(board, spaces, pair) and value_of(before, pair) != value_of(after, pair):
            parent = spaces ^ int(board.exchange[pair])
            marks[earlier * COLOURINGS + number_of(board, parent)] = 1


@part
def best_actions(board, phase, spaces, words, layer):
    """The word of a marked place, from the values of its children decided before ``layer``.

    A marked place has at least two children: the one that marked it, and another one.
    """
    later = following(board, phase) * COLOURINGS
    best = second = ILLEGAL
    best_pair = NO_PAIR
    for pair in range(int(board.kind[phase, 0]), int(board.kind[phase, 1])):
        if is_mixed(board, spaces, pair):
            child = spaces ^ int(board.exchange[pair])
            value = value_of(int(words[later + number_of(board, child)]), pair)
            if abs(value) <= WIN - layer:  # not decided before this layer
                value = 0
            value = one_ply_before(value)
            if value > best:
                second = best
                best = value
                best_pair = pair
            elif value > second:
                second = value
    return packed(best, second, best_pair)


@kernel
def start(boards, colourings, words, marks, begin, end):
    """Write the words of places ``begin`` to ``end``: finished games, and the others as unknown.

    This marks the parents of finished games. ``colourings`` int32[N], ``words`` int32[P * N],
    ``marks`` uint8[P * N].
    """
    board = boards[0]
    unknown = packed(0, 0, NO_PAIR)
    for place in range(begin, end):
        phase = place // COLOURINGS
        spaces = int(colourings[place - phase * COLOURINGS])
        has_first = has_circle(board, spaces, 0)
        has_second = has_circle(board, spaces ^ ALL_SPACES, 1)
        word = unknown
        if has_first or has_second:
            value = WIN * (has_first - has_second) * (1 - 2 * (phase & 1))
            word = packed(value, value, FINISHED)
        words[place] = word
        mark_parents(board, phase, spaces, unknown, word, marks)


@kernel
def decide(boards, colourings, words, marks, next_marks, layer, begin, end):
    """Decide wins and losses in ``layer`` plies, in the places ``begin`` to ``end``.

    This removes the marks, and marks the parents of decided places in ``next_marks``. Returns
    how many places have changed.
    """
    board = boards[0]
    changed = 0
    for place in range(begin, end):
        if marks[place]:
            marks[place] = 0
            before = int(words[place])
            phase = place // COLOURINGS
            if not is_decided(board, phase, before):
                spaces = int(colourings[place - phase * COLOURINGS])
                after = best_actions(board, phase, spaces, words, layer)
                if (
                    value_of(before, NO_PAIR) != value_of(after, NO_PAIR)
                    or value_of(before, before & 0xFF) != value_of(after, after & 0xFF)
                ):  # fmt: skip
                    words[place] = after
                    mark_parents(board, phase, spaces, before, after, next_marks)
                    changed += 1
    return changed


@kernel
def tally(boards, colourings, words, counts):
    """Count the values of unfinished positions.

    ``counts`` int64[P, 2, 256], at ``value + 128``: in each phase, first without a forbidden
    pair, then with each forbidden pair that may have been exchanged last, its ends being of
    different colours. Positions without a legal exchange are counted at index 0, as `ILLEGAL`.
    """
    board = boards[0]
    for place in range(len(words)):
        word = int(words[place])
        if word & 0xFF != FINISHED:
            phase = place // COLOURINGS
            spaces = int(colourings[place - phase * COLOURINGS])
            actions = 0
            for pair in range(int(board.kind[phase, 0]), int(board.kind[phase, 1])):
                actions += is_mixed(board, spaces, pair)
            value = value_of(word, NO_PAIR) if actions else ILLEGAL
            counts[phase, 0, value + 128] += 1
            if board.forbids[phase]:
                for pair in range(int(board.kind[phase, 0]), int(board.kind[phase, 1])):
                    if is_mixed(board, spaces, pair):
                        counts[phase, 1, value_of(word, pair) + 128] += 1


@part
def seen(view, light):
    """Map the light spaces of a game to the colouring that the analysis has for them."""
    image = int(view.image[0, light & _LOW_HALF]) | int(view.image[1, light >> _HALF])
    return image ^ ALL_SPACES if view.exchanged else image


@part
def phase_of(view, tables, state):
    """The phase of a position: the kind of exchange, and who is to move."""
    return 2 * movement(tables, state) + (int(state.mover) ^ int(view.exchanged))


@kernel
def look_up(boards, views, tables, words, states, values):
    """Write the values of positions for their movers, int8[N]; `ILLEGAL` where the game is over.

    All pieces must be placed.
    """
    board, view = boards[0], views[0]
    for number in range(len(states)):
        state = states[number]
        value = ILLEGAL
        if state.outcome == 0:
            place = phase_of(view, tables[0], state) * COLOURINGS
            place += number_of(board, seen(view, int(state.light)))
            value = value_of(int(words[place]), int(view.pair_image[state.forbidden]))
        values[number] = value


@kernel
def look_up_actions(boards, views, tables, words, states, values):
    """`look_up` for all actions: int8[N, A]; `ILLEGAL` for those that are not legal."""
    board, view = boards[0], views[0]
    for number in range(len(states)):
        state = states[number]
        for action in range(values.shape[1]):
            values[number, action] = ILLEGAL
        if state.outcome == 0:
            phase = phase_of(view, tables[0], state)
            later = following(board, phase) * COLOURINGS
            for action in range(int(board.kind[phase, 0]), int(board.kind[phase, 1])):
                if action != state.forbidden and is_mixed(board, int(state.light), action):
                    light = int(state.light) ^ int(board.exchange[action])
                    word = int(words[later + number_of(board, seen(view, light))])
                    value = value_of(word, int(view.pair_image[action]))
                    values[number, action] = one_ply_before(value)
