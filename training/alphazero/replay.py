"""The replay buffer: the latest positions, from which the learner draws its batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from .samples import with_fields


class ReplayBuffer:
    """A ring buffer of positions.

    The buffer is allocated at full capacity; the system provides the memory as it fills. The
    window, the number of positions that are kept, may change with every `add`. Each `add` adds a
    chunk, the positions of one iteration; the oldest positions leave first.

    Args:
        dtype: dtype of the positions, see `VariantPacker.dtype`.
        capacity: the largest window.

    Attributes:
        chunks: iteration and number of positions of each chunk, the oldest first; the oldest
            may have only its latest positions left.

    Raises:
        ValueError: the system cannot reserve memory for ``capacity`` positions.
    """

    def __init__(self, dtype: np.dtype, capacity: int) -> None:
        try:
            self._ring = np.empty(capacity, dtype)
        except MemoryError:
            gibibytes = capacity * dtype.itemsize / 2**30
            raise ValueError(
                f"replay.last: {capacity:,} positions take {gibibytes:,.1f} GiB of memory, more "
                "than there is"
            ) from None
        self._start = 0  # index of the oldest position
        self._length = 0
        self.chunks: deque[tuple[int, int]] = deque()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, places: np.ndarray) -> np.ndarray:
        """A copy of the positions at indices int64 [N], 0 the oldest; structured [N]."""
        return self._ring[(self._start + places) % len(self._ring)]

    def add(self, iteration: int, samples: np.ndarray, window: int) -> None:
        """Add the positions of an iteration, and keep the latest ``window`` positions.

        Args:
            iteration: the iteration's number.
            samples: structured [N], of the buffer's dtype.
            window: how many of the latest positions, from 1 to the capacity.
        """
        samples = samples[-window:]
        self._forget(self._length + len(samples) - window)
        end = (self._start + self._length) % len(self._ring)
        before_edge = min(len(samples), len(self._ring) - end)
        self._ring[end : end + before_edge] = samples[:before_edge]
        self._ring[: len(samples) - before_edge] = samples[before_edge:]
        self._length += len(samples)
        self.chunks.append((iteration, len(samples)))

    def _forget(self, count: int) -> None:
        """Drop ``count`` of the oldest positions; none if ``count`` is negative."""
        count = max(0, count)
        self._start = (self._start + count) % len(self._ring)
        self._length -= count
        while count:
            iteration, length = self.chunks.popleft()
            if length > count:
                self.chunks.appendleft((iteration, length - count))
            count -= min(count, length)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Sample ``count`` positions uniformly, with replacement; structured [count]."""
        return self[rng.integers(self._length, size=count)]

    def restore(self, chunks: list[tuple[int, int]], load: Callable[[int], np.ndarray]) -> None:
        """Fill an empty buffer with the chunks of a saved one.

        Args:
            chunks: the attribute ``chunks`` of the saved buffer.
            load: function that returns all positions of an iteration; from a memory-mapped file
                only those that are kept are read.

        Raises:
            ValueError: a chunk has fields that the buffer lacks or has with another dtype, or fewer
                positions than it should, or they do not all fit.
        """
        for iteration, count in chunks:
            samples = load(iteration)
            room = len(self._ring) - self._length
            if not 0 <= count <= min(len(samples), room):
                raise ValueError(
                    f"chunk {iteration} of the replay: {count:,} of {len(samples):,} positions are "
                    f"needed, and there is room for {room:,}"
                )
            if count:
                samples = with_fields(samples[-count:], self._ring.dtype)
                self.add(iteration, samples, len(self._ring))
            else:
                self.chunks.append((iteration, 0))
