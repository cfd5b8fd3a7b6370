"""The value of a game's positions as a picture."""

from __future__ import annotations

import os

from .figures import INK, figure_file, short_name
from .games import GameAnalysis

_FIRST, _SECOND, _MARK = "#d98e2b", "#3f6fa8", "#b3261e"
_MARKED = 5  # how many of the worst moves are marked


def plot_values(analysis: GameAnalysis, path: str | os.PathLike[str]) -> None:
    """Draw the value for player 0 after each ply; the moves that lost most are marked.

    Args:
        analysis: the game's analysis.
        path: the file to write; its suffix, one of `figures.SUFFIXES`, chooses the format.

    Raises:
        ValueError: the suffix is another one.
        ModuleNotFoundError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    known = [(ply, value) for ply, value in enumerate(analysis.values) if value is not None]
    plies, values = [ply for ply, _ in known], [value for _, value in known]
    with figure_file(path, 8.0, 3.6) as figure:
        from matplotlib.ticker import MaxNLocator

        axes = figure.add_subplot()
        for sign, colour in ((1, _FIRST), (-1, _SECOND)):
            axes.fill_between(
                plies,
                values,
                0,
                where=[sign * value >= 0 for value in values],
                interpolate=True,
                color=colour,
                alpha=0.35,
                linewidth=0,
            )
        axes.plot(plies, values, color=INK, linewidth=1.5, marker="o", markersize=2.5)
        axes.axhline(0, color=INK, linewidth=0.8)
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
        axes.set_title(
            f"{analysis.game.title}, values by {short_name(analysis.agent)}", fontsize=10
        )
