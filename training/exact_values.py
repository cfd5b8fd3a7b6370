"""Exact values come from another package, which is found by entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

#: The group of the installed functions for exact values. ``prober_of(game, memory)`` returns
#: a source of exact values, ``find_exact_test(name, game)`` an exact test.
EXACT_VALUES_ENTRY_POINTS = "ludarium.exact_values"


def installed_source(function: str, key: str) -> Any:
    """The installed function with this name.

    Args:
        function: its name.
        key: the key of the configuration that needs it.

    Raises:
        ImportError: no installed package has it.
    """
    installed = entry_points(group=EXACT_VALUES_ENTRY_POINTS, name=function)
    try:
        return next(iter(installed)).load()
    except (StopIteration, ImportError) as error:
        raise ImportError(
            f"{key} needs exact values, and no installed package has them: install ludarium "
            f"anew, or leave {key} out"
        ) from error
