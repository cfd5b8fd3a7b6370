"""`Result`: the output of a command; `show` prints it."""

from __future__ import annotations

import argparse
import json
import re
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


#: An argument with its value, and another folder, as the library's messages name them.
_ARGUMENT = re.compile(r"(?<![\w.?&-])([a-z_]+)=(\w+)|\banother (folder)\b")
#: What the command line has for these functions.
_MODULES = {
    "register_game": "ludarium --game-module MODULE",
    "register_network": "ludarium --network-module MODULE:CLASS",
}
_options: dict[str, str] = {}  # the running command's options, by their arguments


def name_options(given: argparse.Namespace) -> None:
    """Name the options of this command from now on, where the library names its arguments."""
    _options.clear()
    _options.update(getattr(given, "option_words", {}))


def with_options(text: str) -> str:
    """A library's message for the command line: ``--restart`` for ``restart=True``, and so on."""

    def option(found: re.Match[str]) -> str:
        name, value, other = found.groups()
        word = _options.get(name or other)
        if word is None:
            return found[0]
        return f"another {word}" if other else word if value == "True" else f"{word} {value}"

    for function, words in _MODULES.items():
        text = text.replace(function, words)
    return _ARGUMENT.sub(option, text)


def show(result: Result, as_json: bool) -> int:
    """Print a result; return the exit status."""
    if as_json and result.data is not None:
        print_json(result.data)
        for caveat in result.caveats:
            warn(caveat)
    elif result.text:
        text = result.text
        for caveat in result.caveats:
            text = text.replace(caveat, with_options(caveat))
        output(text)
    return result.status


def print_json(data: Any) -> None:
    """Print results as JSON."""
    output(json.dumps(data, indent=2))


def warn(text: str) -> None:
    """Print a warning to standard error."""
    say(f"ludarium: warning: {with_options(text)}")
