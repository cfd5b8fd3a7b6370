"""How commands show on the terminal that they are at work, on standard error."""

from __future__ import annotations

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

#: Shows how many units of a task are done; what else it is called with does not matter.
Reach = Callable[..., None]


@contextmanager
def bars() -> Iterator[Callable[[str, int], Reach]]:
    """Bars that count: ``reach = bar("games", 200)``, then ``reach(20)``; gone at the end."""
    with Progress(
        TextColumn("{task.description}"),
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
    """A line that says what is going on: call what it gives with another text."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(text)
        yield lambda text: progress.update(task, description=text)
