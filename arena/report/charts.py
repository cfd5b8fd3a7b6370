"""Charts as SVG texts that follow the page's colours, light or dark, and scale to any width.

The colours, in style.css, follow M. Okabe and K. Ito's set for all kinds of colour vision; lines
differ in their dashes too, up to four. A chart is `_WIDTH` user units wide, so that texts stay
legible on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from ludarium.envs.engine.draw.picture import svg_points, svg_text

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 420.0, 44.0, 10.0, 8.0, 36.0
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_LETTER = 6.4  # width of a label's letter in user units, about
_LEAST_LABEL, _MOST_LABEL = 100.0, 0.55 * _WIDTH  # room for the names beside rows
_ROW = 25.0  # height of a row of bars or dots


@dataclass(frozen=True)
class Line:
    """A line of a chart, with a band from ``low`` to ``high`` if they are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Row:
    """A dot with its interval, in colour number ``series``, or a bar of shares that sum to 1."""

    name: str
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    shares: Sequence[float] = ()
    series: int = 0


def line_chart(
    lines: Sequence[Line],
    title: str,
    x_title: str,
    y_title: str,
    y_range: tuple[float, float] | None = None,
    show: Callable[[float], str] = "{:g}".format,
) -> Markup:
    """Lines over a common axis, with a legend if there are several."""
    height = 230.0
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in (*line.y, *line.low, *line.high)]
    low_y, high_y = y_range or (min(0.0, min(ys)), max(ys))
    x_ticks, y_ticks = _ticks(min(xs), max(xs)), _ticks(low_y, high_y)
    inner = _WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def at_x(x: float) -> float:
        return _LEFT + inner[0] * (x - min(xs)) / max(max(xs) - min(xs), 1e-9)

    def at_y(y: float) -> float:
        return _TOP + inner[1] * (high_y - y) / max(high_y - low_y, 1e-9)

    parts = []
    for tick in y_ticks:
        y = at_y(tick)
        parts.append(f'<path class="grid" d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}"/>')
        parts.append(_text(_LEFT - 5, y + 4, show(tick), "end"))
    below = height - _BOTTOM + 15
    parts += [_text(at_x(tick), below, f"{tick:g}", "middle") for tick in x_ticks]
    parts.append(_text(_WIDTH - _RIGHT, height - 5, x_title, "end", "axis"))
    for number, line in enumerate(lines):
        if line.low:
            upper = [(at_x(x), at_y(y)) for x, y in zip(line.x, line.high, strict=True)]
            back = [(at_x(x), at_y(y)) for x, y in zip(line.x, line.low, strict=True)][::-1]
            parts.append(
                f'<polygon class="band s{number % 4}" points="{svg_points(upper + back)}"/>'
            )
    for number, line in enumerate(lines):
        points = [(at_x(x), at_y(y)) for x, y in zip(line.x, line.y, strict=True)]
        dash = f' stroke-dasharray="{_DASHES[number % 4]}"' if number % 4 else ""
        parts.append(f'<polyline class="line s{number % 4}"{dash} points="{svg_points(points)}"/>')
    chart = _svg(_WIDTH, height, f"{title}: {y_title} over {x_title}", parts)
    axis = Markup('<p class="axis">{}</p>').format(y_title)
    return _legend([line.name for line in lines]) + axis + chart


def dot_chart(
    rows: Sequence[Row],
    title: str,
    show: Callable[[float], str],
    mark: float | None = None,
) -> Markup:
    """A dot with its interval for each row, and a vertical line at ``mark`` if it is given."""
    label = _label_room(rows)
    marks = [] if mark is None else [mark]
    low = min([*marks, *(row.low for row in rows)])
    high = max([*marks, *(row.high for row in rows)])
    ticks = _ticks(low, high, 4)
    height = _ROW * len(rows) + 22
    inner = _WIDTH - label - 66

    def at(value: float) -> float:
        return label + inner * (value - low) / max(high - low, 1e-9)

    parts = []
    for tick in ticks:
        x = at(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} 0V{height - 20:g}"/>')
        parts.append(_text(x, height - 5, show(tick), "middle"))
    parts += [f'<path class="mark" d="M{at(value):.1f} 0V{height - 20:g}"/>' for value in marks]
    for number, row in enumerate(rows):
        y = _ROW * (number + 0.5)
        parts.append(_label(label, y + 4, row.name))
        whisker = f"M{at(row.low):.1f} {y:.1f}H{at(row.high):.1f}"
        parts.append(f'<path class="line s{row.series % 4}" d="{whisker}"/>')
        parts.append(
            f'<circle class="dot s{row.series % 4}" cx="{at(row.value):.1f}" cy="{y:.1f}" r="4.5"/>'
        )
        parts.append(_text(_WIDTH - 2, y + 4, show(row.value), "end"))
    return _svg(_WIDTH, height, title, parts)


def share_chart(rows: Sequence[Row], names: Sequence[str], title: str) -> Markup:
    """A bar of shares for each row, with a line at one half and a legend."""
    label = _label_room(rows)
    inner = _WIDTH - label - 4
    parts = []
    for number, row in enumerate(rows):
        y = _ROW * number + 3
        parts.append(_label(label, y + 14, row.name))
        x = label
        for series, share in enumerate(row.shares):
            width = inner * share
            parts.append(
                f'<rect class="bar s{series}" x="{x:.1f}" y="{y:g}" width="{width:.1f}" '
                f'height="{_ROW - 6:g}"/>'
            )
            if share >= 0.08:
                parts.append(_text(x + 6, y + 14, f"{100 * share:.0f}", "start", "inside"))
            x += width
    middle = label + inner / 2
    bottom = _ROW * len(rows)
    parts.append(f'<path class="mark" d="M{middle:.1f} 0V{bottom:g}"/>')
    return _legend(names, "bar") + _svg(_WIDTH, bottom + 2, title, parts)


def diverging(value: float) -> str:
    """A colour for a share: blue near 1, white at one half, orange near 0."""
    away = min(1.0, abs(value - 0.5) / 0.5)
    end = (0, 92, 158) if value >= 0.5 else (213, 94, 0)
    mixed = [round(255 + (part - 255) * away**0.8) for part in end]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def ink_on(value: float) -> str:
    """The colour of a text on ``diverging(value)``."""
    return "#fff" if abs(value - 0.5) > 0.3 else "#111"


def heat_marks(
    spots: np.ndarray, values: dict[int, float], radius: float, fair_within: float
) -> str:
    """Circles with percentages on a board; none for actions without a spot.

    Args:
        spots: see `Game.action_spots`.
        values: shares by action.
        radius: the circles' radius, in user units.
        fair_within: circles of shares within this of one half have a ring.
    """
    marks = []
    for action, value in values.items():
        x, y = spots[action]
        if math.isnan(x):
            continue
        is_fair = abs(value - 0.5) <= fair_within
        ring = f' stroke="#111" stroke-width="{radius / 7:.1f}"' if is_fair else ""
        marks.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{diverging(value)}"{ring}/>'
            + svg_text(x, y, f"{100 * value:.0f}", radius, ink_on(value))
        )
    return "".join(marks)


def spot_radius(spots: np.ndarray) -> float:
    """Radius at which circles on different places do not overlap."""
    known = spots[~np.isnan(spots[:, 0])]
    apart = np.hypot(*(known[:, None] - known[None]).transpose(2, 0, 1))
    apart = apart[apart >= 1e-6]
    return float(0.46 * apart.min()) if apart.size else 20.0


def _label_room(rows: Sequence[Row]) -> float:
    """Width beside the rows for the longest of their names, within limits."""
    longest = max((len(row.name) for row in rows), default=0)
    return min(max(_LEAST_LABEL, _LETTER * longest + 12), _MOST_LABEL)


def _label(room: float, y: float, name: str) -> str:
    """The name of a row; one that is too long shows its end, and the whole as a tooltip."""
    fitting = int((room - 8) / _LETTER)
    if len(name) <= fitting:
        return _text(room - 8, y, name, "end", "label")
    cut = _text(room - 8, y, f"...{name[3 - fitting :]}", "end", "label")
    return f"<g><title>{escape(name)}</title>{cut}</g>"


def _legend(names: Sequence[str], kind: str = "line") -> Markup:
    keys = []
    for number, name in enumerate(names):
        if kind == "line":
            dash = f' stroke-dasharray="{_DASHES[number % 4]}"' if number % 4 else ""
            key = f'<path class="line s{number % 4}"{dash} d="M0 6H26"/>'
        else:
            key = f'<rect class="bar s{number}" width="26" height="12"/>'
        keys.append(
            f'<span class="key"><svg width="26" height="12" aria-hidden="true">{key}</svg> '
            f"{escape(name)}</span>"
        )
    return Markup(f'<p class="legend">{" ".join(keys)}</p>' if len(names) > 1 else "")


def _ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers, some ``about`` of them."""
    span = max(high - low, 1e-9)
    raw = span / about
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> Markup:
    return Markup(
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
