"""The package `examples/classics`: it passes its own tests, and its entry points are found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.installed import install
from tests.processes import LUDARIUM, python

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "classics"


@pytest.mark.parametrize("kind", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_the_package_passes_its_own_tests(kind):
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", kind)
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder, which is on the path, with what `pip install` writes of the package."""
    about = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path, about["name"], {}, about["entry-points"])
    return os.pathsep.join([str(tmp_path), str(FOLDER)])


def run(path, *arguments):
    ended = python(LUDARIUM, *arguments, "--json", environment={"PYTHONPATH": path})
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_its_games_are_listed_and_its_solver_answers(installed):
    assert {"connect_four", "hex", "othello"} <= {each["name"] for each in run(installed, "games")}
    asked = ("probe", "connect_four", "--moves", "d d d d d d e e a b b a g f a c c c")
    found = run(installed, *asked)
    assert found["source"] == "search made for Connect Four"
    assert None not in [each["value"] for each in found["actions"]]
