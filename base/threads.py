"""Threads for compiled kernels, which release the GIL: one pool, two ways to share work.

- `parallel_for` cuts a range into even parts, one for each thread. The caller does the first part.
  Threads are woken by locks and poll nothing, because some callers divide work thousands of times a
  second: batches of games, observations for a network, a layer of a retrograde analysis.
- `run_tasks` is for tasks of unequal length, from microseconds to minutes: each thread takes
  the next one when it is free. The caller watches, so that Ctrl-C and progress do not wait for a
  kernel to return.

Threads that divide work among themselves loop inside one `parallel_for` with as many parts as
threads: in self-play each takes the number of the next game, in a search of one tree the next
leaves.

The learner of AlphaZero has a pool of its own. Its threads run torch with one thread each, a
setting that belongs to the thread and takes time to change, and they divide thousands of steps.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from .progress import SILENT, Progress

#: Works on the items from ``begin`` to ``end``, which is not among them.
Share = Callable[[int, int], object]

Result = TypeVar("Result")

_POLL = 0.1  # seconds between two calls of ``watch``


_here = threading.local()


def available_cores() -> int:
    """How many processor cores this process may use; 1 within `one_core`."""
    if getattr(_here, "is_confined", False):
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_core() -> Iterator[None]:
    """A context in which the calling thread has one core: objects made there split no work.

    It is for callers that keep all cores busy with threads of their own, such as tournaments.
    """
    before = getattr(_here, "is_confined", False)
    _here.is_confined = True
    try:
        yield
    finally:
        _here.is_confined = before


def parallel_for(share: Share, count: int, threads: int) -> None:
    """Run ``share(begin, end)`` over ``range(count)``, cut into ``threads`` even parts.

    The caller does the first part. One call at a time uses the threads; another, from a second
    Python thread or from within a share, does all its parts itself.

    Args:
        share: called with the bounds of a part; where ``count`` is small, parts may be empty.
        count: number of items.
        threads: number of parts, at least 1.

    Raises:
        BaseException: what a share raised. No share runs any more by then, but some may never have
            begun.
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


def run_tasks(
    task: Callable[[int, int], Result],
    count: int,
    threads: int,
    progress: Progress = SILENT,
    watch: Callable[[int], object] | None = None,
) -> dict[int, Result]:
    """Run ``task(thread, number)`` for each number below ``count``, as threads become free.

    As with `parallel_for`, a call that finds the threads busy does everything itself; then
    ``progress`` and ``watch`` are asked between tasks only.

    Args:
        task: function called in the threads; ``thread`` is below ``threads``, and no two calls
            with the same ``thread`` run at once.
        count: number of tasks.
        threads: how many work at the same time, at most one for each task.
        progress: the progress of these tasks alone, such as a `Progress.part`. Once it is stopped,
            tasks begin for a tenth of a second at most. After an error, such as Ctrl-C, it is
            stopped here: tasks that look at it end soon, others are awaited. By default no task
            can look at it.
        watch: function called by the caller ten times a second with the number of finished tasks.

    Returns:
        The results by number; results of tasks that never began are missing.

    Raises:
        BaseException: the first error of a task, of ``watch`` or of ``progress``, such as
            `KeyboardInterrupt`; all tasks that began have ended by then.
    """
    results: dict[int, Result] = {}
    failures: list[BaseException] = []
    if progress is SILENT:
        progress = Progress()  # nobody may stop the other one
    numbers, lock = iter(range(count)), threading.Lock()
    is_closed, have_ended = threading.Event(), threading.Event()
    threads = working = min(threads, count)
    if not threads:
        return results

    def next_number() -> int | None:
        with lock:
            return None if is_closed.is_set() else next(numbers, None)

    def look_on() -> None:
        if watch is not None:
            watch(len(results))
        if progress.stopped:
            is_closed.set()

    def share(part: int, _: int) -> None:
        """Part 0 watches, the others work; alone, part 1 does both."""
        nonlocal working
        try:
            while not part and not have_ended.wait(_POLL):
                look_on()
            while part and (number := next_number()) is not None:
                results[number] = task(part - 1, number)
                if is_alone:
                    look_on()
        except BaseException as error:
            failures.append(error)  # before others fail because they are stopped
            is_closed.set()
            progress.stop()
        finally:
            with lock:
                working -= part > 0
                if not working:
                    have_ended.set()

    is_alone = not _team.is_free.acquire(blocking=False)
    if is_alone:
        share(1, 2)
    else:
        try:
            _team.run(share, [(part, part + 1) for part in range(threads + 1)])
        finally:
            _team.is_free.release()
    if failures:
        raise failures[0]
    return results


def results_of(task: Callable[[int, int], Result], count: int, threads: int) -> list[Result]:
    """The results of ``task(thread, number)`` in order, by `run_tasks`.

    A single task runs in the calling thread, so that it may divide its work among the others.
    """
    if count == 1:
        return [task(0, 0)]
    results = run_tasks(task, count, threads)
    return [results[number] for number in range(count)]


class _Worker(threading.Thread):
    """A thread that waits for a share of work, does it, reports, and waits again."""

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
        """Wait for the end of the share, even through interrupts; return what went wrong."""
        interruption = None
        while True:
            try:
                self.is_done.acquire()
                return self.error or interruption
            except BaseException as error:  # such as KeyboardInterrupt
                interruption = error


class _Team:
    """The worker threads of this process, started when first needed."""

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
    """Drop the threads in a forked child, which has none of its parent's threads."""
    global _team
    _team = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)
