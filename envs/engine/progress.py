"""`Task`: how long work tells how far it is, and learns that it shall stop."""

from __future__ import annotations


class Task:
    """Is told the progress of long work; this one ignores it. Methods are safe from any thread.

    Whoever knows the whole of some work begins it. The functions that do its parts advance it.
    """

    @property
    def stopped(self) -> bool:
        """Whether the work shall end soon. Work that can end early looks at it."""
        return False

    def begin(self, title: str, total: int | None = None) -> None:
        """Work of ``total`` units begins, in place of what was going on; None: nobody knows."""

    def advance(self, count: int = 1, note: str = "") -> None:
        """``count`` more units are done; ``note`` says more of how it stands."""


#: For work that nobody watches.
UNWATCHED = Task()


class StoppedError(Exception):
    """Raised by work without a result of its own, when its task was stopped."""
