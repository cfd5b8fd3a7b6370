"""Objects of others: of installed packages, by entry points, and of the user's own modules.

An object is imported when it is used.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from ludarium.base.messages import quoted, shortened

#: Beginnings of the file names of Python's own frames in the traceback of an import.
_IMPORTING = ("<frozen importlib", os.path.dirname(importlib.__file__))


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
        raise refusal(plugin, f"cannot be imported ({_reason_of(error)})") from error


def import_own(name: str) -> ModuleType:
    """Import a module of the user's, from Python's path or the current folder.

    Raises:
        ValueError: it cannot be imported; the message has the reason, and its file and line, or
            where the module was looked for.
    """
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that no file here hides a package
    try:
        return importlib.import_module(name)
    except Exception as error:  # a user's module may raise anything
        looked = ""
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            looked = f"; it is looked for in Python's path and in the current folder, {folder}"
        raise ValueError(f"cannot be imported ({_reason_of(error)}){looked}") from error


def _reason_of(error: Exception) -> str:
    """The error of a module that was imported, with the last line of its package's own code."""
    reason = shortened(f"{type(error).__name__}: {error}")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and not frame.filename.startswith(_IMPORTING)
    ]
    if not frames:  # it was not found, or is no Python: then Python tells its file and line
        return reason
    home = os.path.dirname(frames[0].filename)
    frame = [each for each in frames if each.filename.startswith(home)][-1]
    return f"{reason}, in {quoted(frame.filename, 100)}, line {frame.lineno}"


def refusal(plugin: EntryPoint, reason: str) -> PluginError:
    """The error for an entry point that cannot be used; its message names the package."""
    return PluginError(
        f"{plugin.name!r} ({plugin.value}) of the installed package {package_of(plugin)} {reason}; "
        "repair or uninstall that package"
    )


def package_of(plugin: EntryPoint) -> str:
    """The name of the distribution that an entry point belongs to."""
    return plugin.dist.name if plugin.dist is not None else "(unknown)"
