"""Ctrl-C, SIGTERM, or a terminal that is closed, which all mean the same.

In `stop_on_ctrl_c` the first signal asks to stop soon, the second interrupts, and a third ends the
process. Elsewhere the first interrupts, and once the command has ended, one more ends the process.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ludarium.base.console import say
from ludarium.base.progress import Progress

STOPPED = 130  # exit status after Ctrl-C
UNREAD = 141  # exit status where the reader of a pipe is gone, as shells have it for other programs
#: These signals mean the same; an ignored one, as under nohup, stays ignored.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once, because the user has interrupted it again."""
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")  # shows the cursor that a progress bar hid
    os._exit(STOPPED)


@contextmanager
def stop_on_ctrl_c(progress: Progress, message: str = "") -> Iterator[None]:
    """A context in which the first signal stops the work, and the second one interrupts.

    Python drops an interruption while a finalizer runs: then the work's next look at ``stopped``
    raises it. Only the main thread receives signals: in another thread nothing is stopped.

    Args:
        progress: the progress of the work.
        message: printed on standard error after the first signal, unless it is empty.
    """
    count = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 2:
            leave(number, frame)
        if count > 1:
            progress.stop(KeyboardInterrupt())
            raise KeyboardInterrupt
        progress.stop()
        if message:
            say(f"\nludarium: {message}")

    is_main = threading.current_thread() is threading.main_thread()
    before = _handle(stop) if is_main else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_by_signals() -> None:
    """Make each signal that is not ignored raise ``KeyboardInterrupt``, so that ``finally`` blocks
    run."""
    _handle(signal.default_int_handler)


def leave_by_signals() -> None:
    """Make each signal that is not ignored end the process at once."""
    _handle(leave)


def _handle(handler: Callable[[int, FrameType | None], object]) -> dict[int, Any]:
    """Set the handler of all signals that are not ignored; return the previous handlers."""
    return {
        number: signal.signal(number, handler)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
