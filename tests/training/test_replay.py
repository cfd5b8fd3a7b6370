"""The replay: what it keeps, what it gives, and that it holds it once."""

from __future__ import annotations

import numpy as np
import pytest

from ludarium.training.alphazero.replay import ReplayBuffer

DTYPE = np.dtype([("number", np.int64), ("policy", np.float16, (5,))], align=True)


def numbered(first: int, count: int) -> np.ndarray:
    samples = np.zeros(count, DTYPE)
    samples["number"] = np.arange(first, first + count)
    return samples


def contents(replay: ReplayBuffer) -> list[int]:
    return replay[np.arange(len(replay))]["number"].tolist()


def test_it_keeps_the_latest_positions_whatever_the_sizes_of_chunk_and_window():
    rng = np.random.default_rng(1)
    replay, played = ReplayBuffer(DTYPE, 50), 0
    for iteration in range(1, 400):
        count, window = int(rng.integers(0, 70)), int(rng.integers(1, 51))
        before = contents(replay)
        replay.add(iteration, numbered(played, count), window)
        expected = [*before, *range(played, played + count)][-window:]
        assert contents(replay) == expected
        played += count
        assert sum(length for _, length in replay.chunks) == len(replay) == len(expected)
        assert sorted(replay.chunks) == list(replay.chunks)


def test_draws_are_uniform_and_those_of_the_positions_in_order():
    replay = ReplayBuffer(DTYPE, 40)
    for iteration in range(1, 6):
        replay.add(iteration, numbered(15 * iteration, 15), 40)
    drawn = replay.draw(20_000, np.random.default_rng(3))["number"]
    in_order = np.array(contents(replay))
    np.testing.assert_array_equal(
        drawn, in_order[np.random.default_rng(3).integers(40, size=20_000)]
    )
    counts = np.bincount(drawn - in_order[0])
    assert (np.abs(counts - 500) < 5 * np.sqrt(500)).all()


def test_a_restored_one_holds_the_same():
    replay, chunks = ReplayBuffer(DTYPE, 40), {}
    for iteration, count in enumerate((30, 0, 25, 7, 12), start=1):
        chunks[iteration] = numbered(100 * iteration, count)
        replay.add(iteration, chunks[iteration], 15 + 5 * iteration)
    again = ReplayBuffer(DTYPE, 40)
    again.restore(list(replay.chunks), chunks.__getitem__)
    assert contents(again) == contents(replay)
    assert again.chunks == replay.chunks


@pytest.mark.parametrize(
    ("chunk", "count", "message"),
    [
        (numbered(0, 5), 6, "chunk 1 of the replay: 6 of 5 positions are needed"),
        (numbered(0, 99), 41, "41 of 99 positions are needed, and there is room for 40"),
        (numbered(0, 5), -1, "-1 of 5 positions are needed"),
        (np.zeros(5, np.int64), 5, "another kind"),
    ],
)
def test_chunks_that_do_not_fit_are_refused(chunk, count, message):
    with pytest.raises(ValueError, match=message):
        ReplayBuffer(DTYPE, 40).restore([(1, count)], lambda _: chunk)


def test_memory_is_taken_as_it_fills_and_once():
    """64 MiB of positions in a buffer for 64 times as many."""
    import resource

    count = (64 << 20) // DTYPE.itemsize
    chunk = numbered(0, count // 8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    replay = ReplayBuffer(DTYPE, 64 * count)
    for iteration in range(1, 9):
        replay.add(iteration, chunk, 64 * count)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert len(replay) == 8 * len(chunk)
    assert grown < 1.25 * (64 << 10)


def test_more_than_there_is_memory_for_is_refused():
    with pytest.raises(
        ValueError, match=r"replay\.last: 1,000,000,000,000,000 positions take .*Gi"
    ):
        ReplayBuffer(DTYPE, 10**15)
