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

STOPPED = 130  # exit status after Ctrl-C
UNREAD = 141  # exit status where the reader of a pipe is gone, as shells have it for other programs
#: These signals mean the same; an ignored one, as under nohup, stays ignored.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class StopFlag:
    """Whether Ctrl-C was pressed.

    Args:
        message: printed on standard error after the first Ctrl-C, unless it is empty.
    """

    def __init__(self, message: str = "") -> None:
        self.is_set = False
        self._is_interrupted = False
        self._message = message

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed.

        Raises:
            KeyboardInterrupt: it was pressed twice, and Python dropped the interruption, as it does
                while a finalizer is running.
        """
        if self._is_interrupted:
            raise KeyboardInterrupt
        return self.is_set

    def set(self, number: int, frame: FrameType | None) -> None:
        """Note the first Ctrl-C; the second interrupts, and a third ends the process."""
        if self._is_interrupted:
            leave(number, frame)
        if self.is_set:
            self._is_interrupted = True
            raise KeyboardInterrupt
        self.is_set = True
        if self._message:
            say(f"\nludarium: {self._message}")


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once, because the user has interrupted it again."""
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")  # shows the cursor that a progress bar hid
    os._exit(STOPPED)


@contextmanager
def stop_on_ctrl_c(message: str = "") -> Iterator[StopFlag]:
    """A context in which the first signal sets the flag and the second one interrupts.

    Only the main thread receives signals: in another thread the flag is never set.
    """
    flag = StopFlag(message)
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = _handle(flag.set)
    try:
        yield flag
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def interrupt_by_signals() -> None:
    """Make each signal raise ``KeyboardInterrupt``, so that ``finally`` blocks run."""
    _handle(signal.default_int_handler)


def leave_by_signals() -> None:
    """Make each signal end the process at once."""
    _handle(leave)


def _handle(handler: Callable[[int, FrameType | None], object]) -> dict[int, Any]:
    """Set the handler of all signals that are not ignored; return the previous handlers."""
    return {
        number: signal.signal(number, handler)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
