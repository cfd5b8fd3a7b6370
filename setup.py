"""Maps the top-level folders to packages of the ``ludarium`` namespace; the rest is in pyproject.

Found rather than listed, so that a new folder needs no line here.
"""

from pathlib import Path

from setuptools import find_packages, setup

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
        "ludarium.configs": ["*/*.yaml"],
        "ludarium.models": ["shipped/*"],
        "ludarium.play": ["js/*"],
    },
)
