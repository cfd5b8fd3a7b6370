"""Maps the top-level folders to packages of the ``ludarium`` namespace; the rest is in pyproject.

Found rather than listed, so that a new folder needs no line here.
"""

import json
import sys
from pathlib import Path

from setuptools import find_packages, setup

#: The page to play in a browser, which `make page` builds; a wheel made after that holds it.
PAGE = Path("play/built")


def check_page() -> None:
    """Say whether the wheel will hold the page; stop where that is not whole."""
    listed = PAGE / "site.json"
    if not listed.is_file():
        print(
            "ludarium: play/built has no page, so a wheel goes without (make page)", file=sys.stderr
        )
        return
    for address in json.loads(listed.read_text(encoding="utf-8"))["files"]:
        if not (PAGE / address).is_file():
            sys.exit(f"ludarium: the page in {PAGE} lacks {address}: remove {PAGE}, then make page")


check_page()

#: The top-level folders that are packages say so by a file for type checkers.
ROOMS = sorted(marker.parent.name for marker in Path().glob("*/py.typed"))

setup(
    packages=[
        name
        for room in ROOMS
        for name in (
            f"ludarium.{room}",
            *(f"ludarium.{room}.{package}" for package in find_packages(room)),
        )
    ],
    package_dir={f"ludarium.{room}": room for room in ROOMS},
    package_data={
        "": ["*.json", "*.table", "README.md", "py.typed"],
        "ludarium.analysis": ["exact_tests/hard/*.jsonl"],
        "ludarium.arena.report": ["templates/*"],
        "ludarium.configs": ["*/*.yaml"],
        "ludarium.models": ["shipped/*"],
        "ludarium.play": ["js/*", "npm/*", "page/**/*", "built/**/*"],
    },
)
