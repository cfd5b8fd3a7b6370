"""`GroupedPlay`: groups of games, which threads advance in `Turns` until all have played enough.

There is one group more than there are threads, and a free thread always takes the group that is
furthest behind. So all groups finish at the same time, however fast each core is, and no thread
waits for another: while one runs the network for a group, others run the searches of theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec
import numpy as np
import torch

from ludarium.configs.schema import SelfPlay
from ludarium.envs.engine.threads import split
from ludarium.models import Evaluator
from ludarium.models.inference import torch_threads
from ludarium.training.runs.state import flatten, unflatten


class GroupOfGames(Protocol):
    """Games that are advanced together; their answers from the network come in one batch."""

    @property
    def observations(self) -> np.ndarray:
        """float32 [B, *observation_shape], with room for the largest batch."""

    @property
    def positions(self) -> int:
        """Positions recorded so far."""

    @property
    def is_full(self) -> bool:
        """Whether they have played enough."""

    def step(self, evaluate: Evaluator) -> None:
        """Evaluate what waits for the network, and play on until all games wait again."""

    def state(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs to continue exactly here."""

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Load what `state` returned; ``ValueError`` if it is of other games."""


Group = TypeVar("Group", bound=GroupOfGames)


class GroupedPlay(Generic[Group]):
    """Groups of games, advanced by threads that divide torch's threads between them.

    Args:
        new_group: makes a group with this seed.
        threads: number of groups that are advanced at the same time.
        seed: of the games.

    Attributes:
        groups: as many as `number_of_groups` says.
        batch: the largest batch for the network.
        torch_threads_each: torch's threads in each thread.
    """

    def __init__(
        self,
        new_group: Callable[[np.random.SeedSequence], Group],
        threads: int,
        seed: np.random.SeedSequence,
    ) -> None:
        self.groups = [new_group(own) for own in seed.spawn(number_of_groups(threads))]
        self.batch = len(self.groups[0].observations)
        self.threads = threads
        self.torch_threads_each = torch_threads_each(threads)

    def take_turns(
        self, evaluate: Evaluator, progress: Callable[[int], None] | None = None
    ) -> None:
        """One round of play of all groups, which have begun a chunk; see `Turns`."""
        Turns(self.groups, self.threads, evaluate, progress).run()

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of all groups, ``number.name`` for each."""
        return flatten(dict(enumerate(group.state() for group in self.groups)))

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` gave; ``ValueError`` or ``KeyError`` if it is of other games."""
        for number, group in enumerate(self.groups):
            group.restore(unflatten(arrays, number))


def number_of_groups(threads: int) -> int:
    """One more than threads; a single one for a single thread."""
    return threads + 1 if threads > 1 else 1


def share_of_group(config: SelfPlay, threads: int) -> SelfPlay:
    """The configuration of one of the groups: its games, positions and megabytes of cache."""
    count = number_of_groups(threads)
    return msgspec.structs.replace(
        config,
        games=max(1, config.games // count),
        positions=max(1, config.positions // count),
        cache=config.cache / count,
    )


class Turns(Generic[Group]):
    """One round of play of all groups.

    Args:
        groups: that have begun a chunk.
        threads: that advance groups at the same time; they divide torch's threads between them.
        evaluate: the network.
        progress: called from time to time with the number of new positions.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        threads: int,
        evaluate: Evaluator,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.threads = threads
        self.torch_threads_each = torch_threads_each(threads)
        self._evaluate = evaluate
        self._progress = progress
        self._waiting = list(groups)
        self._lock = threading.Lock()
        self._has_failed = False

    def run(self) -> None:
        """Play until every group is full."""
        with torch_threads(self.torch_threads_each):
            split(lambda *_: self._take(), self.threads, self.threads)

    def _take(self) -> None:
        """As long as a group waits, a step of the one that is furthest behind."""
        torch.set_num_threads(self.torch_threads_each)  # of this thread, which others use too
        group: Group | None = None
        try:
            while (group := self._next(group)) is not None:
                before = group.positions
                group.step(self._evaluate)
                if self._progress is not None and group.positions > before:
                    self._progress(group.positions - before)
        except BaseException:
            self._has_failed = True  # the other threads need not go on
            raise

    def _next(self, group: Group | None) -> Group | None:
        """Put a group back, unless it is full, and take the one that is furthest behind."""
        with self._lock:
            if group is not None and not group.is_full:
                self._waiting.append(group)
            if self._has_failed or not self._waiting:
                return None
            group = min(self._waiting, key=lambda each: each.positions)
            self._waiting.remove(group)
            return group


def torch_threads_each(threads: int) -> int:
    """Torch's threads in each of the threads that advance groups."""
    return max(1, torch.get_num_threads() // threads)
