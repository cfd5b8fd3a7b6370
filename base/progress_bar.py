"""`ProgressBar`: a bar on a terminal, and lines elsewhere."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from rich import progress as bars
from rich.live import Live

from .console import plain_column, plain_console
from .progress import Progress

if TYPE_CHECKING:
    import rich.console

_LINE_EVERY = 30.0  # seconds between lines where there is no terminal
#: Share of the work from which the time left is estimated.
_ENOUGH = 0.05
_FAST = 10.0  # units per second from which the speed is shown
_SETTLED = 1.0  # seconds after which a speed is shown
#: Errors of an unwritable stream; one that Python has closed raises ValueError.
GONE = (OSError, ValueError)


class ProgressBar(Progress):
    """Shows a bar on a terminal, and elsewhere a line from time to time.

    If neither can be written, the work continues without any display.

    Args:
        bar: the bar; its console is where lines go.

    Attributes:
        done: how many units of the present work are done.
    """

    def __init__(self, bar: bars.Progress) -> None:
        super().__init__()
        self._bar = bar
        self._lock = threading.Lock()
        self.begin("getting ready")

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Show a new bar instead of the previous one."""
        with self._lock:
            self._title, self._total, self._note = title, total, ""
            self.done = self._done_before = done
            self._began: float | None = None
            self._line_time = time.perf_counter()
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
            if count and self._began is None:  # until now code may have been compiled
                self._began, self._done_before = now, self.done
            note = ", ".join(filter(None, [self._note, *self._pace(now)]))
            with suppress(*GONE):
                self._bar.update(self._row, completed=self.done, note=note)
                if not self._bar.console.is_terminal and now - self._line_time >= _LINE_EVERY:
                    self._line_time = now
                    total = "" if self._total is None else f" of {self._total:,}"
                    line = ", ".join(filter(None, [f"{self._title}: {self.done:,}{total}", note]))
                    self._bar.console.print(f"ludarium: {line}", soft_wrap=True)

    def say(self, text: str, style: str = "") -> None:
        """Print a line above the bar."""
        console = self._bar.console
        with suppress(*GONE):
            console.print(text, style=style or None, soft_wrap=not console.is_terminal)

    def _pace(self, now: float) -> list[str]:
        """Units per second if they are many, and the time left if it is known.

        Both are of the time since the first units.
        """
        done = self.done - self._done_before
        seconds = 0.0 if self._began is None else now - self._began
        speed = done / seconds if seconds >= _SETTLED else 0.0
        parts = [f"{speed:,.0f}/s"] if speed >= _FAST else []
        if self._total is None or self.done >= self._total:
            return parts
        share = done / (self._total - self._done_before)
        return [*parts, f"{as_time(time_left(share, seconds))} left"] if share >= _ENOUGH else parts


@contextmanager
def progress_bar(
    console: rich.console.Console | None = None, hint: str = ""
) -> Iterator[ProgressBar]:
    """A context in which progress is shown; the bar is gone at the end.

    Args:
        console: where to show it; default: standard error.
        hint: a text at the end of the bar's line, such as how to stop the work.
    """
    console = console or plain_console(stderr=True)
    bar = bars.Progress(
        bars.SpinnerColumn(),
        plain_column("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        plain_column("{task.fields[note]}"),
        bars.TimeElapsedColumn(),
        plain_column(hint),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with drawn(bar) if console.is_terminal else nullcontext():
        yield ProgressBar(bar)


@contextmanager
def drawn(display: Live | bars.Progress) -> Iterator[None]:
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
