"""Measures the size of installations, for the table in docs/guide/install.md; needs uv.

    python docs/tools/sizes.py build/dist/ludarium-*.whl [ARGUMENTS OF uv pip install]

The wheel is installed bare and with each extra, each time in an environment of its own. A row has
the number of packages and the megabytes (10^6 bytes) of their files.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
#: Prints the number of packages and the bytes of all their files.
COUNT = """
from importlib.metadata import distributions
found = list(distributions())
files = {each.locate_file(file) for each in found for file in each.files or ()}
print(len(found), sum(path.stat().st_size for path in files if path.is_file()))
"""


def measure(requirement: str, arguments: list[str]) -> tuple[int, int]:
    """Numbers of packages and of bytes that a requirement installs, itself included."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder, "bin", "python"))
        for command in (
            ["uv", "venv", "--quiet", "--python", sys.executable, folder],
            ["uv", "pip", "install", "--quiet", "--python", python, *arguments, requirement],
        ):
            subprocess.run(command, check=True)
        told = subprocess.run([python, "-c", COUNT], check=True, capture_output=True, text=True)
    packages, size = map(int, told.stdout.split())
    return packages, size


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wheel, arguments = sys.argv[1], sys.argv[2:]
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    for extra in ("", *project["optional-dependencies"]):
        packages, size = measure(f"{wheel}[{extra}]" if extra else wheel, arguments)
        print(f"| `ludarium{f'[{extra}]' if extra else ''}` | {packages} | {size / 1e6:,.0f} |")
