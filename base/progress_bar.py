"""`ShownTask`: a task whose progress people see, as a bar on a terminal and in lines elsewhere."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TimeElapsedColumn,
)

from .console import plain_column, plain_console
from .progress import Task

if TYPE_CHECKING:
    import rich.console

_LINE_EVERY = 30.0  # seconds between lines where there is no terminal
#: Share of the work from which the time left is estimated; compiling may come first.
_ENOUGH = 0.05
_FAST = 10.0  # units per second from which the speed is shown
_SETTLED = 1.0  # seconds after which a speed is shown
#: Errors of an unwritable stream; one that Python has closed raises ValueError.
GONE = (OSError, ValueError)


class ShownTask(Task):
    """Shows a bar on a terminal, and elsewhere a line from time to time.

    If neither can be written, the work continues without any display.

    Args:
        bar: the bar; its console is where lines go.
        stop: function that returns whether the user has asked to stop.

    Attributes:
        done: how many units of the present work are done.
    """

    def __init__(self, bar: Progress, stop: Callable[[], bool] = lambda: False) -> None:
        self._bar = bar
        self._stop = stop
        self._lock = threading.Lock()
        self.begin("getting ready")

    @property
    def stopped(self) -> bool:
        """Whether the user has asked to stop."""
        return self._stop()

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Show a new bar instead of the previous one."""
        with self._lock:
            self._title, self._total, self._note = title, total, ""
            self.done = self._done_before = done
            self._began = self._line_time = time.perf_counter()
            for row in self._bar.task_ids:
                self._bar.remove_task(row)
            with suppress(*GONE):
                self._bar.add_task(title, total=total, completed=done, note="")
            (self._row,) = self._bar.task_ids

    def advance(self, count: int = 1, note: str = "") -> None:
        """Move the bar on, or print a line if it is time to."""
        with self._lock:
            self.done += count
            self._note = note or self._note
            now = time.perf_counter()
            note = ", ".join(filter(None, [self._note, *self._pace(now)]))
            with suppress(*GONE):
                self._bar.update(self._row, completed=self.done, note=note)
                if not self._bar.console.is_terminal and now - self._line_time >= _LINE_EVERY:
                    self._line_time = now
                    total = "" if self._total is None else f" of {self._total:,}"
                    line = ", ".join(filter(None, [f"{self._title}: {self.done:,}{total}", note]))
                    self._bar.console.print(f"ludarium: {line}", soft_wrap=True)

    def _pace(self, now: float) -> list[str]:
        """Units per second if they are many, and the time left if it is known."""
        done, seconds = self.done - self._done_before, now - self._began
        speed = done / seconds if seconds >= _SETTLED else 0.0
        parts = [f"{speed:,.0f}/s"] if speed >= _FAST else []
        if self._total is None or self.done >= self._total:
            return parts
        share = done / (self._total - self._done_before)
        return [*parts, f"{as_time(time_left(share, seconds))} left"] if share >= _ENOUGH else parts


@contextmanager
def shown_task(
    console: rich.console.Console | None = None,
    stop: Callable[[], bool] = lambda: False,
    hint: str = "",
) -> Iterator[ShownTask]:
    """A context with a task whose progress is shown; the bar is gone at the end.

    Args:
        console: where to show it; default: standard error.
        stop: see `ShownTask`.
        hint: a text behind the bar.
    """
    console = console or plain_console(stderr=True)
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
        disable=not console.is_terminal,
    )
    with drawn(bar) if console.is_terminal else nullcontext():
        yield ShownTask(bar, stop)


@contextmanager
def drawn(display: Live | Progress) -> Iterator[None]:
    """A context in which a display is drawn on the terminal; the terminal may disappear."""
    with suppress(*GONE):
        display.start()
    try:
        yield
    finally:
        with suppress(*GONE, IndexError):  # rich raises IndexError if its start has failed
            display.stop()


def time_left(share: float, seconds: float) -> float:
    """Seconds left, if ``share`` (0 to 1) of the work took ``seconds``; infinite for 0."""
    return seconds * (1 - share) / share if share > 0 else math.inf


def as_time(seconds: float) -> str:
    """A duration for people: ``45 s``, ``12 min``, ``3.5 h``; ``?`` for an infinite one."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
