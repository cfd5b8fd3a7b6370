"""Runs the notebooks and stores their outputs: ``python docs/tools/notebooks.py [NAME ...]``."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def run(path: Path) -> nbformat.NotebookNode:
    """Run a notebook from top to bottom in a new folder, with an empty cache.

    Returns:
        The notebook with its outputs, but without progress bars, times and versions of this
        run.
    """
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        # A kernel that pytest has started would not show what its own children print.
        environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
        environment["XDG_CACHE_HOME"] = str(Path(folder, "cache"))
        client = nbclient.NotebookClient(book, timeout=None, resources=place, coalesce_streams=True)
        client.execute(env=environment)
    book.metadata["language_info"] = {"name": "python"}  # without the version
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    return book


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
        path = NOTEBOOKS / f"{name}.ipynb"
        nbformat.write(run(path), path)
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
