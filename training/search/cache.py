"""A memory of the network's answers: what was asked before needs not be asked again.

A position comes up again by another order of the same moves, in another game side by side, and
in the search of the next move, whose tree is part of the one before. The key is a hash of the
observation, so equal observations get equal answers whatever the position's history; nothing
is assumed of the game, and no value is averaged over other searches, as it is when a tree is
kept. Chess and Go engines call it the evaluation or neural-network cache.

The hash is multilinear (Carter and Wegman, "Universal classes of hash functions", 1979): the
sum of the observation's words, each times a random number of its own, modulo 2**64. Whatever
the two observations, they collide for one choice of these numbers in about 2**60, so a table
that is asked a billion times while it holds a million answers errs with probability 0.001.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ludarium.envs.engine.rule import compiled

NO_SLOT = -1
_WAYS = 4  # slots that a key can be in
CLOCK, EMPTIED = range(2)


class Cache(NamedTuple):
    """Answers of one network in S slots, for B searches side by side with A actions.

    Attributes:
        words: uint32 [B, W], the observations that the searches wait for, bit by bit: a view.
        multipliers: uint64 [W], of the hash.
        keys: uint64 [S], hash of the observation.
        stamps: int64 [S], when the answer was last used; one as old as ``EMPTIED`` is void.
        logits: float32 [S, A].
        values: float32 [S].
        counts: int64 [2]: the time, in answers used, and when the cache was emptied.
    """

    words: np.ndarray
    multipliers: np.ndarray
    keys: np.ndarray
    stamps: np.ndarray
    logits: np.ndarray
    values: np.ndarray
    counts: np.ndarray


def new_cache(observations: np.ndarray, num_actions: int, megabytes: float) -> Cache:
    """Room for as many answers as fit in ``megabytes`` (of 2**20 bytes); 0 remembers nothing.

    Args:
        observations: float32 [B, ...], where the searches write what they ask about.
        num_actions: length of an answer.
        megabytes: size of the table. Memory is only taken as answers come in.
    """
    words = observations.reshape(len(observations), -1).view(np.uint32)
    bytes_each = 8 + 8 + 4 + 4 * num_actions
    slots = int(megabytes * 2**20) // (bytes_each * _WAYS) * _WAYS
    rng = np.random.default_rng(20260101)
    return Cache(
        words=words,
        multipliers=rng.integers(2**64, size=words.shape[1], dtype=np.uint64),
        keys=np.zeros(slots, np.uint64),
        stamps=np.zeros(slots, np.int64),
        logits=np.zeros((slots, num_actions), np.float32),
        values=np.zeros(slots, np.float32),
        counts=np.zeros(2, np.int64),
    )


def empty(cache: Cache) -> None:
    """Forget all answers, as after a change of the network; takes no time."""
    cache.counts[EMPTIED] = cache.counts[CLOCK]


@compiled
def hash_of(words, multipliers):
    """The key of an observation, uint64.

    Before they are multiplied, the words' high bits are folded onto the low ones, which in
    floating-point numbers like 1.0 are all 0 and would leave the sum's low bits so.
    """
    total = np.uint64(0)
    for index in range(len(multipliers)):
        word = np.uint64(words[index])
        total += (word ^ (word >> np.uint64(23))) * multipliers[index]
    return total


@compiled
def first_slot(cache, key):
    """The first of the slots that a key can be in."""
    sets = np.uint64(len(cache.keys) // _WAYS)
    return int(((key >> np.uint64(32)) * sets) >> np.uint64(32)) * _WAYS


@compiled
def find(cache, search):
    """The slot with the answer to what ``search`` waits for, or NO_SLOT."""
    if len(cache.keys) == 0:
        return NO_SLOT
    key = hash_of(cache.words[search], cache.multipliers)
    first = first_slot(cache, key)
    for slot in range(first, first + _WAYS):
        if cache.keys[slot] == key and cache.stamps[slot] > cache.counts[EMPTIED]:
            cache.counts[CLOCK] += 1
            cache.stamps[slot] = cache.counts[CLOCK]
            return slot
    return NO_SLOT


@compiled
def remember(cache, search, logits, value):
    """Keep the answer to what ``search`` waited for, in the place of the one not used longest."""
    if len(cache.keys) == 0:
        return
    key = hash_of(cache.words[search], cache.multipliers)
    first = first_slot(cache, key)
    chosen = first
    for slot in range(first, first + _WAYS):
        if cache.keys[slot] == key and cache.stamps[slot] > cache.counts[EMPTIED]:
            chosen = slot
            break
        if cache.stamps[slot] < cache.stamps[chosen]:
            chosen = slot
    cache.counts[CLOCK] += 1
    cache.stamps[chosen] = cache.counts[CLOCK]
    cache.keys[chosen] = key
    cache.values[chosen] = value
    for action in range(len(logits)):
        cache.logits[chosen, action] = logits[action]
