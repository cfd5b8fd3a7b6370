"""`run_tasks`: a queue of tasks for the standing team of threads."""

from __future__ import annotations

import threading
import time

import pytest

from ludarium.base.progress import SILENT, Progress
from ludarium.base.threads import available_cores, one_core, parallel_for, results_of, run_tasks


@pytest.mark.parametrize(("count", "threads"), [(0, 2), (1, 4), (7, 1), (20, 3)])
def test_every_task_is_done_once(count: int, threads: int) -> None:
    done: list[int] = []

    def task(thread: int, number: int) -> int:
        assert 0 <= thread < threads
        done.append(number)
        return number * number

    found = run_tasks(task, count, threads)
    assert found == {number: number * number for number in range(count)}
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_results_are_in_order_and_a_single_task_is_the_callers(count: int) -> None:
    results = results_of(lambda _, number: (number, threading.get_ident()), count, 3)
    assert [number for number, _ in results] == list(range(count))
    assert count != 1 or results[0][1] == threading.get_ident()


def test_a_free_thread_takes_the_next_task() -> None:
    released = threading.Event()
    workers: dict[int, int] = {}

    def task(thread: int, number: int) -> None:
        workers[number] = thread
        if number == 0:
            assert released.wait(300)
        elif number == 9:
            released.set()

    run_tasks(task, 10, 2)
    assert {workers[number] for number in range(1, 10)} == {1 - workers[0]}


def until_stopped(progress: Progress) -> None:
    """Wait as a long task does, but not for ever."""
    end = time.monotonic() + 300
    while not progress.stopped:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_progress_can_end_it_and_what_is_finished_stays() -> None:
    progress = Progress()

    def task(thread: int, number: int) -> int:
        if number:
            until_stopped(progress)
        return number

    def watch(done: int) -> None:
        if done == 1:
            progress.stop()

    found = run_tasks(task, 100, 2, progress, watch)
    assert 0 in found
    assert len(found) <= 3


def test_ctrl_c_stops_the_tasks_before_it_goes_on() -> None:
    progress = Progress()
    begun: list[int] = []
    ended: list[int] = []

    def task(thread: int, number: int) -> None:
        begun.append(number)
        until_stopped(progress)
        time.sleep(0.02)
        ended.append(number)

    def watch(done: int) -> None:
        if len(begun) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks(task, 8, 2, progress, watch)
    assert sorted(ended) == [0, 1]


@pytest.mark.parametrize("progress", [Progress(), SILENT])
def test_the_first_failure_ends_the_others_and_is_raised(progress: Progress) -> None:
    def task(thread: int, number: int) -> None:
        if number == 1:
            raise KeyError("one")
        if progress is not SILENT:
            until_stopped(progress)
            raise OSError("this task was ended")

    with pytest.raises(KeyError, match="one"):
        run_tasks(task, 8, 2, progress)


def test_within_other_work_the_caller_does_all_itself() -> None:
    names: set[str] = set()
    found: list[dict[int, int]] = []
    progress = Progress()

    def task(thread: int, number: int) -> int:
        names.add(threading.current_thread().name)
        if number == 3:
            progress.stop()
        return number

    def outer(begin: int, end: int) -> None:
        if begin == 0:
            names.add(threading.current_thread().name)
            found.append(run_tasks(task, 5, 3, progress))

    parallel_for(outer, 2, 2)
    assert found == [{number: number for number in range(4)}]
    assert names == {threading.current_thread().name}


def test_one_core_is_one_core_of_its_thread_alone() -> None:
    elsewhere: list[int] = []
    before = available_cores()
    with one_core():
        assert available_cores() == 1
        with one_core():
            pass
        assert available_cores() == 1
        other = threading.Thread(target=lambda: elsewhere.append(available_cores()))
        other.start()
        other.join()
    assert elsewhere == [before]
    assert available_cores() == before
