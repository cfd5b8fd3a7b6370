"""Splits work on many games over a few threads: kernels leave the GIL, so they run at once.

numba's own parallel loops are not used: their default layer kills a process forked after one,
another aborts when two threads start loops at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import pairwise

#: Works on games ``begin`` to ``end``.
Share = Callable[[int, int], object]


def available_cores() -> int:
    """How many processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def split(share: Share, count: int, threads: int) -> None:
    """Run ``share(begin, end)`` over ``range(count)``, cut into ``threads`` even parts.

    The caller does the first part. One call at a time has the threads; another, from a second
    Python thread or from within a share, does all its parts itself.

    Raises:
        BaseException: what a share raised; all shares have ended by then.
    """
    bounds = [count * part // threads for part in range(threads + 1)]
    parts = list(pairwise(bounds))
    if threads > 1 and _team.is_free.acquire(blocking=False):
        try:
            _team.run(share, parts)
        finally:
            _team.is_free.release()
    else:
        for begin, end in parts:
            share(begin, end)


class _Worker(threading.Thread):
    """Waits for a share, does it, says so, again and again."""

    def __init__(self) -> None:
        super().__init__(name="ludarium worker", daemon=True)
        self.share: Share | None = None
        self.part = (0, 0)
        self.error: BaseException | None = None
        self.is_given = threading.Lock()
        self.is_given.acquire()
        self.is_done = threading.Lock()
        self.is_done.acquire()
        self.start()

    def run(self) -> None:
        while True:
            self.is_given.acquire()
            try:
                assert self.share is not None
                self.share(*self.part)
            except BaseException as error:  # handed to the caller
                self.error = error
            self.share = None
            self.is_done.release()

    def give(self, share: Share, part: tuple[int, int]) -> None:
        self.share, self.part, self.error = share, part, None
        self.is_given.release()

    def wait(self) -> BaseException | None:
        """Wait for the end of the share, come what may; return what went wrong."""
        interruption = None
        while True:
            try:
                self.is_done.acquire()
                return self.error or interruption
            except BaseException as error:  # such as KeyboardInterrupt
                interruption = error


class _Team:
    """The workers of this process, engaged when first needed."""

    def __init__(self) -> None:
        self.is_free = threading.Lock()
        self.workers: list[_Worker] = []

    def run(self, share: Share, parts: list[tuple[int, int]]) -> None:
        while len(self.workers) < len(parts) - 1:
            self.workers.append(_Worker())
        busy = []
        errors: list[BaseException | None] = []
        try:
            for worker, part in zip(self.workers, parts[1:], strict=False):
                worker.give(share, part)
                busy.append(worker)
            share(*parts[0])
        except BaseException as error:
            errors.append(error)
        errors += [worker.wait() for worker in busy]
        for problem in errors:
            if problem is not None:
                raise problem


_team = _Team()


def _forget_team() -> None:
    """A forked child has none of its parent's threads."""
    global _team
    _team = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)
