"""Ctrl-C: once to stop soon, twice to stop at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopFlag:
    """Whether Ctrl-C was pressed.

    Args:
        message: is printed on standard error when it is; nothing if empty.
    """

    def __init__(self, message: str = "") -> None:
        self.is_set = False
        self._message = message

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.is_set

    def set(self, number: int, frame: FrameType | None) -> None:
        """Note the first Ctrl-C; the second one interrupts as usual."""
        self.is_set = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._message:
            print(f"\nludarium: {self._message}", file=sys.stderr)


@contextmanager
def stop_on_ctrl_c(message: str = "") -> Iterator[StopFlag]:
    """Within it the first Ctrl-C sets the flag; the second one interrupts as usual.

    Only the main thread is told of Ctrl-C: in another one the flag is never set.
    """
    flag = StopFlag(message)
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.signal(signal.SIGINT, flag.set)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
