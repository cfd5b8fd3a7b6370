"""The functions for exact values, which `ludarium.analysis` offers and entry points find."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

#: The entry-point group of the functions for exact values. ``prober_of(game, memory)`` returns
#: a source of exact values, ``find_exact_test(name, game)`` an exact test.
EXACT_VALUES_ENTRY_POINTS = "ludarium.exact_values"


def installed_source(function: str, key: str) -> Any:
    """The installed function with this name.

    Args:
        function: its name.
        key: the configuration key that needs it, for the message.

    Raises:
        ImportError: no installed package has it.
    """
    installed = entry_points(group=EXACT_VALUES_ENTRY_POINTS, name=function)
    try:
        return next(iter(installed)).load()
    except (StopIteration, ImportError) as error:
        raise ImportError(
            f"{key} needs exact values, and no installed package has them: reinstall "
            f"ludarium, or leave {key} out"
        ) from error
