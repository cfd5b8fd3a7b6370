"""Evaluation cache: keeps the network's recent outputs by observation, to use them again.

The same position recurs through another order of moves, in another game of the batch, and in the
search of the next move, whose tree is part of the one before. The key is a hash of the observation,
so equal observations get equal outputs whatever the history of the position. The cache assumes
nothing about the game and does not mix values of different searches, as reusing the tree would.
Chess and Go engines call it the evaluation cache or neural-network cache.

The hash is multilinear (Carter and Wegman, "Universal classes of hash functions", 1979): the sum of
the observation's words, each times its own random number, modulo 2**64. Two observations of zeros
and ones collide with a probability of 2**-64 over the choice of these numbers; two others with one
of 2**(k - 64), where 2**k is the largest power of 2 that divides the differences of all their
words, which are folded before (see `hash_of`). So a table that holds a million entries and is
queried a billion times with zeros and ones errs with a probability below 0.0001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.envs.engine.rule import compiled
from ludarium.models.evaluation import Evaluation

NO_SLOT = -1
_WAYS = 4  # slots in which a key can be
LINE = 64  # bytes of a cache line of the processor
CLOCK, EMPTIED = range(2)

#: Slots in which a key can be: ``keys``, hashes of observations; ``stamps``, when each answer was
#: last used: answers with a stamp up to ``counts[EMPTIED]`` are void.
_SET = np.dtype([("keys", np.uint64, (_WAYS,)), ("stamps", np.int64, (_WAYS,))])


class Cache(NamedTuple):
    """Outputs of one network in S slots, for B searches in parallel with A actions.

    Attributes:
        words: uint32 [B, W], a view of the bits of the observations that the searches wait for.
        multipliers: uint64 [W], random numbers of the hash.
        asked: uint64 [B], hashes of these observations, see `set_request`.
        sets: structured [S / 4], keys and stamps of four slots each; one cache line per set.
        answers: an `Evaluation` of S rows.
        counts: int64 [2]: a clock, which counts how often answers were stored or used, and its time
            at the last emptying.
    """

    words: np.ndarray
    multipliers: np.ndarray
    asked: np.ndarray
    sets: np.ndarray
    answers: Evaluation
    counts: np.ndarray


def new_cache(observations: np.ndarray, num_actions: int, megabytes: float) -> Cache:
    """A cache for as many answers as fit in ``megabytes`` (of 2**20 bytes); 0 stores nothing.

    Args:
        observations: float32 [B, ...], into which the searches write their requests.
        num_actions: number of logits in an answer.
        megabytes: size of the table. Memory is taken only as answers come in.
    """
    words = observations.reshape(len(observations), -1).view(np.uint32)
    answer = 4 * (num_actions + 4)  # bytes: logits, win, draw and loss, score
    sets = int(megabytes * 2**20) // (_SET.itemsize + _WAYS * answer)
    rng = np.random.default_rng(20260101)
    return Cache(
        words=words,
        multipliers=rng.integers(2**64, size=words.shape[1], dtype=np.uint64),
        asked=np.zeros(len(words), np.uint64),
        sets=_in_lines(sets, _SET),
        answers=Evaluation.empty(sets * _WAYS, num_actions),
        counts=np.zeros(2, np.int64),
    )


def _in_lines(count: int, dtype: np.dtype) -> np.ndarray:
    """An array of zeros that is aligned to a cache line."""
    room = np.zeros(count * dtype.itemsize + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + count * dtype.itemsize].view(dtype)


def empty(cache: Cache) -> None:
    """Remove all entries in constant time, for example after a change of the network."""
    cache.counts[EMPTIED] = cache.counts[CLOCK]


@compiled
def hash_of(words, multipliers):
    """The key of an observation, uint64.

    Before the multiplication, the words' high bits are folded onto the low ones. The low bits are
    all 0 in floating-point numbers like 1.0, and would make the low bits of the sum 0 too.
    """
    total = np.uint64(0)
    for index in range(len(multipliers)):
        word = np.uint64(words[index])
        total += (word ^ (word >> np.uint64(23))) * multipliers[index]
    return total


@compiled
def set_of(cache, key):
    """The number of the set that a key belongs to."""
    # floor(high half of the key * sets / 2**32): all sets are equally likely, without a division
    return int(((key >> np.uint64(32)) * np.uint64(len(cache.sets))) >> np.uint64(32))


@compiled
def set_request(cache, search):
    """Store the hash of the observation that ``search`` waits for; ``words`` must hold it."""
    if len(cache.sets) > 0:
        cache.asked[search] = hash_of(cache.words[search], cache.multipliers)


@compiled
def lookup(cache, search):
    """The slot with the network's output for the observation of ``search``, or NO_SLOT."""
    if len(cache.sets) == 0:
        return NO_SLOT
    key = cache.asked[search]
    number = set_of(cache, key)
    slots = cache.sets[number]
    for way in range(_WAYS):
        if slots.keys[way] == key and slots.stamps[way] > cache.counts[EMPTIED]:
            cache.counts[CLOCK] += 1  # it is now the latest in use
            slots.stamps[way] = cache.counts[CLOCK]
            return number * _WAYS + way
    return NO_SLOT


@compiled
def store(cache, search, evaluation, row):
    """Store a row of an `Evaluation` as the answer to the observation of ``search``.

    It replaces the answer with the same key, or else the least recently used slot of the key's set.
    """
    if len(cache.sets) == 0:
        return
    key = cache.asked[search]
    number = set_of(cache, key)
    slots = cache.sets[number]
    # The slot with this key, or else the one with the oldest stamp.
    chosen = 0
    for way in range(_WAYS):
        if slots.keys[way] == key and slots.stamps[way] > cache.counts[EMPTIED]:
            chosen = way
            break
        if slots.stamps[way] < slots.stamps[chosen]:
            chosen = way
    cache.counts[CLOCK] += 1
    slots.stamps[chosen] = cache.counts[CLOCK]
    slots.keys[chosen] = key
    slot = number * _WAYS + chosen
    answers = cache.answers
    for action in range(answers.logits.shape[1]):
        answers.logits[slot, action] = evaluation.logits[row, action]
    for outcome in range(3):
        answers.wdl[slot, outcome] = evaluation.wdl[row, outcome]
    answers.score[slot] = evaluation.score[row]


@compiled
def stored(cache, slot):
    """The answer in a slot: logits [A], probabilities [3], score."""
    answers = cache.answers
    return answers.logits[slot], answers.wdl[slot], answers.score[slot]
