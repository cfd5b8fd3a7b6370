"""Commands that train in processes of their own, and get signals."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ludarium.cli import main
from ludarium.training.runs import folder
from ludarium.training.runs.evaluation import AgentEvaluation
from ludarium.training.runs.folder import RunFolder

from .killing import ended_within

_SOON = 0.01  # seconds between two signals
_PATIENCE = 300.0  # seconds for a command that nobody ends


class Kind(NamedTuple):
    """Signals that a command gets, one soon after the other.

    Attributes:
        numbers: of the signals.
        moment: when the first one comes: in the ``start``, in a ``save``, in an ``evaluation``, or
            ``any``, at random.
    """

    numbers: tuple[signal.Signals, ...]
    moment: str = "any"


_INT, _TERM = signal.SIGINT, signal.SIGTERM
KINDS = (
    Kind((_INT,)),
    Kind((_TERM,)),
    Kind((signal.SIGHUP,)),
    Kind((signal.SIGQUIT,)),
    Kind((_INT, _INT)),
    Kind((_TERM, _TERM)),
    Kind((_INT, _TERM, _INT)),
    Kind((_INT,), "start"),
    Kind((_TERM, _TERM), "start"),
    Kind((_INT,), "save"),
    Kind((_TERM, _TERM), "save"),
    Kind((_INT,), "evaluation"),
    Kind((_TERM, _TERM), "evaluation"),
)
#: What a command has begun with at each moment, and how often it has by then.
_MOMENTS: dict[str, tuple[Any, str, int]] = {
    "start": (RunFolder, "open", 1),
    "save": (folder, "write_file", 7),
    "evaluation": (AgentEvaluation, "of", 1),
}


def command(arguments: list[str], kind: Kind | None, said: Path, delay: float = 0.0) -> int:
    """Run a command in a process that is forked; its exit status, below 0 of one killed.

    Args:
        arguments: of the command line.
        kind: of the signals that it gets; None: none.
        said: the file that gets what the command prints.
        delay: seconds after which signals of any moment begin.
    """
    child = begin(arguments, said, kind)
    if kind is not None and kind.moment not in _MOMENTS:
        while not said.exists():
            time.sleep(_SOON)
        time.sleep(_SOON + delay)
        _send(child, kind)
    status = ended_within(child, _PATIENCE)
    if status is None:
        raise TimeoutError(f"no end within {_PATIENCE:g} s")
    return status


def begin(arguments: list[str], said: Path, kind: Kind | None = None) -> int:
    """Begin a command, see `command`, and return the number of its process."""
    said.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _be_command(arguments, kind, said)
    return child


def _be_command(arguments: list[str], kind: Kind | None, said: Path) -> NoReturn:
    """Be the process of a command."""
    status = 1
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    sys.argv = ["ludarium", *arguments]
    sys.stdout = sys.stderr = said.open("w", encoding="utf-8", buffering=1)
    try:
        if kind is not None and kind.moment in _MOMENTS:
            owner, name, count = _MOMENTS[kind.moment]
            setattr(owner, name, _signalling(getattr(owner, name), kind, count))
        status = main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _signalling(function: Callable[..., Any], kind: Kind, count: int) -> Callable[..., Any]:
    """The function, whose call number ``count`` begins with the signals to this process."""
    calls = 0

    def call(*arguments: Any, **given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count:
            _send(os.getpid(), kind)
        return function(*arguments, **given)

    return call


def _send(process: int, kind: Kind) -> None:
    for number in kind.numbers:
        os.kill(process, number)
        time.sleep(_SOON)
