"""How commands show on standard error that they are at work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ludarium.analysis.progress import Progress as SearchProgress

from .interrupt import stop_on_ctrl_c

#: Shows how many units of a task are done; what else it is called with does not matter.
Reach = Callable[..., None]

_LINE_EVERY = 10.0  # seconds, where standard error is no terminal


@contextmanager
def bars() -> Iterator[Callable[[str, int], Reach]]:
    """Bars that count: ``reach = bar("games", 200)``, then ``reach(20)``; gone at the end."""
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:

        def bar(description: str, total: int) -> Reach:
            task = progress.add_task(description, total=total)
            return lambda done, *_: progress.update(task, completed=done)

        yield bar


@contextmanager
def status(text: str = "compiling") -> Iterator[Callable[[str], None]]:
    """A status line: yields a function that replaces its text.

    Where standard error is no terminal, the text is printed every ten seconds instead.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task(text)
        yield lambda text: progress.update(task, description=text)


def _lines() -> Callable[[str], None]:
    printed = time.monotonic()

    def say(text: str) -> None:
        nonlocal printed
        if time.monotonic() - printed >= _LINE_EVERY:
            printed = time.monotonic()
            print(f"ludarium: {text}", file=sys.stderr, flush=True)

    return say


class SearchStatus:
    """A `Show` for searches: shows the progress, and asks for an end after Ctrl-C.

    Args:
        units: what is counted, such as "actions".
        say: shows a text.
        stop: says whether somebody pressed Ctrl-C.
    """

    def __init__(
        self, units: str, say: Callable[[str], None], stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._units = units
        self._say = say
        self._stop = stop
        self._first: tuple[float, int] | None = None

    @property
    def stopped(self) -> bool:
        """Whether somebody pressed Ctrl-C."""
        return self._stop()

    def __call__(self, progress: SearchProgress) -> bool:
        """Show the progress; returns whether the search shall end."""
        self._say(self._text(progress))
        return self.stopped

    def _text(self, progress: SearchProgress) -> str:
        stage = f"{progress.stage}: " if progress.stage else ""
        total = f" of {progress.total:,}" if progress.total is not None else ""
        text = f"{stage}{progress.done:,}{total} {self._units}"
        if not progress.nodes:
            return text
        now = time.monotonic()
        if self._first is None:
            self._first = now, progress.nodes
        text += f", {progress.nodes / 1e6:,.1f} M positions searched"
        began, nodes = self._first
        if now - began >= 1:
            text += f", {(progress.nodes - nodes) / (now - began) / 1e6:,.2f} M/s"
        return f"{text} (Ctrl-C stops)"


@contextmanager
def searching(units: str) -> Iterator[SearchStatus]:
    """Show a search, and let Ctrl-C end it so that what is known by then can be printed."""
    with status("getting ready") as say, stop_on_ctrl_c() as stop:
        yield SearchStatus(units, say, stop)
