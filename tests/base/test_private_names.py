"""Where numba or PettingZoo has lost a private name, the error says which, and what to do."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

from ludarium.envs import pettingzoo_private
from ludarium.machine.making import numba_names as private

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("module", "path", "name"),
    [
        (private, "numba.core.codegen", "JITCodeLibrary"),
        (private, "numba.core.codegen.JITCodeLibrary", "_optimize_final_module"),
        (private, "numba.core.compiler.Flags", "noalias"),
        (private, "numba.core.options.DefaultOptions", "_nrt"),
        (private, "numba.np.arrayobj", "populate_array"),
        (private, "numba.core.cgutils", "unpack_tuple"),
        (pettingzoo_private, "pettingzoo.AECEnv", "_was_dead_step"),
        (pettingzoo_private, "pettingzoo.utils.env", "AECIterable"),
        (pettingzoo_private, "pettingzoo.utils.env_logger.EnvLogger", "warn_on_illegal_move"),
    ],
)
def test_a_name_that_is_gone_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, path: str, name: str
) -> None:
    for owner in getattr(_found(path), "__mro__", [_found(path)]):
        if name in vars(owner):
            monkeypatch.delattr(owner, name)
    package = path.split(".")[0]
    requirement = module.required.requirement
    message = rf"{package} {version(package)} has no {path}\.{name}, .*'{requirement}'"
    with pytest.raises(ImportError, match=message):
        _run_again(module)


def test_the_turn_that_pettingzoo_hands_on_must_be_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pettingzoo.AECEnv._was_dead_step", lambda self, action: None)
    with pytest.raises(ImportError, match="_skip_agent_selection"):
        _run_again(pettingzoo_private)


@pytest.mark.parametrize("module", [private, pettingzoo_private])
def test_the_remedy_names_the_versions_that_the_project_accepts(module: ModuleType) -> None:
    assert f'"{module.required.requirement}"' in PROJECT.read_text()


def _found(path: str) -> object:
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def _run_again(module: ModuleType) -> None:
    """Run the module's source in a module of the same package."""
    again = ModuleType(module.__name__)
    again.__package__ = module.__package__
    exec(compile(Path(str(module.__file__)).read_text(), "again", "exec"), vars(again))
