"""`Task` receives the progress of long work, and tells the work whether to stop."""

from __future__ import annotations


class Task:
    """Receives the progress of long work and ignores it. Methods are safe from any thread.

    The function that knows the total begins the work; the functions that do the parts advance it.
    """

    @property
    def stopped(self) -> bool:
        """Whether the work should end soon. Work that can end early looks at it."""
        return False

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Begin work of ``total`` units, None if unknown; it replaces the previous work.

        ``done`` units were finished earlier. They count as done, but not for the estimated speed.
        """

    def advance(self, count: int = 1, note: str = "") -> None:
        """Report ``count`` more units as done; ``note`` describes the present state."""


#: A task for work that nobody watches.
UNWATCHED = Task()


class StoppedError(Exception):
    """Raised by stopped work that has no partial result to return."""
