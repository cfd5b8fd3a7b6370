"""Names the upper bounds of pyproject.toml that leave out a release; it fails if one is not KNOWN.

    .venv/bin/python .ci/caps.py

It asks the package index, through pip, for the newest release of each package that is required with
a bound. A release that the bound leaves out is listed: allow it as soon as the tests pass with it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
#: Packages whose bounds stay for now, for the reasons in pyproject.toml.
KNOWN = {"pytest", "ziglang"}


def requirements() -> list[Requirement]:
    """All requirements of the project: its own, those of extras, and those for development."""
    about = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = about["project"]
    extras, groups = project["optional-dependencies"], about["dependency-groups"]
    lists = [project["dependencies"], *extras.values(), *groups.values()]
    found = {text for each in lists for text in each if isinstance(text, str)}
    return [each for each in map(Requirement, sorted(found)) if each.name != project["name"]]


def newest(name: str) -> str:
    """The newest release of a package for this Python."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions", name],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    match = re.match(r"\S+ \(([^)]+)\)", told)
    if match is None:
        raise ValueError(f"pip tells no version of {name}: {told[:80]!r}")
    return match[1]


if __name__ == "__main__":
    held = {
        requirement: version
        for requirement in requirements()
        if (version := newest(requirement.name)) not in requirement.specifier
    }
    for requirement, version in held.items():
        print(f"{requirement}: the newest is {version}")
    print(f"bounds that leave out a package's newest release: {len(held)}")
    sys.exit(any(requirement.name not in KNOWN for requirement in held))
