"""Writes matplotlib figures to files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludarium.base.messages import needing
from ludarium.base.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The suffixes of files of pictures, which choose the format.
SUFFIXES = (".svg", ".png", ".pdf")
INK, FAINT, POINT = "#2b2b2b", "#d0ccc2", "#2f6690"

_LONGEST = 40  # most characters of a name


@contextmanager
def figure_file(path: str | os.PathLike[str], width: float, height: float) -> Iterator[Figure]:
    """A context with an empty figure, written to a file at the end; sizes are in inches.

    Raises:
        ValueError: the path ends in none of `SUFFIXES`.
        ModuleNotFoundError: matplotlib is not installed; the message says how to install it.
        OSError: the file cannot be written.
    """
    kind = Path(path).suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"a plot's file ends in {', '.join(SUFFIXES)}, not {os.fspath(path)}")
    with needing("train"):  # slow to import
        from matplotlib import rc_context
        from matplotlib.figure import Figure

    with rc_context(
        {
            "axes.axisbelow": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "font.size": 10,
            "grid.color": FAINT,
            "grid.linewidth": 0.6,
            # SVG keeps text as text, and the same data give the same file.
            "svg.fonttype": "none",
            "svg.hashsalt": "ludarium",
        }
    ):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        drawn = BytesIO()
        dated: dict[str, dict[str, Any]] = {".png": {}, ".pdf": {"CreationDate": None}}
        metadata = dated.get(kind, {"Date": None})
        figure.savefig(drawn, format=kind[1:], dpi=150, metadata=metadata)
    write_whole(Path(path), drawn.getvalue())


def short_name(name: str) -> str:
    """A name, if it is longer than 40 its end after ``...``; ``$`` is escaped for matplotlib."""
    cut = name if len(name) <= _LONGEST else f"...{name[3 - _LONGEST :]}"
    return cut.replace("$", r"\$")
