"""Prints the lowest versions that pyproject.toml allows for the environments, as pip's constraints.

python tests/lowest_versions.py > constraints-lowest.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def lowest_versions() -> dict[str, str]:
    """The lower bound of each requirement of the environments, their pictures and the compiler."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *extras["compile"], *extras["render"]]
    return dict(re.findall(r"([\w-]+)>=([\d.]+)", "\n".join(requirements)))


if __name__ == "__main__":
    for name, bound in lowest_versions().items():
        print(f"{name}=={bound}")
