"""Options of a game: what each accepts, and checks whose errors name it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.base.messages import did_you_mean, quoted, shortened


class UnknownOptionError(TypeError, ValueError):
    """A game has no such option.

    It is a ``TypeError`` in Python's own words, because libraries try keyword arguments and look
    for these, and a ``ValueError`` too, because the name may come from a file. ``args`` of one from
    `check_options` are two texts; the first says what is wrong and what is accepted, the second
    what Python would say.
    """

    def __str__(self) -> str:
        return ": ".join(map(str, self.args[::-1]))


@dataclass(frozen=True)
class Option:
    """One option of a game.

    Attributes:
        name: its name.
        default: its value where none is given.
        accepts: a ``range`` of integers, a tuple of values, or a function that returns the value in
            its normal form or raises ``ValueError`` or ``TypeError``.
        help: what it does, for people.
        accepted: what it takes, in words, if ``accepts`` is a function.
        takes_path: a text is the path of a file that holds the value. A person may name a path, but
            a file may not (see `check_stored`).

    Raises:
        ValueError: the default is not accepted.
    """

    name: str
    default: Any
    accepts: range | tuple | Callable[[Any], Any]
    help: str
    accepted: str = ""
    takes_path: bool = False

    def __post_init__(self) -> None:
        try:
            default = self.check(self.default)
        except (OSError, ValueError) as error:
            raise ValueError(f"the default of {error}") from None
        object.__setattr__(self, "default", default)

    def describe(self) -> str:
        """The accepted values in words."""
        if self.accepted:
            return self.accepted
        if isinstance(self.accepts, range):
            values = self.accepts
            if not values:
                return f"nothing, since {values} is empty"
            step = f" in steps of {values.step}" if values.step != 1 else ""
            return f"an integer from {values[0]} to {values[-1]}{step}"
        if isinstance(self.accepts, tuple):
            return "one of " + ", ".join(repr(value) for value in self.accepts)
        return "what the game takes"

    def check(self, value: Any) -> Any:
        """Return ``value`` in its normal form.

        Raises:
            ValueError: it is not accepted; the message names option, value and remedy.
            OSError: ``accepts`` raised it, such as for a missing file.
        """
        if isinstance(value, np.generic):
            value = value.item()
        fits, reason = False, ""
        if isinstance(self.accepts, range):
            fits = type(value) is int and value in self.accepts
        elif isinstance(self.accepts, tuple):
            fits = any(type(value) is type(known) and value == known for known in self.accepts)
        else:
            try:
                return self.accepts(value)
            except (TypeError, ValueError) as error:
                reason = f" ({shortened(str(error), 250)})" if str(error) else ""
        if not fits:
            raise ValueError(
                f"option {self.name!r} is {quoted(value)}; accepted: {self.describe()}{reason}"
            )
        return value


@dataclass(frozen=True)
class Clock:
    """A move clock that a front end may run, and the action that is played when it runs out.

    The rules know the action but no time. The clock runs while the action is legal and the same
    player is to move.

    Attributes:
        name: what people call it, such as ``hourglass``.
        option: the game's option that is True where it is played with the clock.
        seconds: how long it runs.
        action: the action's name.
        task: what the time is for, after "to".
    """

    name: str
    option: str
    seconds: int
    action: str
    task: str


def ply_cap(value: Any) -> int | None:
    """Return 1 to 1,000,000 plies, or ``None`` for the game's default cap; for `Option`.

    Raises:
        ValueError: the value is something else.
    """
    if value is not None and (type(value) is not int or not 1 <= value <= 1_000_000):
        raise ValueError("not a positive integer up to 1,000,000")
    return value


def check_options(game: str, options: Sequence[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the given options of a game, and add the defaults of the rest.

    Raises:
        UnknownOptionError: there is no such option.
        ValueError, OSError: see `Option.check`.
    """
    known = {option.name: option for option in options}
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known) or "none"
            raise UnknownOptionError(
                f"{game} has no option {quoted(name)} (given {quoted(value)})"
                f"{did_you_mean(name, known)}; options: {names}",
                f"{game}() got an unexpected keyword argument {quoted(name)}",
            )
    return {
        name: option.check(given[name]) if name in given else option.default
        for name, option in known.items()
    }


def check_stored(options: Sequence[Option], given: Any) -> dict[str, Any]:
    """Check and copy options from a file, which may come from a stranger, before a game does.

    Raises:
        ValueError: they are not a mapping by name, or one of them names a file to read.
    """
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ValueError(f"options are {quoted(given)}; they must be a mapping by name")
    for option in options:
        value = given.get(option.name)
        if option.takes_path and isinstance(value, str | bytes | os.PathLike):
            raise ValueError(
                f"option {option.name!r} names the file {quoted(value)}; a file cannot name "
                "another, but must hold its content"
            )
    return dict(given)
