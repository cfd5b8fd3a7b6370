"""Lets the tests import what they share as ``tests...``, and keeps windows off the screen."""

import os
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

if "PYTEST_XDIST_WORKER" in os.environ:  # processes side by side: a core for each
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one game, or else of one module, go to one process: no two compile the same."""
    for item in items:
        group = _game_of(item) or item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))


def _game_of(item: pytest.Item) -> str | None:
    """The game and options that a test is repeated for, see the fixtures of ``tests/envs``."""
    parameters = getattr(item, "callspec", None)
    if parameters is None:
        return None
    for name in {"game", "default_game"} & set(parameters.params):
        value = parameters.params[name]
        kind, options = value if isinstance(value, tuple) else (value, {})
        return f"{getattr(kind, 'name', kind)} {options}"
    return None
