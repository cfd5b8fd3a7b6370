"""`Result`: what a command found; `show` prints it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """What a command found.

    Attributes:
        data: JSON values, for programs.
        text: for people; nothing is printed if it is empty.
        status: of the exit.
        caveats: what limits the result; a text for people has them too.
    """

    data: Any
    text: str
    status: int = 0
    caveats: Sequence[str] = ()


def show(result: Result, as_json: bool) -> int:
    """Print a result; returns the exit status."""
    if as_json and result.data is not None:
        print_json(result.data)
        for caveat in result.caveats:
            warn(caveat)
    elif result.text:
        print(result.text)
    return result.status


def print_json(data: Any) -> None:
    """Print results as JSON."""
    json.dump(data, sys.stdout, indent=2)
    print()


def warn(text: str) -> None:
    """Print a warning to standard error."""
    print(f"ludarium: warning: {text}", file=sys.stderr)
