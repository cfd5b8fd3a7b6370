"""The engine by itself: options, symmetries, random numbers, compiling and caching."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ludarium.envs import Option, Symmetries
from ludarium.envs.engine.batch_kernels import choose
from ludarium.envs.engine.draw import grid
from ludarium.envs.engine.options import check_options, ply_cap
from ludarium.envs.engine.rule import (
    random_below,
    random_bits,
    seed_rng,
    seed_stream,
    state_dtype,
    table_record,
)

# Options.

SIZE = Option("size", 9, range(5, 20, 2), "points on a side")
START = Option("start", "empty", ("empty", "corners", 3), "how the board is at first")
CAP = Option("max_plies", None, ply_cap, "draw after so many plies", "a positive integer or None")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (SIZE, 5),
        (SIZE, 19),
        (SIZE, np.int32(7)),
        (START, "corners"),
        (START, np.str_("empty")),
        (START, 3),
        (CAP, None),
        (CAP, 1),
        (CAP, 1_000_000),
    ],
)
def test_accepted_values_come_back_as_plain_python(option: Option, value: object) -> None:
    checked = option.check(value)
    assert checked == value
    assert type(checked) in (int, str, type(None))
    json.dumps(checked)


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        (SIZE, 6, "an integer from 5 to 19 in steps of 2"),
        (SIZE, 21, "an integer from 5 to 19 in steps of 2"),
        (SIZE, 9.0, "an integer from 5 to 19 in steps of 2"),
        (SIZE, True, "an integer from 5 to 19 in steps of 2"),
        (SIZE, "9", "an integer from 5 to 19 in steps of 2"),
        (START, "full", "one of 'empty', 'corners', 3"),
        (START, 3.0, "one of 'empty', 'corners', 3"),
        (START, np.array([3]), "one of 'empty', 'corners', 3"),
        (CAP, 0, "a positive integer or None"),
        (CAP, 1.5, "a positive integer or None"),
        (CAP, True, "a positive integer or None"),
        (CAP, "many", "a positive integer or None"),
    ],
)
def test_a_refused_value_is_told_with_the_accepted_ones(
    option: Option, value: object, accepted: str
) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 (the words are checked below)
        option.check(value)
    assert f"option '{option.name}' is {value!r}; accepted: {accepted}" in str(refusal.value)


def test_a_default_that_is_not_accepted_is_refused() -> None:
    with pytest.raises(
        ValueError, match="the default of option 'size' is 21; accepted: an integer from 5 to 19"
    ):
        Option("size", 21, range(5, 20, 2), "points on a side")
    with pytest.raises(ValueError, match="is 5; accepted: nothing, since range"):
        Option("size", 5, range(5, 5), "points on a side")
    assert type(Option("size", np.int64(5), range(5, 20, 2), "points on a side").default) is int


def test_options_of_a_game_are_completed_with_defaults() -> None:
    checked = check_options("made-up", (SIZE, START), {"start": "corners"})
    assert checked == {"size": 9, "start": "corners"}
    with pytest.raises(
        ValueError,
        match=r"made-up has no option 'sise' \(given 5\); did you mean size\?; options: si",
    ):
        check_options("made-up", (SIZE, START), {"sise": 5})
    with pytest.raises(ValueError, match="options: none"):
        check_options("made-up", (), {"size": 5})


# Symmetries and boards.


@pytest.mark.parametrize(
    ("actions", "observation", "reason"),
    [
        ([[0, 1, 2], [0, 1, 1]], [[0, 1], [1, 0]], "must be a permutation"),
        ([[0, 1, 2], [2, 1, 0]], [[0, 1], [1, 2]], "must be a permutation"),
        ([[2, 1, 0], [0, 1, 2]], [[0, 1], [1, 0]], "row 0 the identity"),
        ([[0, 1, 2], [2, 1, 0]], [[1, 0], [0, 1]], "row 0 the identity"),
        ([[0, 1, 2], [2, 1, 0]], [[0, 1]], "the same number"),
    ],
)
def test_symmetries_must_be_permutations_with_the_identity_first(
    actions: list, observation: list, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        Symmetries(np.array(actions), np.array(observation))


def test_cells_are_named_by_file_and_rank() -> None:
    assert [grid.cell_name(cell, 3) for cell in range(6)] == ["a1", "b1", "c1", "a2", "b2", "c2"]
    for cell in range(20 * 12):
        assert grid.read_cell(grid.cell_name(cell, 12), 12, 20) == cell
    for text in ("", "a", "1a", "a0", "a01", "aa1", "m1", "a21", "a1 ", "a\u0661"):
        with pytest.raises(ValueError, match="is malformed"):
            grid.read_cell(text, 12, 20)


def test_neighbours_share_an_edge() -> None:
    width, height = 5, 3
    neighbours = grid.orthogonal_neighbours(width, height)
    cells = [divmod(cell, width) for cell in range(width * height)]
    for cell, near in enumerate(neighbours):
        rank, file = cells[cell]
        others = {
            other
            for other, (other_rank, other_file) in enumerate(cells)
            if abs(rank - other_rank) + abs(file - other_file) == 1
        }
        assert set(near.tolist()) - {cell} == others
        assert len(near) == 4


def test_tables_keep_type_and_shape() -> None:
    tables = table_record(near=np.arange(6, dtype=np.int8).reshape(2, 3), count=7)
    assert tables[0].near.dtype == np.int8
    assert tables[0].near.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tables[0].count == 7


# Random numbers.


@pytest.mark.parametrize("name", ["size", "shape", "T", "copy"])
def test_fields_that_plain_python_would_misread_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"a field cannot be called '{name}'"):
        table_record(**{name: 3})
    with pytest.raises(ValueError, match=f"a field cannot be called '{name}'"):
        state_dtype((name, np.int8))


def test_random_numbers_are_the_same_in_plain_python() -> None:
    plain = getattr(random_bits, "py_func", random_bits)
    one, other = seed_rng(1)[0], seed_rng(1)[0]
    assert [random_bits(one) for _ in range(1000)] == [plain(other) for _ in range(1000)]
    assert (one == other).all()


def test_random_numbers_are_those_of_the_published_generator() -> None:
    """xoroshiro64*, told here with the 32-bit words of its authors."""

    def rotated(word: int, by: int) -> int:
        return (word << by | word >> (32 - by)) & 0xFFFFFFFF

    s0, s1 = 1, 2
    rng = np.array([1, 2], np.int64)
    for _ in range(100):
        assert random_bits(rng) == s0 * 0x9E3779BB % 2**32
        s1 ^= s0
        s0, s1 = rotated(s0, 26) ^ s1 ^ (s1 << 9) % 2**32, rotated(s1, 13)
        assert rng.tolist() == [s0, s1]


def test_random_numbers_spread_evenly_below_their_bound() -> None:
    rng = seed_rng(0)[0]
    counts = np.bincount([random_below(rng, 7) for _ in range(14000)])
    assert len(counts) == 7
    assert (abs(counts - 2000) < 5 * np.sqrt(2000)).all()


def test_seeds_give_independent_and_repeatable_streams() -> None:
    streams = seed_rng(5, 1000)
    assert (streams == seed_rng(5, 1000)).all()
    assert len(np.unique(streams, axis=0)) == 1000
    assert (streams != seed_rng(6, 1000)).any()
    assert (streams >= 0).all()
    assert (streams < 2**32).all()


@pytest.mark.parametrize("seed", [0, 1234567, 2**53 - 1])
def test_one_stream_is_seeded_as_many_are(seed: int) -> None:
    rng = np.zeros(2, np.int64)
    with np.errstate(over="ignore"):
        seed_stream(rng, seed)
    assert rng.tolist() == seed_rng(seed)[0].tolist()


def test_seeds_go_through_the_published_generator() -> None:
    """SplitMix64, by the first numbers that its authors' code gives for this seed."""
    low, high = seed_rng(1234567, 3).T.tolist()
    numbers = [one + (other << 32) for one, other in zip(low, high, strict=True)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_any_seed_of_numpy_is_one() -> None:
    assert len({tuple(seed_rng(seed)[0]) for seed in (2**64 - 1, 2**64, 2**128 - 1)}) == 3
    sequence = np.random.SeedSequence(5)
    assert (seed_rng(sequence) == seed_rng(np.random.SeedSequence(5))).all()
    with pytest.raises(ValueError, match="non-negative"):
        seed_rng(-1)


def test_choose_takes_the_legal_action_that_the_random_bits_say() -> None:
    random = np.random.default_rng(0)
    for size in (1, 2, 7, 8, 9, 16, 25, 64, 81, 361):
        for density in (0.02, 0.5, 1):
            mask = (random.random(size) < density).astype(np.int8)
            mask[random.integers(size)] = 1
            legal = np.flatnonzero(mask)
            for bits in (0, 2**31, 2**32 - 1, *random.integers(2**32, size=40)):
                assert choose(mask, int(bits)) == legal[int(bits) * len(legal) >> 32]
