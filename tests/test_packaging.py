"""The wheel holds every package and every file that the program reads; requirements have bounds."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ludarium.envs.opponents import OPPONENT_ENTRY_POINTS
from ludarium.training.agents.names import AGENT_ENTRY_POINTS, AgentKind

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # From a copy, because building leaves folders behind.
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    for name in files:
        if (ROOT / name).is_file():
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(folder), str(source)),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_source_file(wheel_names):
    for room in ("envs", "models", "training", "analysis", "arena", "cli", "configs"):
        for file in (ROOT / room).rglob("*.py"):
            assert f"ludarium/{file.relative_to(ROOT)}" in wheel_names
    assert not any(name.startswith(("tests", "benchmarks")) for name in wheel_names)


def test_what_the_package_says_of_itself_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    assert {OPPONENT_ENTRY_POINTS, AGENT_ENTRY_POINTS} <= set(groups)
    for group, points in groups.items():
        for name, value in points.items():
            loaded = EntryPoint(name, value, group).load()
            assert callable(loaded) or isinstance(loaded, AgentKind)


def test_the_wheel_holds_the_data_files(wheel_names):
    data = [
        file
        for room in ("envs", "models", "training", "analysis", "arena", "cli", "configs")
        for pattern in ("*.yaml", "*.json", "*.safetensors", "*.table", "README.md", "py.typed")
        for file in (ROOT / room).rglob(pattern)
    ]
    assert len(data) >= 7
    for file in data:
        assert f"ludarium/{file.relative_to(ROOT)}" in wheel_names


def test_every_requirement_has_bounds_and_the_pinned_version_is_within() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [Requirement(text) for group in groups for text in group]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {
        canonicalize_name(name): version
        for name, _, version in (line.partition("==") for line in lines if line[0] != "#")
    }
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        if name == "ludarium":
            continue
        assert {each.operator for each in requirement.specifier} in ({">=", "<"}, {"=="})
        if name in pins:
            assert pins[name] in requirement.specifier
    assert len(pins) > 30
