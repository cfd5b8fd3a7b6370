"""Prints messages and results for people, and makes consoles that show texts as they are.

Names of agents, files and games may hold anything. `rich` would read ``[b]`` in them as markup and
``:100:`` as an emoji, so consoles, and progress bars' columns of text, are made here alone.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from .messages import escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TextColumn


class UnreadError(OSError):
    """Nobody reads standard output any more, as in ``ludarium games | head -1``."""


def say(text: str) -> None:
    """Print a message on standard error; an error of the stream is ignored.

    Control characters other than line ends and tabs are escaped, as names of files may have them.
    """
    if sys.stderr is not None:
        try:
            print(escaped(text, "\n\t"), file=sys.stderr, flush=True)
        except BrokenPipeError:
            _silence(sys.stderr)
        except (OSError, ValueError):
            pass  # a full disk, or a closed stream


def output(text: str, end: str = "\n") -> None:
    """Print a result on standard output.

    Raises:
        UnreadError: the reader of a pipe is gone; further results are then dropped silently.
        OSError: the result cannot be written; further results are dropped silently here too.
    """
    try:
        print(text, end=end, flush=True)
    except OSError as error:
        _silence(sys.stdout)
        kind = UnreadError if isinstance(error, BrokenPipeError) else OSError
        raise kind(f"cannot write standard output ({error.strerror or error})") from error


def _silence(stream: Any) -> None:
    """Redirect a broken stream to the null device, because Python flushes it when it exits."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def plain_console(**settings: Any) -> Console:
    """A console of `rich` that takes texts as they are; settings as for `rich.console.Console`.

    Once the reader of a pipe is gone, printing raises ``BrokenPipeError``, as `print` does; what is
    printed after that is dropped.
    """
    # force_jupyter: in a notebook rich would display its output and write nothing to its file.
    return _console()(markup=False, emoji=False, highlight=False, force_jupyter=False, **settings)


@cache
def _console() -> type[Console]:
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:  # rich's own method ends Python
            del self._buffer[:]
            _silence(self.file)
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return PlainConsole


def plain_column(template: str) -> TextColumn:
    """A column of a progress bar of `rich` that shows texts as they are.

    Args:
        template: its text, such as ``{task.description}``.
    """
    from rich.progress import TextColumn

    return TextColumn(template, markup=False)
