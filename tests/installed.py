"""Pretends that a package is installed, with entry points, from a folder of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path,
    package: str,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> None:
    """Write modules, by file name, and what tells Python of the package, by group and name.

    The folder has to be on the path where packages are looked for.
    """
    for name, text in modules.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    (about / "METADATA").write_text(metadata, encoding="utf-8")
    lines = []
    for group, points in entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
