"""How commands show progress on standard error, and learn that they should stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TimeElapsedColumn,
)

from ludarium.envs.engine.console import plain_column, plain_console, say
from ludarium.envs.engine.progress import Task

from .interrupt import stop_on_ctrl_c

_LINE_EVERY = 10.0  # seconds between lines if standard error is no terminal


class ShownTask(Task):
    """Shows a bar on a terminal, and elsewhere a line from time to time.

    Args:
        bar: display on the terminal; None if there is none.
        stop: function that returns whether somebody asked to stop.

    Attributes:
        done: how many units of the present work are done.
    """

    def __init__(self, bar: Progress | None, stop: Callable[[], bool] = lambda: False) -> None:
        self._bar = bar
        self._stop = stop
        self._lock = threading.Lock()
        self._printed = time.monotonic()
        self.begin("getting ready")

    @property
    def stopped(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop()

    def begin(self, title: str, total: int | None = None) -> None:
        """Show a new bar instead of the previous one."""
        with self._lock:
            self._title, self._total, self.done, self._note = title, total, 0, ""
            if self._bar is not None:
                for row in self._bar.task_ids:
                    self._bar.remove_task(row)
                with suppress(OSError):  # nobody watches any more
                    self._bar.add_task(title, total=total, note="")
                (self._row,) = self._bar.task_ids

    def advance(self, count: int = 1, note: str = "") -> None:
        """Move the bar on, or print a line if it is time to."""
        with self._lock:
            self.done += count
            note = self._note = note or self._note
            if self._bar is not None:
                with suppress(OSError):
                    self._bar.update(self._row, advance=count, note=note)
            elif time.monotonic() - self._printed >= _LINE_EVERY:
                self._printed = time.monotonic()
                total = "" if self._total is None else f" of {self._total:,}"
                text = ", ".join(filter(None, [f"{self._title}: {self.done:,}{total}", note]))
                say(f"ludarium: {text}")


@contextmanager
def progress(can_stop: bool = False) -> Iterator[ShownTask]:
    """A context with a task whose progress is shown; the bar is gone at the end.

    Args:
        can_stop: the first Ctrl-C stops the task, so that the results so far can be printed.
    """
    if can_stop:
        with stop_on_ctrl_c() as stop, _bar("Ctrl-C stops") as bar:
            yield ShownTask(bar, stop)
    else:
        with _bar() as bar:
            yield ShownTask(bar)


@contextmanager
def _bar(hint: str = "") -> Iterator[Progress | None]:
    console = plain_console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    bar = Progress(
        SpinnerColumn(),
        plain_column("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        plain_column("{task.fields[note]}"),
        TimeElapsedColumn(),
        plain_column(hint),
        console=console,
        transient=True,
    )
    with drawn(bar):
        yield bar


@contextmanager
def drawn(display: Live | Progress) -> Iterator[None]:
    """A context in which a display is drawn on the terminal; the terminal may disappear."""
    with suppress(OSError):
        display.start()
    try:
        yield
    finally:
        with suppress(OSError, IndexError):  # rich raises the second if its start has failed
            display.stop()
