"""Lets the tests import what they share as ``tests...``, and makes each run like the one before.

No test depends on luck, nor on those that ran before it in the same process: hypothesis tries the
same examples each time, and torch, whose random numbers give networks their weights, begins every
test alike.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ludarium.machine.layouts import all_fit, layout_of
from ludarium.machine.unit import Unit

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # for tests that import onnxruntime

# Processes side by side have a core each, and one by itself is like them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell has Ctrl-C ignored by what it runs in the background; tests, and processes that they
# start, hear it all the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is not a finding either, so that there are no limits of time.
settings.register_profile(
    "repeatable",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed torch before any fixture of a test, those of a module included."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def kernels_declare_how_they_are_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a kernel of the packages does not declare, no library has: a user's would compile."""
    form_of, undeclared = Unit._form_of, []

    def noted(unit: Unit, kernel: str, arguments: tuple) -> Any:
        if unit.recipe.templates.startswith("ludarium."):
            layouts = tuple(map(layout_of, arguments))
            declared = [each for name, each in unit.declared() if name == kernel]
            if not any(all_fit(layouts, each) for each in declared):
                undeclared.append(f"{unit.title}: {kernel}({layouts}), declared {declared}")
        return form_of(unit, kernel, arguments)

    monkeypatch.setattr(Unit, "_form_of", noted)
    yield
    assert not undeclared, "\n".join(undeclared)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of each picture that matplotlib writes from now on."""
    drawn, kind = list[Any](), pytest.importorskip("matplotlib.figure").Figure
    save = kind.savefig
    monkeypatch.setattr(kind, "savefig", lambda *a, **k: (drawn.append(a[0].axes), save(*a, **k)))
    return drawn


@pytest.fixture
def without_agents_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if only agents for one set of options came along, so that some boards have none."""
    from ludarium.training.agents import checkpoints

    shipped = checkpoints.shipped_agents
    monkeypatch.setattr(
        checkpoints,
        "shipped_agents",
        lambda game: [path for path in shipped(game) if not path.stem.endswith("-all")],
    )


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
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
