"""`Progress`: how much of long work is done, what it says, and whether it should stop.

Long functions take one, `SILENT` by default, and give it to the functions that do their parts.
Your own shows the work where you like, and ends it when you like:

    class Lines(Progress):
        def advance(self, count: int = 1, note: str = "") -> None:
            print(count, note)

    play_contest(game, Tournament(("random", "uct:20"), games=100), progress=Lines())
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .messages import quoted


class Progress:
    """Receives the progress of long work and shows nothing. All methods are safe from any thread.

    The function that knows the total begins the work; the functions that do the parts advance it.
    """

    def __init__(self) -> None:
        self._is_stopped = False
        self._error: BaseException | None = None

    @property
    def stopped(self) -> bool:
        """Whether the work should end soon. Work that can end early looks at it often.

        Raises:
            BaseException: the one that was given to `stop`.
        """
        if self._error is not None:
            raise self._error
        return self._is_stopped

    def stop(self, error: BaseException | None = None) -> None:
        """Ask the work to end soon, with this error if there is one."""
        self._is_stopped, self._error = True, error

    def check(self) -> None:
        """Raise an error if the work should end soon.

        Raises:
            StoppedError: `stop` was called without an error.
            BaseException: the error that was given to `stop`.
        """
        if self.stopped:
            raise StoppedError

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Begin work of ``total`` units, None if unknown; it replaces the previous work.

        ``done`` units were finished earlier. They count as done, but not for the estimated speed.
        """

    def advance(self, count: int = 1, note: str = "") -> None:
        """Report ``count`` more units as done, 0: at work; ``note`` describes the present state."""

    def say(self, text: str, style: str = "") -> None:
        """Say a line to people; ``style`` is one of `rich`, such as ``bold``."""

    def part(
        self, seconds: float | None = None, on_stop: Callable[[], object] | None = None
    ) -> Part:
        """The progress of a part of the work, which can be stopped without the rest.

        Args:
            seconds: the part stops this long after now; None: it does not stop by itself.
            on_stop: called when the part's own `stop` is.
        """
        return Part(self, seconds, on_stop)


class Part(Progress):
    """A part of a larger work; see `Progress.part`."""

    def __init__(
        self,
        whole: Progress,
        seconds: float | None = None,
        on_stop: Callable[[], object] | None = None,
    ) -> None:
        super().__init__()
        self._whole, self._on_stop = whole, on_stop
        self._deadline = None if seconds is None else time.perf_counter() + seconds

    @property
    def stopped(self) -> bool:
        """Whether this part, or the whole, should end soon; raises as `Progress.stopped` does."""
        is_late = self._deadline is not None and time.perf_counter() >= self._deadline
        self._is_stopped |= self._whole.stopped or is_late
        return super().stopped

    def stop(self, error: BaseException | None = None) -> None:
        """Ask this part to end soon; the whole goes on."""
        super().stop(error)
        if self._on_stop is not None:
            self._on_stop()

    def begin(self, title: str, total: int | None = None, done: int = 0) -> None:
        """Begin the work on the display of the whole."""
        self._whole.begin(title, total, done)

    def advance(self, count: int = 1, note: str = "") -> None:
        """Advance the whole."""
        self._whole.advance(count, note)

    def say(self, text: str, style: str = "") -> None:
        """Say a line to people."""
        self._whole.say(text, style)


class Finishing(Part):
    """A part that is done to its end, also when the whole should end soon."""

    @property
    def stopped(self) -> bool:
        """Always false; an error that was given to the whole's `stop` is raised."""
        _ = self._whole.stopped
        return False


class Periodic(Progress):
    """Calls a function from time to time, in a thread that advances the work.

    Args:
        report: the function.
        every: least seconds between two calls; more pass until the work is advanced again.

    Raises:
        ValueError: ``every`` is negative.
    """

    def __init__(self, report: Callable[[], object], every: float = 0.5) -> None:
        super().__init__()
        if not every >= 0:
            raise ValueError(f"every is {quoted(every)}; accepted: seconds from 0 on")
        self._report, self._every = report, every
        self._due = time.perf_counter() + every

    def advance(self, count: int = 1, note: str = "") -> None:
        """Call the function if it is time to."""
        if time.perf_counter() >= self._due:
            self._report()
            self._due = time.perf_counter() + self._every


class _Silent(Progress):
    """The default, which belongs to everybody, so that nobody may stop it."""

    def stop(self, error: BaseException | None = None) -> None:
        raise ValueError("SILENT is everybody's progress: give the work a Progress() of your own")


#: For work that nobody watches.
SILENT = _Silent()


class StoppedError(Exception):
    """Raised by stopped work that has no partial result to return."""
