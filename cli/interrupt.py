"""Ctrl-C, SIGTERM, or a terminal that is closed, which all mean the same.

Once is to stop soon, twice to stop at once, and once more to leave.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ludarium.envs.engine.console import say

STOPPED = 130  # exit status after Ctrl-C
#: All mean the same; one that is ignored, as by nohup, stays so.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class StopFlag:
    """Whether Ctrl-C was pressed.

    Args:
        message: is printed on standard error when it is; nothing if empty.
    """

    def __init__(self, message: str = "") -> None:
        self.is_set = False
        self._is_interrupted = False
        self._message = message

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed.

        Raises:
            KeyboardInterrupt: it was pressed twice, and Python dropped the interruption, as it does
                where a finalizer was running.
        """
        if self._is_interrupted:
            raise KeyboardInterrupt
        return self.is_set

    def set(self, number: int, frame: FrameType | None) -> None:
        """Note the first Ctrl-C; the second one interrupts, and one after that ends the process."""
        if self._is_interrupted:
            leave(number, frame)
        if self.is_set:
            self._is_interrupted = True
            raise KeyboardInterrupt
        self.is_set = True
        if self._message:
            say(f"\nludarium: {self._message}")


def leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: somebody interrupts the interruption, which has no answer."""
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\x1b[?25h\n")  # a progress bar has hidden the cursor
    os._exit(STOPPED)


@contextmanager
def stop_on_ctrl_c(message: str = "") -> Iterator[StopFlag]:
    """Within it the first signal sets the flag; the second one interrupts.

    Only the main thread is told of signals: in another one the flag is never set.
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
    """From now on each signal interrupts as Ctrl-C does: files are kept or removed on the way."""
    _handle(signal.default_int_handler)


def leave_by_signals() -> None:
    """From now on each signal ends the process at once."""
    _handle(leave)


def _handle(handler: Callable[[int, FrameType | None], object]) -> dict[int, Any]:
    """Set the handler of all signals; the handlers before."""
    return {
        number: signal.signal(number, handler)
        for number in _SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
