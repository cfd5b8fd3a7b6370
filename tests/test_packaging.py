"""The wheel holds every package and every file that the program reads; requirements have bounds."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import EntryPoint
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from runpy import run_path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ludarium.envs import GAMES
from ludarium.envs.opponents import OPPONENT_ENTRY_POINTS
from ludarium.machine import calling
from ludarium.machine.machines import this_platform
from ludarium.play.shipping import PLATFORMS
from ludarium.training.agents.names import AGENT_ENTRY_POINTS

LIBRARY = "machine/shipped/any-system/index.json"
PAGE = ["index.html", "games/corso-size=3.wasm", "site.json"]
ROOT = Path(__file__).resolve().parent.parent
ROOMS = sorted(marker.parent.name for marker in ROOT.glob("*/py.typed"))


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A copy of the sources, because building leaves folders behind; with a page as if built."""
    folder = tmp_path_factory.mktemp("wheel") / "source"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    for name in files:
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    for name in PAGE:
        (folder / "play/built" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "play/built" / name).write_text(json.dumps({"files": PAGE}))
    (folder / LIBRARY).parent.mkdir(parents=True)
    (folder / LIBRARY).write_text("{}")
    return folder


def _make_wheel(source: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(source.parent), str(source)),
        ],
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    done = _make_wheel(source)
    assert done.returncode == 0, done.stdout
    (made,) = source.parent.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _metadata(wheel: Path) -> tuple[str, str]:
    """What the wheel says of itself, and the page that an index shows."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        about, _, page = archive.read(name).decode().partition("\n\n")
    return about, page


@pytest.mark.slow
def test_a_wheel_holds_the_page_that_was_built(wheel_names):
    assert {f"ludarium/play/built/{name}" for name in PAGE} <= wheel_names


@pytest.mark.slow
def test_a_wheel_holds_the_page_for_coding_assistants(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        page = archive.read("ludarium/AGENTS.md").decode()
    assert "/ludarium/blob/v" in page
    assert "](docs" not in page


@pytest.mark.slow
def test_a_wheel_holds_the_libraries_that_were_made(wheel_names):
    assert f"ludarium/{LIBRARY}" in wheel_names


@pytest.mark.slow
def test_a_wheel_is_made_for_each_platform(wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    built = Path(shutil.copy(wheel, tmp_path))
    for platform in PLATFORMS:
        (tmp_path / "shipped" / platform).mkdir(parents=True)
        (tmp_path / "shipped" / platform / "index.json").write_text(platform)
    making = [sys.executable, str(ROOT / ".ci/wheels.py"), str(built), str(tmp_path / "shipped")]
    subprocess.run(making, check=True, capture_output=True)
    assert not built.exists()
    found = {}
    for made in tmp_path.glob("*.whl"):
        with zipfile.ZipFile(made) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        (about,) = (content for name, content in held.items() if name.endswith("/WHEEL"))
        tags = {f"cp311-abi3-{tag}" for tag in made.stem.split("-")[-1].split(".")}
        assert {line[5:] for line in about.decode().splitlines() if line.startswith("Tag")} == tags
        shipped = [name for name in held if name.startswith("ludarium/machine/shipped/")]
        (platform,) = (held[name].decode() for name in shipped)
        assert shipped == [f"ludarium/machine/shipped/{platform}/index.json"]
        (record,) = (name for name in held if name.endswith("/RECORD"))
        rows = [line.split(",") for line in held.pop(record).decode().splitlines()]
        assert {name for name, digest, _ in rows if digest} == set(held)
        (found[platform],) = (name for name in held if name.startswith("ludarium/machine/_call."))
        if platform == this_platform():
            extension = tmp_path / "_call.abi3.so"
            extension.write_bytes(held[found[platform]])
            loader = ExtensionFileLoader("_call", str(extension))
            loaded = module_from_spec(spec_from_file_location("_call", extension, loader=loader))
            assert loaded.level() == calling.level()
    assert set(found) == set(PLATFORMS)


@pytest.mark.slow
def test_a_wheel_says_that_the_page_is_not_whole(wheel_names, source, tmp_path):
    broken = tmp_path / "source"
    shutil.copytree(source, broken)
    (broken / "play/built" / PAGE[0]).unlink()
    done = _make_wheel(broken)
    assert done.returncode != 0
    assert f"lacks {PAGE[0]}: remove play/built, then make page" in done.stdout + done.stderr
    shutil.rmtree(broken / "play/built")
    done = _make_wheel(broken)
    assert done.returncode == 0
    assert "play/built has no page, so the wheel will have none" in done.stdout + done.stderr


@pytest.mark.slow
def test_the_wheel_holds_every_source_file(wheel_names):
    for room in ROOMS:
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
            assert callable(loaded)


def test_the_wheel_holds_the_data_files(wheel_names):
    data = [
        file
        for room in ROOMS
        for pattern in (
            "*.yaml",
            "*.json",
            "*.js",
            "page/**/*.*",
            "templates/*",
            "*.safetensors",
            "*.jsonl",
            "README.md",
            "py.typed",
        )
        for file in (ROOT / room).rglob(pattern)
        if not any(file.is_relative_to(ROOT / made) for made in ("play/built", "machine/shipped"))
    ]
    assert len(data) >= 7
    for file in data:
        assert f"ludarium/{file.relative_to(ROOT)}" in wheel_names


def test_every_requirement_has_bounds_and_the_pinned_version_is_within() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project, groups = about["project"], about["dependency-groups"].values()
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *groups]
    requirements = [Requirement(text) for each in lists for text in each if isinstance(text, str)]
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


def test_the_index_shows_a_page_whose_links_and_pictures_are_found(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about, page = _metadata(wheel)
    place = f"/ludarium/blob/v{project['version']}/docs/guide/README.md"
    assert place in page
    addresses = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", page)
    assert len(addresses) > 20
    assert [each for pair in addresses for each in pair if each and "://" not in each] == []
    assert all("raw.githubusercontent.com" in each for each in re.findall(r"\S+\.gif", page))
    assert "Classifier: Typing :: Typed" in about
    assert "License-File: NOTICES.md" in about


def test_only_one_place_says_where_the_project_is() -> None:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    placed = re.compile(
        rb"(github\.com|raw\.githubusercontent\.com)/[\w-]+/ludarium|github\.io/lud"
    )
    found = {name for name in names if placed.search((ROOT / name).read_bytes())}
    assert found == {"pyproject.toml"}


@pytest.mark.slow
def test_a_type_checker_knows_the_games(wheel: Path, tmp_path: Path) -> None:
    """In a project of somebody who has installed the wheel, as strictly as can be."""
    pytest.importorskip("mypy")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "packages")
    names = [f"{name}_v{version}" for name, version in GAMES.versions().items()]
    lines = [
        f"from ludarium.envs import {', '.join(names)}",
        *(f"reveal_type({name}.env)" for name in names),
    ]
    (tmp_path / "mine.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "mine.py"],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": "packages"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.count("GuardedBoardGameEnv") == len(names), done.stdout
    assert "error:" not in done.stdout


def test_the_version_is_the_same_wherever_it_is_written() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    written = project["version"]
    assert f"\nversion: {written}\n" in citation
    assert re.findall(r"^## ([\d.]+\d)", changes, re.MULTILINE)[0] == written


def test_lines_of_code_are_counted_without_comments_and_docstrings(monkeypatch, tmp_path, capsys):
    counter = run_path(str(ROOT / ".ci/lines.py"))
    python = (
        '"""Docstring\n\n# text"""\nx = """text\n# text"""  # no\n\n# y\nif x:\n    """Text."""\n'
    )
    assert counter["lines_of_python"](python) == 3
    c = '/* one\n   two */ int x; // x\n\n// y\nchar *s = "//";\nf(/[/*]/);\nx/2; /* a\nb */\n'
    assert counter["lines_of_c"](c) == 4

    limits = tmp_path / "limits.toml"
    monkeypatch.setitem(counter["main"].__globals__, "LIMITS", limits)
    monkeypatch.setitem(counter["main"].__globals__, "count", lambda: {"base": 7, "tests": 5})
    limits.write_text("packages = 7\ntests = 5\n")
    assert counter["main"]() == 0
    limits.write_text("packages = 7\ntests = 4\n")
    assert counter["main"]() == 1
    assert "tests have 1 lines of code too many" in capsys.readouterr().out
