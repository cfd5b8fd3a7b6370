"""The building blocks of rule functions: the decorator, outcomes, random numbers.

A rule function works on one position. It is plain Python, and compiled for this and other
processors, so inside it there is no allocation, no exception, no array expression, no
recursion and no Python randomness; integers are computed as plain ``int``, or as ``uint64`` (see
`ludarium.envs.engine.bits`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from ludarium.machine.marks import inlined, part

#: Marks a rule function. Compiled, it becomes part of the body of each rule that calls it; how
#: kernels call one is up to `compile.recipe_of`.
rule = inlined

#: The same for functions that are large or called in many places: the compiler decides on inlining.
compiled = part


# Values of state.outcome. Rewards are +1/-1, or 0/0 for the last two.
ONGOING = 0
PLAYER_0_WINS = 1
PLAYER_1_WINS = 2
DRAW = 3  # a draw by the rules: a termination
TRUNCATED = 4  # the ply cap was reached: a draw, reported as a truncation

#: How a game ended, in words.
RESULTS = {
    PLAYER_0_WINS: "player_0 has won",
    PLAYER_1_WINS: "player_1 has won",
    DRAW: "drawn",
    TRUNCATED: "drawn at the ply cap",
}

_LOW_32 = 0xFFFFFFFF
_ONE = np.uint64(1)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def state_dtype(
    *fields: tuple, scratch: tuple[str, ...] = (), log: tuple[str, ...] = ()
) -> np.dtype:
    """Structured dtype of one position: the fields that every game has, then the game's own.

    The common fields are ``ply`` (actions played so far), ``mover`` (index of the agent to
    act, 0 or 1; without meaning when the game is over) and ``outcome`` (constants above).
    Attribute access works in plain Python too, because the record type is ``np.record``.

    Args:
        fields: name, type and perhaps shape of each of the game's own fields.
        scratch: those that are working room, all zero between plies.
        log: those that only tell how the position arose, for pictures: they decide nothing. Exact
            search treats positions that differ only there as equal.

    Raises:
        ValueError: ``scratch`` or ``log`` names a field that is not among ``fields``; or see
            `record_dtype`.
    """
    common = [("ply", np.int32), ("mover", np.int8), ("outcome", np.int8)]
    own = [name for name, *_ in fields]
    for title, names in (("scratch", scratch), ("log", log)):
        for name in names:
            if name not in own:
                raise ValueError(f"{title} names {name!r}; the game's own fields are {own}")
    return record_dtype(*common, *fields, scratch=tuple(scratch), log=tuple(log))


def declared_fields(dtype: np.dtype, kind: str) -> tuple[str, ...]:
    """The fields that `state_dtype` has declared as ``"scratch"`` or ``"log"``."""
    declared: Mapping[str, Any] = dtype.metadata or {}
    names: tuple[str, ...] = declared.get(kind, ())
    return names


def undeclared(dtype: np.dtype) -> np.dtype:
    """The same dtype without its metadata, of which numpy warns when arrays are saved."""
    return record_dtype(*((name, field[0]) for name, field in (dtype.fields or {}).items()))


@cache
def record_dtype(*fields: tuple, **declared: tuple[str, ...]) -> np.dtype:
    """A structured dtype whose records have their fields as attributes in plain Python too.

    Equal fields give the same object: calls of compiled code then need not compare them. What is
    ``declared`` of fields is the dtype's ``metadata``.

    Raises:
        ValueError: a field has the name of something that every numpy record has, such as
            ``size``: plain Python would read something else than compiled code.
    """
    for name, *_ in fields:
        if hasattr(np.record, name):
            raise ValueError(
                f"a field cannot be called {name!r}, because every record of numpy has that; "
                "choose another name"
            )
    metadata: Any = {"metadata": declared} if declared else {}  # numpy warns even of an empty one
    plain = np.dtype(list(fields), align=True, **metadata)
    return np.dtype((np.record, plain))


def table_record(**values: object) -> np.ndarray:
    """Constants of one option set, structured [1]: rules read ``tables.neighbours[cell, k]``.

    Each value is an integer or an array; arrays keep their dtype and shape. An integer becomes
    int64, or uint64 if it is a ``np.uint64`` (see `ludarium.envs.engine.bits`) or above 2**63 - 1.

    Raises:
        ValueError: a value is neither, an array is not of numbers, or see `record_dtype`.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    fields = [(name, _table_type(name, array), array.shape) for name, array in arrays.items()]
    record = np.zeros(1, record_dtype(*fields))
    for name, array in arrays.items():
        record[name][0] = array
    return record


def _table_type(name: str, array: np.ndarray) -> np.dtype:
    """The dtype of a table; ``ValueError`` unless it is an integer or an array of numbers."""
    is_number = array.dtype.kind in ("biu" if array.ndim == 0 else "biuf")
    if not is_number:
        raise ValueError(
            f"the table {name} is {array!r:.80}; give an integer below 2**64, or an array of "
            "numbers: float32 for fractions"
        )
    return array.dtype if array.ndim or array.dtype == np.uint64 else np.dtype(np.int64)


def extended_record(record: np.ndarray, **values: object) -> np.ndarray:
    """A copy of a record of `table_record` with more fields; raises as that does."""
    known = {name: record[name][0] for name in record.dtype.names or ()}
    return table_record(**known, **values)


@rule
def reward(outcome, player):
    """Final reward of ``player`` (0 or 1): +1, -1, or 0 for a draw or an unfinished game."""
    if outcome == PLAYER_0_WINS:
        return 1 - 2 * player
    if outcome == PLAYER_1_WINS:
        return 2 * player - 1
    return 0


@rule
def random_bits(rng):
    """32 random bits as an ``int``; ``rng`` is int64[2], each word below 2**32, not both zero.

    The generator is xoroshiro64* (Blackman and Vigna, "Scrambled Linear Pseudorandom Number
    Generators", 2018), written so that plain Python and compiled code give the same numbers.
    """
    s0 = int(rng[0])
    s1 = int(rng[1])
    bits = (s0 * 0x9E3779BB) & _LOW_32
    s1 ^= s0
    rng[0] = ((s0 << 26) & _LOW_32 | s0 >> 6) ^ s1 ^ ((s1 << 9) & _LOW_32)
    rng[1] = (s1 << 13) & _LOW_32 | s1 >> 19
    return bits


@rule
def random_below(rng, bound):
    """A random ``int`` in ``range(bound)``, where ``bound`` is from 1 to 2**31.

    Each comes with a probability that differs from ``1 / bound`` by less than ``2**-32``.
    """
    return random_bits(rng) * bound >> 32


@rule
def scrambled(seed, number):
    """The ``number``-th output, from 1 on, of SplitMix64 started at ``seed``; 1 in place of 0.

    Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014. All are
    ``uint64``; in plain Python ``number``, and so the answer, may be an array of them.
    """
    bits = seed + _STEP * number
    bits = (bits ^ (bits >> np.uint64(30))) * _MIXERS[0]
    bits = (bits ^ (bits >> np.uint64(27))) * _MIXERS[1]
    bits = bits ^ (bits >> np.uint64(31))
    return bits | np.uint64(bits == np.uint64(0))


@rule
def seed_stream(rng, seed):
    """Write the row ``seed_rng(seed)[0]`` into ``rng``; ``seed`` is an ``int`` below 2**63."""
    bits = scrambled(np.uint64(seed), _ONE)
    rng[0] = bits & np.uint64(_LOW_32)
    rng[1] = bits >> np.uint64(32)


def seed_rng(seed: int | np.random.SeedSequence | None, count: int = 1) -> np.ndarray:
    """Generator states for ``count`` independent streams, int64[count, 2].

    Args:
        seed: an integer from 0 to 2**64 - 1; anything else that numpy's ``SeedSequence`` accepts,
            such as None, is turned into such a number.
        count: number of streams.

    Raises:
        ValueError, TypeError: numpy's ``SeedSequence`` does not accept ``seed``.
    """
    if isinstance(seed, int | np.integer) and 0 <= seed < 2**64:
        bits = np.uint64(seed)
    else:
        spread = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        bits = spread.generate_state(1, np.uint64)[0]
    bits = scrambled(bits, np.arange(1, count + 1, dtype=np.uint64))
    return np.stack([bits & np.uint64(_LOW_32), bits >> np.uint64(32)], axis=1).astype(np.int64)


@rule
def clear(planes):
    """Set a whole observation to 0, for games that then write only the other entries."""
    for plane in range(planes.shape[0]):
        for cell in range(planes.shape[1]):
            planes[plane, cell] = 0
