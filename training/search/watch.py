"""`Watch` decides when one call of ``think`` ends, and reports meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ludarium.base.messages import quoted

from .result import Budget


class Watch:
    """Decides when to stop thinking; any thread that thinks may `look`.

    Args:
        budget: the budget; its simulations are ignored.
        report: function called about every ``every`` seconds, by the thread that made this object
            and calls `look`.
        every: see ``report``.

    Attributes:
        is_over: whether the thinking is to end; any thread may set it.

    Raises:
        ValueError: ``every`` is negative.
    """

    def __init__(
        self,
        budget: Budget,
        report: Callable[[], None] | None = None,
        every: float = 0.5,
    ) -> None:
        seconds = budget.seconds
        if not every >= 0:
            raise ValueError(f"every is {quoted(every)}; accepted: seconds from 0 on")
        now = time.perf_counter()
        self.is_over = False
        self._deadline = float("inf") if seconds is None else now + seconds
        self._stop = budget.stop
        self._report = report
        self._every = every
        self._report_at = now + every
        self._caller = threading.get_ident()
        self._asking = threading.Lock()  # ``stop`` may be anything: one call at a time

    def look(self) -> None:
        """Report if it is time to, and check whether the thinking is to end."""
        now = time.perf_counter()
        is_caller = threading.get_ident() == self._caller
        if is_caller and self._report is not None and now >= self._report_at:
            self._report()
            now = time.perf_counter()
            self._report_at = now + self._every
        if now >= self._deadline:
            self.is_over = True
        elif self._stop is not None and not self.is_over:
            with self._asking:
                self.is_over |= bool(self._stop())
