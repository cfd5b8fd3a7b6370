"""How commands show progress on standard error, and learn that they should stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ludarium.base.progress_bar import ProgressBar, progress_bar

from .interrupt import stop_on_ctrl_c


@contextmanager
def shown_progress(can_stop: bool = False, stopping: str = "") -> Iterator[ProgressBar]:
    """A context in which progress is shown; the bar is gone at the end.

    Args:
        can_stop: the first Ctrl-C stops the work, so that the results so far can be printed.
        stopping: what the first Ctrl-C says, if the end may take long.
    """
    with progress_bar(hint="Ctrl-C stops" if can_stop and not stopping else "") as progress:
        if can_stop:
            with stop_on_ctrl_c(progress, stopping):
                yield progress
        else:
            yield progress
