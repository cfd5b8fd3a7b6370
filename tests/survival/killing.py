"""Training in processes of its own that are killed."""

from __future__ import annotations

import os
import random
import signal
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from .tiny import train

_PATIENCE = 300.0  # seconds for a run that nobody kills


class Killed(NamedTuple):
    """What came of a run that was killed.

    Attributes:
        kills: how often.
        failure: what ended it in the end, if not its budget.
    """

    kills: int
    failure: str | None


def killed_at_random(
    algorithm: str, path: Path, seconds: float, kills: int, rng: random.Random
) -> Killed:
    """Train, with up to so many kills within ``seconds`` of each start.

    Processes are forked from this one, which so should have one thread, and have compiled
    whatever is needed: then a start takes milliseconds.
    """
    for count in range(kills + 1):
        limit = rng.uniform(0, seconds) if count < kills else _PATIENCE
        status = _fork(algorithm, path, limit)
        if status is not None:
            error = path.with_name(f"{path.name}.error")
            if status == 0:
                return Killed(count, None)
            return Killed(count, error.read_text() if error.exists() else f"status {status}")
    return Killed(kills, f"no end within {_PATIENCE:g} s")


def _fork(algorithm: str, path: Path, limit: float) -> int | None:
    """Train in a process that is killed after ``limit`` seconds: its status, None if it was."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            train(algorithm, path)
            status = 0
        except BaseException:
            path.with_name(f"{path.name}.error").write_text(traceback.format_exc())
        finally:
            os._exit(status)
    return ended_within(child, limit)


def ended_within(child: int, seconds: float) -> int | None:
    """The exit status of a child process; None if it had not ended by then, and was killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
