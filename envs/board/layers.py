"""Layers: what is known of the actions or the cells of a position, drawn on its picture.

``position.svg(layers={"legal": None, "policy": shares})``; `LAYERS` lists them. Actions are drawn
where `Game.action_spots` says; the best of those without a place are listed below the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.messages import quoted
from .picture import DARK, LIGHT, PAPER, SMALL_TEXT, WIDTH, fitted_text, open_mark, size_of

if TYPE_CHECKING:
    from ..engine.position import Position

#: The layers by name, each with what it takes.
LAYERS = {
    "legal": "a dot on each legal action: None, or a mask [num_actions]",
    "policy": "shares of the actions, float[num_actions], 0 or more",
    "visits": "visits of a search, int[num_actions]",
    "values": "values for the mover from -1 to 1, float[num_actions], NaN where not known",
    "ownership": "of each cell, from 1 (player_0's) to -1, float[cells]; None: as the game has it",
}

_HEATS = ("policy", "visits", "values")
_LISTED = 4  # most actions without a place that are told
_LINE = 34.0
# Both scales get darker or bluer steadily, also as colour-blind people see them.
_HEAT = np.array([(255, 246, 200), (248, 182, 92), (205, 82, 60), (92, 16, 66)])
_FOR_AND_AGAINST = np.array(
    [(158, 71, 8), (240, 170, 96), (246, 244, 238), (122, 176, 226), (13, 72, 145)]
)


_UNKNOWN = (255, 255, 255)  # to the layer that gives the colours


@dataclass(frozen=True)
class _Heat:
    """What one layer says of the actions: colours, texts, and which of them it speaks of."""

    known: np.ndarray  # bool[num_actions]
    colours: np.ndarray  # int[num_actions, 3]
    text: Callable[[int], str]
    rank: np.ndarray  # float[num_actions], the best actions the largest


def add_layers(svg: str, position: Position, layers: Mapping[str, Any]) -> str:
    """Draw layers on the picture of a position.

    Args:
        svg: the picture, from `Game.svg`.
        position: the position.
        layers: for each name in `LAYERS` what it takes.

    Raises:
        ValueError: an unknown layer, or one of another shape or with impossible numbers.
    """
    unknown = [name for name in layers if name not in LAYERS]
    if unknown:
        raise ValueError(
            f"{quoted(unknown[0])} is no layer of a picture; layers are {', '.join(LAYERS)}"
        )
    spots = position.game.action_spots()
    if spots is None:
        spots = np.full((position.game.num_actions, 2), np.nan)
    elements: list[str] = []
    if "ownership" in layers:
        elements += _group("ownership", _owners(position, layers["ownership"], spots))
    heats = {name: _heat(position, name, layers[name]) for name in layers if name in _HEATS}
    if "legal" in layers:
        elements += _group("legal", _legal(position, layers["legal"], spots, heats))
    if heats:
        elements += _group(" ".join(heats), _heat_on_board(spots, list(heats.values())))
    svg = svg.removesuffix("</svg>") + "\n".join([*elements, "</svg>"])
    lines = [_off_board(position, spots, name, heat) for name, heat in heats.items()]
    return _with_lines(svg, list(filter(None, lines)))


def _group(name: str, elements: list[str]) -> list[str]:
    return [f'<g class="layer {name}">', *elements, "</g>"]


def _numbers(position: Position, name: str, given: Any, size: int) -> np.ndarray:
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the layer {name!r} takes {LAYERS[name]}; not {quoted(given)}") from None
    if numbers.shape != (size,):
        raise ValueError(
            f"the layer {name!r} takes {LAYERS[name]}: {size} numbers for {position.game.name}; "
            f"this has the shape {numbers.shape}"
        )
    return numbers


def _legal(
    position: Position, given: Any, spots: np.ndarray, heats: Mapping[str, _Heat]
) -> list[str]:
    """Dots on legal actions, but for those where more is drawn."""
    mask = position.mask
    if given is not None:
        mask = _numbers(position, "legal", given, len(spots))
    drawn = np.any([heat.known for heat in heats.values()], axis=0) if heats else False
    at = spots[(mask != 0) & ~np.isnan(spots[:, 0]) & ~np.asarray(drawn)]
    return [open_mark(x, y, 0.3 * _radius(spots)) for x, y in at]


def _heat(position: Position, name: str, given: Any) -> _Heat:
    numbers = _numbers(position, name, given, position.game.num_actions)
    if name == "values":
        if (np.abs(numbers) > 1.001).any():
            raise ValueError(f"the layer 'values' takes {LAYERS[name]}; not {np.nanmax(numbers):g}")
        return _Heat(
            known=~np.isnan(numbers),
            colours=_colours(_FOR_AND_AGAINST, (numbers + 1) / 2),
            text=lambda action: f"{numbers[action]:+.2f}".replace("0.", "."),
            rank=np.nan_to_num(numbers, nan=-2.0),
        )
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"the layer {name!r} takes {LAYERS[name]}: no negative number and no NaN")
    total = numbers.sum() or 1.0
    shares = numbers / total
    is_policy = name == "policy"
    return _Heat(
        known=shares >= 0.005 if is_policy else numbers > 0,
        colours=_colours(_HEAT, shares / (shares.max() or 1.0)),
        text=lambda action: f"{100 * shares[action]:.0f}" if is_policy else f"{numbers[action]:g}",
        rank=shares,
    )


def _colours(scale: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Colours on a scale at places from 0 to 1, int[N, 3]."""
    steps = np.linspace(0, 1, len(scale))
    places = np.nan_to_num(at)
    return np.stack([np.interp(places, steps, part) for part in scale.T], axis=1).astype(int)


def _radius(spots: np.ndarray) -> float:
    """The largest radius at which discs on all spots stay apart, a little less, within reason."""
    there = spots[~np.isnan(spots[:, 0])]
    apart = np.hypot(*(there[:, None] - there[None]).transpose(2, 0, 1))
    apart = apart[apart > 1.0]
    return float(np.clip(0.46 * apart.min(), 8.0, 44.0)) if len(apart) else 30.0


def _heat_on_board(spots: np.ndarray, heats: list[_Heat]) -> list[str]:
    """A disc for each action, coloured by the first layer, with the numbers of all."""
    elements, radius = [], _radius(spots)
    for action, (x, y) in enumerate(spots):
        told = [heat for heat in heats if heat.known[action]]
        if np.isnan(x) or not told:
            continue
        first = heats[0]
        red, green, blue = first.colours[action] if first.known[action] else _UNKNOWN
        ink = DARK if 0.3 * red + 0.59 * green + 0.11 * blue > 130 else LIGHT
        elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" '
            f'fill="rgb({red},{green},{blue})" stroke="{DARK}" stroke-width="1.5"/>'
        )
        size = min(SMALL_TEXT, 1.5 * radius / len(told))
        for line, heat in enumerate(told):
            line_y = y + (line - (len(told) - 1) / 2) * size
            text = heat.text(action)
            elements.append(fitted_text(x, line_y, text, size, ink, 1.8 * radius))
    return elements


def _owners(position: Position, given: Any, spots: np.ndarray) -> list[str]:
    """Small squares on the cells, more blue for player_0 and more orange for player_1."""
    game = position.game
    if not game.has_owners or game.action_places is None:
        raise ValueError(f"cells of {game.name} have no owners, so there is no layer 'ownership'")
    cells = game.planes_shape[1]
    if given is None:
        given = game.owners(position.states)[0]
    owners = _numbers(position, "ownership", given, cells)
    elements, side = [], 0.5 * _radius(spots)
    colours = _colours(_FOR_AND_AGAINST, (owners + 1) / 2)
    places = np.asarray(game.action_places)
    for action in np.flatnonzero((places >= 0) & (places < cells) & ~np.isnan(spots[:, 0])):
        owner, (red, green, blue) = owners[places[action]], colours[places[action]]
        if abs(owner) >= 0.05:
            x, y = spots[action] - side / 2
            elements.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" '
                f'fill="rgb({red},{green},{blue})" stroke="{(DARK, LIGHT)[int(owner < 0)]}" '
                f'stroke-width="2" opacity="{0.3 + 0.7 * min(abs(owner), 1):.2f}"/>'
            )
    return elements


def _off_board(position: Position, spots: np.ndarray, name: str, heat: _Heat) -> str:
    """What a layer says of the best actions that have no place, in a line."""
    known = [a for a in np.flatnonzero(heat.known).tolist() if np.isnan(spots[a, 0])]
    best = sorted(known, key=lambda action: -heat.rank[action])[:_LISTED]
    told = [f"{position.action_to_text(action)} {heat.text(action)}" for action in best]
    return f"{name}: {', '.join(told)}" if told else ""


def _with_lines(svg: str, lines: list[str]) -> str:
    """The picture with lines of text below it."""
    if not lines:
        return svg
    width, height = size_of(svg)
    extra = _LINE * len(lines)
    texts = [
        f'<rect y="{height:g}" width="{width:g}" height="{extra:g}" fill="{PAPER}"/>',
        *(
            fitted_text(16, height + _LINE * line, text, SMALL_TEXT, DARK, WIDTH - 32, "start")
            for line, text in enumerate(lines)
        ),
    ]
    svg = svg.replace(f'height="{height:g}"', f'height="{height + extra:g}"', 1)
    svg = svg.replace(f'viewBox="0 0 {width:g} {height:g}"',
                      f'viewBox="0 0 {width:g} {height + extra:g}"', 1)  # fmt: skip
    return svg.removesuffix("</svg>") + "\n".join([*texts, "</svg>"])
