"""How commands show progress on standard error, and learn that they should stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ludarium.base.progress_bar import ShownTask, shown_task

from .interrupt import stop_on_ctrl_c


@contextmanager
def progress(can_stop: bool = False) -> Iterator[ShownTask]:
    """A context with a task whose progress is shown; the bar is gone at the end.

    Args:
        can_stop: the first Ctrl-C stops the task, so that the results so far can be printed.
    """
    if can_stop:
        with stop_on_ctrl_c() as stop, shown_task(stop=stop, hint="Ctrl-C stops") as task:
            yield task
    else:
        with shown_task() as task:
            yield task
