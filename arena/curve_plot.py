"""A picture of learning curves: a panel for each metric, a line for each run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ludarium.analysis.figures import POINT, figure_file, short_name
from ludarium.training.runs.metrics import ESTIMATES

from .curve import Curve, Point, metrics_of

_COLOURS = (POINT, "#c8553d", "#588157", "#8d6a9f", "#b08900", "#3a3a3a", "#4fa3a5")

#: A point's place on the horizontal axis: the axis' title, and the number.
HORIZONTAL: dict[str, tuple[str, Callable[[Point], float]]] = {
    "minutes": ("minutes of training", lambda point: point.seconds / 60),
    "iterations": ("iterations", lambda point: point.iteration),
    "steps": ("steps of the learner", lambda point: point.step),
}


def plot_curves(
    curves: Sequence[Curve], path: str | os.PathLike[str], title: str, by: str = "minutes"
) -> None:
    """Draw learning curves with their 95 % intervals, a panel for each metric, a line for each run.

    Args:
        curves: the curves to draw, with at least one measurement.
        path: the file to write; its suffix, one of `figures.SUFFIXES`, chooses the format.
        title: title above the picture.
        by: one of `HORIZONTAL`, the horizontal axis.

    Raises:
        KeyError: ``by`` is none of `HORIZONTAL`.
        ValueError: the suffix is another one.
        ModuleNotFoundError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    metrics = metrics_of(curves)
    axis, place = HORIZONTAL[by]
    with figure_file(path, 7.2, 0.6 + 3.0 * len(metrics)) as figure:
        panels = figure.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
        for axes, metric in zip(panels, metrics, strict=True):
            name, style = ESTIMATES[metric]
            factor, unit = (100, ", %") if style.endswith("%") else (1, "")
            for number, curve in enumerate(curves):
                points = [point for point in curve.points if metric in point.estimates]
                estimates = [point.estimates[metric] for point in points]
                low = [factor * each.low for each in estimates]
                high = [factor * each.high for each in estimates]
                middle = [factor * each.value for each in estimates]
                where = [place(point) for point in points]
                colour = _COLOURS[number % len(_COLOURS)]
                axes.fill_between(where, low, high, color=colour, alpha=0.18, linewidth=0)
                label = f" {short_name(curve.run)}"  # no legend has a label that begins with "_"
                axes.plot(where, middle, "o-", color=colour, markersize=4, label=label)
            axes.set_ylabel(name + unit)
            axes.grid(axis="y")
        panels[0].set_title(title, loc="left", fontsize=11, parse_math=False)
        panels[-1].set_xlabel(axis)
        if len(curves) > 1:
            panels[-1].legend(frameon=False, fontsize=9)
