"""Objects that installed packages add by entry points; an object is imported when used."""

from __future__ import annotations

import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from .engine.messages import shortened


class PluginError(ValueError):
    """An object of an installed package cannot be used; the message names the package."""


def find_plugins(group: str) -> dict[str, EntryPoint]:
    """The entry points of ``group`` by name; nothing is imported.

    If two packages offer the same name, the alphabetically first package has it, and a warning
    names both.
    """
    found: dict[str, EntryPoint] = {}
    for plugin in sorted(entry_points(group=group), key=package_of):
        first = found.setdefault(plugin.name, plugin)
        if first is not plugin:
            warnings.warn(
                f"{plugin.name!r} ({group}) is offered by the packages {package_of(first)} and "
                f"{package_of(plugin)}: the first is taken; uninstall one of them",
                stacklevel=2,
            )
    return found


def load_plugin(plugin: EntryPoint) -> Any:
    """The object that an entry point names.

    Raises:
        PluginError: the import fails; the message names the reason and the package.
    """
    try:
        return plugin.load()
    except Exception as error:  # a stranger's module may raise anything
        reason = f"{type(error).__name__}: {error}"
        raise refusal(plugin, f"cannot be imported ({shortened(reason)})") from error


def refusal(plugin: EntryPoint, reason: str) -> PluginError:
    """The error for an entry point that cannot be used; its message names the package."""
    return PluginError(
        f"{plugin.name!r} ({plugin.value}) of the installed package {package_of(plugin)} {reason}; "
        "repair or uninstall that package"
    )


def package_of(plugin: EntryPoint) -> str:
    """The name of the distribution that an entry point belongs to."""
    return plugin.dist.name if plugin.dist is not None else "(unknown)"
