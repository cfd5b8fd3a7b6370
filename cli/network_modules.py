"""``--network-module``: the user's own network classes, imported only if named here."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module


def add_network_module(parser: argparse.ArgumentParser) -> None:
    """Add ``--network-module``."""
    parser.add_argument(
        "--network-module",
        action="append",
        default=[],
        dest="network_modules",
        metavar="MODULE:CLASS",
        help="a network of your own that a configuration or checkpoint may name, such as mine:Net "
        "in mine.py here; its code is run (may be repeated)",
    )


def register_network_modules(names: list[str]) -> None:
    """Import networks and register them by these names.

    Raises:
        ValueError: a name is malformed, or there is no such module or class.
    """
    if not names:
        return
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file here takes the place of a package
    from ludarium.models import register_network

    for name in names:
        module, _, attribute = name.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except (ModuleNotFoundError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(
                f"--network-module {name!r:.200}: {error}; write MODULE:CLASS, such as "
                "mine:Net for class Net in mine.py"
            ) from error
        register_network(name, found)
