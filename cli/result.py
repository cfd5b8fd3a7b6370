"""`Result`: the output of a command; `show` prints it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ludarium.base.console import output, say


@dataclass(frozen=True)
class Result:
    """The output of a command.

    Attributes:
        data: JSON values, for programs; if None, the text is printed instead.
        text: text for people; nothing is printed if it is empty.
        status: the exit status.
        caveats: limits of the result; a text for people contains them too.
    """

    data: Any
    text: str
    status: int = 0
    caveats: Sequence[str] = ()


def show(result: Result, as_json: bool) -> int:
    """Print a result; return the exit status."""
    if as_json and result.data is not None:
        print_json(result.data)
        for caveat in result.caveats:
            warn(caveat)
    elif result.text:
        output(result.text)
    return result.status


def print_json(data: Any) -> None:
    """Print results as JSON."""
    output(json.dumps(data, indent=2))


def warn(text: str) -> None:
    """Print a warning to standard error."""
    say(f"ludarium: warning: {text}")
