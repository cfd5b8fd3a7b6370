"""Checks numbers that a caller gives: whole ones within bounds, seeds, and flags; derives seeds."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .messages import quoted

#: Seeds are below this: they have 128 bits, like the seeds that numpy draws from the system.
SEED_LIMIT = 2**128


def index(value: Any) -> int:
    """A whole number as an ``int``, as ``operator.index`` gives it; False and True are none.

    Raises:
        TypeError: the value is not a whole number.
    """
    if isinstance(value, bool):
        raise TypeError("False and True are not whole numbers")
    return operator.index(value)


def checked_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """The value as an ``int``: a whole number from ``least`` to ``most``, or from ``least`` on.

    Raises:
        ValueError: the value is not one; the message begins with ``name``.
    """
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least or (most is not None and number > most):
        end = "on" if most is None else f"to {most:,}"
        raise ValueError(f"{name} is {quoted(value)}; accepted: a whole number from {least} {end}")
    return number


def checked_flag(name: str, value: Any) -> bool:
    """A flag; ``ValueError`` unless it is False or True. The message begins with ``name``."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {quoted(value)}; accepted: False or True")
    return bool(value)


def checked_seed(seed: Any) -> int:
    """The seed of a game's start; ``ValueError`` unless it is an integer that a record may hold."""
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < SEED_LIMIT:
        raise ValueError(f"seed is {quoted(seed)}; accepted: an integer from 0 to 2**128 - 1")
    return number


def require_seed(seed: Any) -> Any:
    """Return what random numbers can be drawn from: a seed, a ``SeedSequence`` or None.

    Raises:
        ValueError: it is none of these, or no valid seed, see `checked_seed`.
    """
    return seed if isinstance(seed, np.random.SeedSequence | None) else checked_seed(seed)


def derived_seed(seed: int, number: int) -> int:
    """A seed below 2**32 for part ``number`` of something that has one ``seed``; both from 0 on."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
