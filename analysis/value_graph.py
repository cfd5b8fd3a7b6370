"""The value of a game's positions as a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from .games import GameAnalysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The kinds of files that a picture can be written as.
FORMATS = (".svg", ".png")

_INK, _FIRST, _SECOND, _MARK = "#2b2b2b", "#d98e2b", "#3f6fa8", "#b3261e"
_MARKED = 5  # of the moves that lost most


def draw_value_graph(analysis: GameAnalysis) -> Figure:
    """The value for player 0 after each ply; the moves that lost most are marked.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "ludarium[train]"') from error
    known = [(ply, value) for ply, value in enumerate(analysis.values) if value is not None]
    plies, values = [ply for ply, _ in known], [value for _, value in known]
    figure = Figure(figsize=(8.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.fill_between(
        plies,
        values,
        0,
        where=[v >= 0 for v in values],
        interpolate=True,
        color=_FIRST,
        alpha=0.35,
        linewidth=0,
    )
    axes.fill_between(
        plies,
        values,
        0,
        where=[v <= 0 for v in values],
        interpolate=True,
        color=_SECOND,
        alpha=0.35,
        linewidth=0,
    )
    axes.plot(plies, values, color=_INK, linewidth=1.5, marker="o", markersize=2.5)
    axes.axhline(0, color=_INK, linewidth=0.8)
    for move in analysis.worst(_MARKED):
        after = analysis.values[move.ply]
        assert after is not None
        axes.plot([move.ply], [after], marker="o", markersize=7, color=_MARK, fillstyle="none")
        axes.annotate(
            f"{move.ply}. {move.text}",
            (move.ply, after),
            textcoords="offset points",
            xytext=(0, 9 if after < 0.8 else -14),
            ha="center",
            fontsize=8,
            color=_MARK,
        )
    axes.set_ylim(-1.08, 1.08)
    axes.set_xlim(0, max(1, len(analysis.values) - 1))
    axes.set_yticks([-1, -0.5, 0, 0.5, 1], ["player_1 wins", "", "even", "", "player_0 wins"])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("ply")
    axes.set_title(f"{analysis.game.title}, values by {analysis.agent}", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def picture_of(analysis: GameAnalysis, suffix: str) -> bytes:
    """`draw_value_graph` as the content of a file of one of the `FORMATS`."""
    file = io.BytesIO()
    metadata = {"Date": None} if suffix.lower() == ".svg" else None
    figure = draw_value_graph(analysis)
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "ludarium"}):  # the same picture has the same bytes
        figure.savefig(file, format=suffix.lower().removeprefix("."), dpi=150, metadata=metadata)
    return file.getvalue()
