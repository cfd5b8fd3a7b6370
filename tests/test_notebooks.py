"""The notebooks run from top to bottom, and are kept with what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
REMEDY = "run `python docs/tools/notebooks.py`"
MOST_BYTES = 100_000


def _shown(cell: Any) -> list[object]:
    """What a cell shows, but for numbers and moves, which differ in their last digits elsewhere.

    Of a text the words without digits, in order; of pictures their kinds.
    """
    found: list[object] = []
    for output in cell.get("outputs", []):
        text = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        found.append((output["output_type"], sorted(output.get("data", {}))))
        found.append(re.findall(r"(?<![^\s(])[a-z_]{4,}(?![^\s,.:;)])", text))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_show_what_comes_out(path: Path) -> None:
    for package in ("nbclient", "nbformat", "ipykernel"):
        pytest.importorskip(package)
    program = run_path(str(DOCS / "tools" / "notebooks.py"))
    kept = program["nbformat"].read(path, as_version=4)
    for old, new in zip(kept.cells, program["run"](path).cells, strict=True):
        assert _shown(old) == _shown(new), REMEDY


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_with_outputs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count('"output_type"') > 2, REMEDY
    assert '"execution_count": null' not in text, REMEDY
    assert '"output_type": "error"' not in text
    assert len(text) < MOST_BYTES
