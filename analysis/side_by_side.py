"""Questions answered by several threads: each takes the next one when it is free."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

Worker = TypeVar("Worker")
Question = TypeVar("Question")
Answer = TypeVar("Answer")

_POLL = 0.1  # seconds between two calls of `show`


def answer_side_by_side(
    workers: Sequence[Worker],
    questions: Sequence[Question],
    answer: Callable[[Worker, Question], Answer],
    stop: Callable[[], None],
    show: Callable[[int], None],
) -> list[Answer]:
    """Answers to all questions, in their order.

    Interrupting it (Ctrl-C) ends the threads before the exception goes on; so does a failure.

    Args:
        workers: one for each thread; no more are used than there are questions.
        answer: to a question, by a worker. Called in the threads.
        stop: makes calls of ``answer`` that go on end soon. Called at the end in any case, and
            perhaps more than once.
        show: called now and then with the number of questions answered.
    """
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(questions)):
        waiting.put(number)
    answers: dict[int, Answer] = {}
    failures: list[BaseException] = []
    stopped = threading.Event()

    def work(worker: Worker) -> None:
        try:
            while not stopped.is_set():
                number = waiting.get_nowait()
                answers[number] = answer(worker, questions[number])
        except Empty:
            pass
        except BaseException as failure:
            failures.append(failure)
            stopped.set()
            stop()

    threads = [
        threading.Thread(target=work, args=(worker,), daemon=True)
        for worker in workers[: len(questions)]
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_POLL)
                show(len(answers))
    finally:
        stopped.set()
        stop()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return [answers[number] for number in range(len(questions))]
