"""Proof-number search to the end of the game, over a game's rules, in compiled code.

Template functions for ``engine.compile.specialise``.

**Values** are in the view of player 0, who maximises while player 1 minimises, so the order of
turns does not matter. They are numbers: 0 a draw; ``span`` plus the score a win of
player 0, the score minus ``span`` a win of player 1, where ``span`` is more than twice the largest
score. So a win outranks any score. Without scores the three are 1, 0 and -1.

**The search** asks one question of every position: is its value for player 0 the ``target`` or
more? The *proof number* of a position estimates how many further positions must be
searched at least to prove that, the *disproof number* to refute it; one is 0 and the other
`NEVER` if the question is answered. The search expands the position where these numbers are least
(Allis and others, "Proof-number search", 1994), depth first, with thresholds, here called limits,
instead of a tree in memory (df-pn: Nagai, "Df-pn algorithm for searching AND/OR trees and its
applications", 2002).
If numbers of several actions count together, only the greatest is taken, plus one for every
other (weak proof-number search: Ueda and others, 2008), because a sum would count the same
positions again and again where lines of play meet.

An answer is more than yes or no: it also gives a proven lower or upper bound of the value.

**Keys.** Each 32-bit word of a record is multiplied by a random number of 64 bits. The upper half
of the sum of these products is a hash (Lemire and Kaser, "Strongly universal string hashing is
fast", 2014): two different records have the same hash with a probability of about one in 2**32.
Three such hashes make a key of 96 bits. The number of plies is part of the record, so no position
recurs in a line of play, and no value depends on how a position was reached.

**The table** has buckets of four entries; if none is free, the entry with the least work behind it
is replaced. An entry is two words: the ``check``, 64 bits of the key (the other 32 choose the
bucket) combined by exclusive or with the ``data``, then the data. So an entry that two threads
wrote at the same time is not found (Hyatt and Mann, "A lock-less transposition table implementation
for parallel search", 2002). The data::

    bits  0-13  proven lower bound of the value, plus `OFFSET`
    bits 14-27  proven upper bound of the value, plus `OFFSET`
    bits 28-41  proof number
    bits 42-55  disproof number
    bits 56-61  length in bits of the number of positions searched for it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.envs.engine.rule import ONGOING, record_dtype, reward
from ludarium.machine.marks import kernel, leaf, part

if TYPE_CHECKING:
    from ludarium.envs.engine.compile import Arguments
    from ludarium.envs.engine.game import Game

rules: Any = None  # one game's rules, filled in by `specialise`
TITLE = "endgames"


def arguments(game: Game) -> Arguments:
    """The arguments of the kernels, see `specialise`."""
    line = game.new_states(1)
    words = line.view(np.uint32).reshape(1, -1)
    table, factors = np.zeros((1, 2), np.int64), np.zeros((3, 1), np.int64)
    setting = (game.tables, 1, table, 0, words[0], factors)
    room = (np.zeros(1, WORKER), np.zeros(1, FRAME), np.zeros((1, 1), CHILD))
    yield "begin", (setting, line, words, *room, 1)
    yield "search", (setting, line, words, *room, 1, 1)


#: Entries in a bucket of the table.
BUCKET = 4
#: Values are below this.
OFFSET = 1 << 13
#: Proof number of a claim that cannot be proven; all others are less.
NEVER = (1 << 14) - 1

_UNKNOWN = OFFSET - 1  # bounds of an unknown value, negative for the lower
_FIELD = (1 << 14) - 1
_HIGH_SHIFT = 14
_PROOF_SHIFT = 28
_DISPROOF_SHIFT = 42
_WORK_SHIFT = 56
_UPPER = -1 << 32  # the upper half of a word
_LOWER = (1 << 32) - 1

#: The search's stack frame for each ply of the current line of play.
FRAME = record_dtype(
    ("check", np.int64),  # the part of the key that entries are compared by
    ("bucket", np.int64),  # index of the bucket's first entry, from the rest of the key
    ("start", np.int64),  # positions searched when the search of this one began
    ("low", np.int32),  # proven lower bound of the value
    ("high", np.int32),  # proven upper bound
    ("proof", np.int32),
    ("disproof", np.int32),
    ("proof_limit", np.int32),  # the search leaves the position when a number reaches its limit
    ("disproof_limit", np.int32),
    ("mover", np.int32),
    ("width", np.int32),  # number of actions listed
    ("is_whole", np.int32),  # 1 if all legal ones are listed; 0 if one answers the question
    ("chosen", np.int32),  # index of the current action
)

#: The entry for each action at each ply of that line.
CHILD = record_dtype(
    ("check", np.int64),
    ("bucket", np.int64),
    ("action", np.int32),
    ("low", np.int32),
    ("high", np.int32),
    ("proof", np.int32),
    ("disproof", np.int32),
)

#: The state of a thread: its current ply, and the number of positions searched.
WORKER = record_dtype(("ply", np.int64), ("nodes", np.int64))


@part
def play(table, line, ply, action):
    """Write the position after an action of ``line[ply]`` into the next place of the line."""
    line[ply + 1] = line[ply]
    rules.step(table, line[ply + 1], action)


@part
def final_value(table, state, span):
    """The value of a finished game."""
    result = reward(state.outcome, 0)
    if result != 0 and span > 1:
        return result * span + rules.score(table, state)
    return result


@leaf
def key_of(words, masks, factors):
    """The key of a record: the compared part, int64, and the part below 2**32 for the bucket."""
    first = 0
    second = 0
    third = 0
    for k in range(masks.shape[0]):
        word = np.int64(words[k] & masks[k])
        first += word * factors[0, k]
        second += word * factors[1, k]
        third += word * factors[2, k]
    return first & _UPPER | second >> 32 & _LOWER, third >> 32 & _LOWER


@part
def find(transpositions, check, bucket):
    """The data of the entry with this key, or 0."""
    for place in range(bucket, bucket + BUCKET):
        data = transpositions[place, 1]
        if data != 0 and transpositions[place, 0] ^ data == check:
            return data
    return 0


@part
def keep(transpositions, frame, nodes):
    """Write an entry for a position: over its older one, else a free one or that with least work.

    If the question is answered, both numbers are stored as 1: the bounds answer it when it is
    asked again, and its numbers say nothing about a question with another target.
    """
    low = int(frame.low)
    high = int(frame.high)
    is_answered = frame.proof == 0 or frame.disproof == 0
    proof = 1 if is_answered else int(frame.proof)
    disproof = 1 if is_answered else int(frame.disproof)
    work = 0
    spent = nodes - frame.start
    while spent > 0:
        spent >>= 1
        work += 1
    place = frame.bucket
    least = 64
    for other in range(frame.bucket, frame.bucket + BUCKET):
        data = transpositions[other, 1]
        if data == 0:
            place = other
            break
        if transpositions[other, 0] ^ data == frame.check:
            place = other
            low = max(low, (data & _FIELD) - OFFSET)
            high = min(high, (data >> _HIGH_SHIFT & _FIELD) - OFFSET)
            work = max(work, data >> _WORK_SHIFT)
            break
        if data >> _WORK_SHIFT < least:
            least = data >> _WORK_SHIFT
            place = other
    data = (
        work << _WORK_SHIFT
        | disproof << _DISPROOF_SHIFT
        | proof << _PROOF_SHIFT
        | high + OFFSET << _HIGH_SHIFT
        | low + OFFSET
    )
    transpositions[place, 0] = frame.check ^ data
    transpositions[place, 1] = data


@part
def note(child, low, high, proof, disproof, target):
    """Store the knowledge about the position after an action in the action's entry."""
    child.low = low
    child.high = high
    child.proof = 0 if low >= target else NEVER if high < target else proof
    child.disproof = NEVER if low >= target else 0 if high < target else disproof


@part
def expand(setting, line, words, ply, frame, children, target):
    """List the legal actions of ``line[ply]`` with the table's knowledge about their positions.

    An action with which its player succeeds answers the question, so it ends the list.

    Returns:
        The number of actions played.
    """
    tables, span, transpositions, bucket_mask, masks, factors = setting
    table = tables[0]
    state = line[ply]
    after = line[ply + 1]
    mover = int(state.mover)
    width = 0
    is_answered = False
    for action in range(children.shape[0]):
        if is_answered or not rules.is_legal(table, state, action):
            continue
        play(table, line, ply, action)
        child = children[width]
        child.action = action
        width += 1
        if after.outcome != ONGOING:
            value = final_value(table, after, span)
            note(child, value, value, 1, 1, target)
        else:
            child.check, bucket = key_of(words[ply + 1], masks, factors)
            child.bucket = (bucket & bucket_mask) * BUCKET
            data = find(transpositions, child.check, child.bucket)
            if data == 0:
                note(child, -_UNKNOWN, _UNKNOWN, 1, 1, target)
            else:
                note(
                    child,
                    (data & _FIELD) - OFFSET,
                    (data >> _HIGH_SHIFT & _FIELD) - OFFSET,
                    data >> _PROOF_SHIFT & _FIELD,
                    data >> _DISPROOF_SHIFT & _FIELD,
                    target,
                )
        is_answered = child.high < target if mover else child.low >= target
    frame.mover = mover
    frame.width = width
    frame.is_whole = not is_answered
    return width


@part
def weigh(frame, children):
    """Combine the proof numbers of a position's actions, and choose the action to search next.

    Returns:
        The second least of the numbers by which the mover chooses: proof numbers of the actions
        if player 0 moves, else disproof numbers. And the number of actions with which the mover
        might still succeed.
    """
    mover = frame.mover
    least = NEVER + 1
    second = NEVER
    greatest = 0
    contested = 0
    low = _UNKNOWN if mover else -_UNKNOWN
    high = low
    for k in range(frame.width):
        child = children[k]
        if mover:
            aim = child.disproof
            rest = child.proof
            low = min(low, child.low)
            high = min(high, child.high)
        else:
            aim = child.proof
            rest = child.disproof
            low = max(low, child.low)
            high = max(high, child.high)
        if aim < least:
            second = min(least, NEVER)
            least = aim
            frame.chosen = k
        elif aim < second:
            second = aim
        greatest = max(greatest, rest)
        contested += rest != 0
    if not frame.is_whole:
        # The actions left out might be better still.
        if mover:
            low = -_UNKNOWN
        else:
            high = _UNKNOWN
    against = NEVER if greatest == NEVER else min(greatest + max(contested - 1, 0), NEVER - 1)
    frame.low = low
    frame.high = high
    frame.proof = against if mover else least
    frame.disproof = least if mover else against
    return second, contested


@part
def limit(frame, child, second, contested, below):
    """Set the limits for the search of the chosen action's position, whose frame is ``below``.

    The search stays with the action until another one looks better by a quarter, because after
    every change of action it must descend to a leaf again. It also stops at the limits of the
    position above.
    """
    rest_limit = frame.proof_limit if frame.mover else frame.disproof_limit
    if rest_limit < NEVER:
        rest_limit -= contested - 1
    aim_limit = frame.disproof_limit if frame.mover else frame.proof_limit
    aim_limit = min(aim_limit, second + max(second // 4, 1))
    below.proof_limit = rest_limit if frame.mover else aim_limit
    below.disproof_limit = aim_limit if frame.mover else rest_limit
    below.check = child.check
    below.bucket = child.bucket


@kernel
def begin(setting, line, words, workers, frames, children, target):
    """Start the search of ``line[0]``, an unfinished position; see `search` for the arguments."""
    _, _, _, bucket_mask, masks, factors = setting
    worker = workers[0]
    frame = frames[0]
    frame.check, bucket = key_of(words[0], masks, factors)
    frame.bucket = (bucket & bucket_mask) * BUCKET
    frame.start = worker.nodes
    frame.proof_limit = NEVER
    frame.disproof_limit = NEVER
    worker.ply = 0
    worker.nodes += expand(setting, line, words, 0, frame, children[0], target)


@kernel
def search(setting, line, words, workers, frames, children, target, budget):
    """Continue until the question is answered, or about ``budget`` more positions were searched.

    Args:
        setting: tuple of the game's ``tables``, array of one record; ``span``, the value of a win
            besides the score; ``transpositions``, the table, int64[entries, 2]; ``bucket_mask``,
            the number of buckets minus 1; ``masks``, uint32[words], the bits of a record that
            belong to its key; ``factors``, int64[3, words], random.
        line: structured [plies], the current line of play.
        words: the same memory, uint32[plies, words].
        workers: `WORKER` [1]; its ``nodes`` count every action played.
        frames: `FRAME` [plies].
        children: `CHILD` [plies, A].
        target: the value asked about.
        budget: how many positions to search.

    Returns:
        Whether the question is answered; ``frames[0].low`` and ``high`` then bound the value.
    """
    tables = setting[0]
    transpositions = setting[2]
    worker = workers[0]
    ply = worker.ply
    nodes = worker.nodes
    end = nodes + budget
    while True:
        frame = frames[ply]
        second, contested = weigh(frame, children[ply])
        if frame.proof >= frame.proof_limit or frame.disproof >= frame.disproof_limit:
            keep(transpositions, frame, nodes)
            if ply == 0:
                break
            ply -= 1
            child = children[ply, frames[ply].chosen]
            note(child, frame.low, frame.high, frame.proof, frame.disproof, target)
        elif nodes >= end:
            worker.ply = ply
            worker.nodes = nodes
            return False
        else:
            child = children[ply, frame.chosen]
            below = frames[ply + 1]
            limit(frame, child, second, contested, below)
            play(tables[0], line, ply, child.action)
            ply += 1
            below.start = nodes
            nodes += 1 + expand(setting, line, words, ply, below, children[ply], target)
    worker.ply = 0
    worker.nodes = nodes
    return True
