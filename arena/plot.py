"""A picture of standings: ratings with their intervals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludarium.training.runs.files import write_file

from .standings import Standings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
INK, FAINT, POINT = "#2b2b2b", "#d0ccc2", "#2f6690"
_LONGEST = 40  # characters of a name


def plot_ratings(standings: Standings, path: str | os.PathLike[str], title: str) -> None:
    """Draw the ratings, the strongest on top, each with its 95 % interval.

    Args:
        standings: what to draw.
        path: of the file; its suffix, one of `SUFFIXES`, says what it becomes.
        title: above the picture.

    Raises:
        ValueError: another suffix.
        StorageError: the file cannot be written.
    """
    agents = standings.agents[::-1]
    elos = [agent.rating.elo for agent in agents]
    errors = [
        [agent.rating.elo - agent.rating.low for agent in agents],
        [agent.rating.high - agent.rating.elo for agent in agents],
    ]
    with figure_file(path, 7.2, 1.3 + 0.34 * len(agents)) as figure:
        axes = figure.add_subplot()
        axes.errorbar(
            elos,
            range(len(agents)),
            xerr=errors,
            fmt="o",
            color=POINT,
            ecolor=POINT,
            capsize=3,
            markersize=6,
        )
        for height, agent in enumerate(agents):
            axes.annotate(
                f"{agent.rating.elo:.0f}",
                (agent.rating.elo, height),
                textcoords="offset points",
                xytext=(0, 6),
                ha="center",
                fontsize=8,
                color=INK,
            )
        axes.set_yticks(range(len(agents)), [short_name(agent.name) for agent in agents])
        axes.set_ylim(-0.6, len(agents) - 0.3)
        axes.set_xlabel("Elo points, with 95 % intervals")
        axes.set_title(title, loc="left", fontsize=11)
        axes.grid(axis="x", color=FAINT, linewidth=0.6)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)


@contextmanager
def figure_file(path: str | os.PathLike[str], width: float, height: float) -> Iterator[Figure]:
    """An empty picture, which is written to a file at the end; sizes in inches."""
    kind = Path(path).suffix.lower()
    if kind not in SUFFIXES:
        raise ValueError(f"a plot is a file {', '.join(SUFFIXES)}, not {os.fspath(path)}")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Text stays text, and the same data give the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "ludarium", "font.size": 10}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        drawn = BytesIO()
        dated: dict[str, dict[str, Any]] = {".png": {}, ".pdf": {"CreationDate": None}}
        metadata = dated.get(kind, {"Date": None})
        figure.savefig(drawn, format=kind[1:], dpi=150, metadata=metadata)
    write_file(Path(path), drawn.getvalue())


def short_name(name: str) -> str:
    """A name that fits beside the picture; dollar signs are no formulas."""
    cut = name if len(name) <= _LONGEST else f"...{name[3 - _LONGEST :]}"
    return cut.replace("$", r"\$")
