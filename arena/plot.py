"""A picture of standings: ratings with their intervals."""

from __future__ import annotations

import os

from ludarium.analysis.figures import INK, POINT, figure_file, short_name

from .standings import Standings


def plot_ratings(standings: Standings, path: str | os.PathLike[str], title: str) -> None:
    """Draw the ratings, the strongest on top, each with its 95 % interval.

    Args:
        standings: the standings to draw.
        path: the file to write; its suffix, one of `figures.SUFFIXES`, chooses the format.
        title: title above the picture.

    Raises:
        ValueError: the suffix is another one.
        ModuleNotFoundError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    names, ratings = zip(*reversed(standings.ratings.items()), strict=True)
    elos = [rating.value for rating in ratings]
    errors = [
        [rating.value - rating.low for rating in ratings],
        [rating.high - rating.value for rating in ratings],
    ]
    with figure_file(path, 7.2, 1.3 + 0.34 * len(names)) as figure:
        axes = figure.add_subplot()
        axes.errorbar(
            elos,
            range(len(names)),
            xerr=errors,
            fmt="o",
            color=POINT,
            ecolor=POINT,
            capsize=3,
            markersize=6,
        )
        for height, elo in enumerate(elos):
            axes.annotate(
                f"{elo:.0f}",
                (elo, height),
                textcoords="offset points",
                xytext=(0, 6),
                ha="center",
                fontsize=8,
                color=INK,
            )
        axes.set_yticks(range(len(names)), [short_name(name) for name in names])
        axes.set_ylim(-0.6, len(names) - 0.3)
        axes.set_xlabel("Elo points, with 95 % intervals")
        axes.set_title(title, loc="left", fontsize=11)
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
