"""Layers draw what is known of a position's actions or cells on its picture.

For example ``position.svg(layers={"legal": None, "policy": shares})``; `LAYERS` lists them. Actions
are drawn where `Game.action_spots` says; of those without a place, lines below the picture name the
best for each layer with numbers, and some that win at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ludarium.base.messages import quoted

from ..views import WINS, Threats
from .picture import (
    DARK,
    LIGHT,
    PAPER,
    SMALL_TEXT,
    WIDE,
    WIDTH,
    fitted_text,
    is_light,
    moved,
    open_mark,
    size_of,
)

if TYPE_CHECKING:
    from ..game import Game
    from ..position import Position

#: The layers by name, each with what it takes.
LAYERS = {
    "legal": "None for a dot on each legal action, or a mask [num_actions] of your own",
    "policy": "shares of the actions, float[num_actions], 0 or more",
    "visits": "visits of a search, int[num_actions]",
    "values": "values for the mover from -1 to 1, float[num_actions], NaN where not known",
    "ownership": "owners of cells, from 1 (player_0) to -1, float[cells]; None: the present ones",
    "threats": "None: the wins and captures that each player would have if it were their turn",
}

#: The layers that a search fills, which share a disc on each action; the others may take None.
HEATS = ("policy", "visits", "values")
_LISTED = 4  # at most so many actions without a place are listed
_LINE = 34.0

#: How layers look, as values of JSON: a game's scene has a copy, by which the page draws them.
#: Lengths are shares of a disc's radius where nothing else is said.
LOOK: dict[str, Any] = {
    "dark": DARK,
    "light": LIGHT,
    # Colours of discs for shares from 0 to the largest one, and for values from -1 to 1. The first
    # scale gets steadily darker, the second goes from orange to blue: colour-blind people can read
    # both.
    "shares": [(255, 246, 200), (248, 182, 92), (205, 82, 60), (92, 16, 66)],
    "values": [(158, 71, 8), (240, 170, 96), (246, 244, 238), (122, 176, 226), (13, 72, 145)],
    # A disc's radius: as a share of the least distance of two spots, its bounds, that without two.
    "radius": (0.46, 8.0, 44.0, 30.0),
    # Texts in discs: the largest size in user units, most height, most width; the width of a letter
    # as a share of the text's size.
    "text": (SMALL_TEXT, 1.5, 1.8, WIDE),
    "dot": 0.3,  # the radius of a dot on a legal action
    "least_share": 0.005,  # an action with a smaller share of the policy has no disc
    "least_owner": 0.05,  # a cell whose owner is less certain than this has no mark
    # Size and opacity of an owner's mark: if nothing is certain, and how much more if all is.
    "owners": ((0.38, 0.32), (0.35, 0.65)),
    # How far threats' marks lie from a spot, across and up or down, and their sizes.
    "aside": 0.6,
    "wins": 0.42,
    "takes": 0.36,
}


def star(radius: float) -> str:
    """A path of a star with five points about the origin."""
    angles = np.pi * np.arange(10) / 5
    lengths = np.where(np.arange(10) % 2, 0.42 * radius, radius)
    points = np.stack([lengths * np.sin(angles), -lengths * np.cos(angles)], axis=1)
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points) + "z"


_DARK_ORANGE, *_, _DARK_BLUE = (f"rgb({r},{g},{b})" for r, g, b in LOOK["values"])
_ORANGE = "#ef8a2b"
_CIRCLE = '<circle r="10" '
_SQUARE = '<rect x="-9" y="-9" width="18" height="18" '
_DIAMOND = '<path d="M0 -12L12 0L0 12L-12 0z" '
_CROSS = '<path d="M-4 -4L4 4M-4 4L4 -4" stroke-linecap="round" '

#: SVG about the origin, about 10 units to each side, one for each player: marks of an action that
#: wins, of a piece that may be taken, of a cell's owner. Players differ in shape and in colour.
SYMBOLS = {
    "wins": [
        f'{shape}fill="{colour}" stroke="{LIGHT}" stroke-width="1.5"/>'
        f'<path d="{star(7.5)}" fill="{LIGHT}"/>'
        for shape, colour in ((_CIRCLE, _DARK_BLUE), (_DIAMOND, _DARK_ORANGE))
    ],
    "takes": [
        f'{shape}fill="{LIGHT}" stroke="{colour}" stroke-width="3"/>'
        f'{_CROSS}stroke="{colour}" stroke-width="3"/>'
        for shape, colour in ((_CIRCLE, _DARK_BLUE), (_DIAMOND, _DARK_ORANGE))
    ],
    "owners": [
        f'{_SQUARE}fill="{_DARK_BLUE}" stroke="{LIGHT}" stroke-width="2"/>',
        f'{_DIAMOND}fill="{_ORANGE}" stroke="{DARK}" stroke-width="2"/>',
    ],
}

_UNKNOWN = (255, 255, 255)  # a disc's colour if the first layer knows nothing of its action


@dataclass(frozen=True)
class _Heat:
    """What one layer says of the actions: which ones it covers, their colours, texts and rank."""

    known: np.ndarray  # bool[num_actions]
    colours: np.ndarray  # int[num_actions, 3]
    text: Callable[[int], str]
    rank: np.ndarray  # float[num_actions], the best actions the largest


def add_layers(svg: str, position: Position, layers: Mapping[str, Any]) -> str:
    """The picture of a position with layers drawn on it.

    Args:
        svg: the picture, from `Position.svg`.
        position: the position.
        layers: what each layer takes, by the names in `LAYERS`.

    Raises:
        ValueError: a layer is unknown or not for this game, or its data has the wrong shape or
            impossible numbers.
    """
    if not isinstance(layers, Mapping):
        raise ValueError(f"layers is {quoted(layers)}; accepted: what each takes, by its name")
    unknown = [name for name in layers if name not in LAYERS]
    if unknown:
        raise ValueError(
            f"{quoted(unknown[0])} is not a layer of a picture; layers are {', '.join(LAYERS)}"
        )
    spots = position.game.action_spots()
    if spots is None:
        spots = np.full((position.game.num_actions, 2), np.nan)
    elements: list[str] = []
    spoken: list[str] = []
    if "ownership" in layers:
        elements += _group("ownership", _owners(position, layers["ownership"], spots))
    heats = {name: _heat(position, name, layers[name]) for name in layers if name in HEATS}
    if "legal" in layers:
        elements += _group("legal", _legal(position, layers["legal"], spots, heats))
    if heats:
        elements += _group(" ".join(heats), _heat_on_board(spots, list(heats.values())))
    if "threats" in layers:
        if layers["threats"] is not None:
            raise ValueError(f"the layer 'threats' takes None, not {quoted(layers['threats'])}")
        threats = position.threats()
        elements += _group("threats", _threats(position, threats, spots))
        spoken = _threats_off_board(position, threats, spots)
    svg = svg.removesuffix("</svg>") + "\n".join([*elements, "</svg>"])
    lines = [*spoken, *(_off_board(position, spots, name, heat) for name, heat in heats.items())]
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
    """Dots on the legal actions, or those of a given mask, that no disc covers."""
    mask = position.mask
    if given is not None:
        mask = _numbers(position, "legal", given, len(spots))
        if not np.isin(mask, (0, 1)).all():
            raise ValueError(f"the layer 'legal' takes {LAYERS['legal']}: 1 for an action, else 0")
    drawn = np.any([heat.known for heat in heats.values()], axis=0) if heats else False
    at = spots[(mask != 0) & ~np.isnan(spots[:, 0]) & ~np.asarray(drawn)]
    return [moved(x, y, open_mark(LOOK["dot"] * _radius(spots))) for x, y in at]


def _heat(position: Position, name: str, given: Any) -> _Heat:
    numbers = _numbers(position, name, given, position.game.num_actions)
    if name == "values":
        if (np.abs(numbers) > 1.001).any():
            worst = numbers[np.nanargmax(np.abs(numbers))]
            raise ValueError(f"the layer 'values' takes {LAYERS[name]}; not {worst:g}")
        return _Heat(
            known=~np.isnan(numbers),
            colours=_colours(LOOK["values"], (numbers + 1) / 2),
            text=lambda action: f"{numbers[action]:+.2f}".replace("0.", "."),
            rank=np.nan_to_num(numbers, nan=-2.0),
        )
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ValueError(f"the layer {name!r} takes {LAYERS[name]}: no negative number and no NaN")
    total = numbers.sum() or 1.0
    shares = numbers / total
    is_policy = name == "policy"
    return _Heat(
        known=shares >= LOOK["least_share"] if is_policy else numbers > 0,
        colours=_colours(LOOK["shares"], shares / (shares.max() or 1.0)),
        text=lambda action: f"{100 * shares[action]:.0f}" if is_policy else f"{numbers[action]:g}",
        rank=shares,
    )


def _colours(scale: Sequence[tuple[int, ...]], at: np.ndarray) -> np.ndarray:
    """Colours on a scale at places from 0 to 1, int[N, 3]."""
    steps = np.linspace(0, 1, len(scale))
    parts = [np.interp(np.nan_to_num(at), steps, part) for part in zip(*scale, strict=True)]
    return np.stack(parts, axis=1).astype(int)


def _radius(spots: np.ndarray) -> float:
    """The largest radius, within bounds, at which discs on all spots stay slightly apart."""
    placed = spots[~np.isnan(spots[:, 0])]
    apart = np.hypot(*(placed[:, None] - placed[None]).transpose(2, 0, 1))
    apart = apart[apart > 1.0]
    share, least, most, alone = LOOK["radius"]
    return float(np.clip(share * apart.min(), least, most)) if len(apart) else alone


def _heat_on_board(spots: np.ndarray, heats: list[_Heat]) -> list[str]:
    """A disc for each action, coloured by the first layer, with the numbers of all."""
    elements, radius = [], _radius(spots)
    largest, high, wide, _ = LOOK["text"]
    for action, (x, y) in enumerate(spots):
        told = [heat for heat in heats if heat.known[action]]
        if np.isnan(x) or not told:
            continue
        first = heats[0]
        red, green, blue = first.colours[action] if first.known[action] else _UNKNOWN
        ink = DARK if is_light(red, green, blue) else LIGHT
        elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" '
            f'fill="rgb({red},{green},{blue})" stroke="{DARK}" stroke-width="1.5"/>'
        )
        size = min(largest, high * radius / len(told))
        for line, heat in enumerate(told):
            line_y = y + (line - (len(told) - 1) / 2) * size
            text = heat.text(action)
            elements.append(fitted_text(x, line_y, text, size, ink, wide * radius))
    return elements


def cell_spots(game: Game) -> np.ndarray:
    """The places of the cells in the picture: float[cells, 2], NaN for a cell without one."""
    found = np.full((game.planes_shape[1], 2), np.nan)
    spots = game.action_spots()
    if spots is not None and game.action_places is not None:
        places = np.asarray(game.action_places)
        on_cells = (places >= 0) & (places < len(found))
        found[places[on_cells]] = spots[on_cells]
    return found


def _symbol(name: str, player: int, x: float, y: float, scale: float, opacity: float = 1.0) -> str:
    faint = "" if opacity == 1.0 else f' opacity="{opacity:.2f}"'
    place = f"translate({x:.1f} {y:.1f}) scale({scale:.3f})"
    return f'<g transform="{place}"{faint}>{SYMBOLS[name][player]}</g>'


def _owners(position: Position, given: Any, spots: np.ndarray) -> list[str]:
    """A square on each cell of player_0, a diamond on player_1's; larger for surer owners."""
    game = position.game
    if not game.has_owners or game.action_places is None:
        raise ValueError(f"no layer 'ownership': cells of {game.name} have no owners or no places")
    if given is None:
        given = position.owners()
    owners = _numbers(position, "ownership", given, game.planes_shape[1])
    if not (np.abs(owners) <= 1.001).all():
        raise ValueError(f"the layer 'ownership' takes {LAYERS['ownership']}")
    radius = _radius(spots)
    return [
        _symbol("owners", int(owner < 0), x, y, *_sureness(owner, radius))
        for owner, (x, y) in zip(owners.tolist(), cell_spots(game), strict=True)
        if abs(owner) >= LOOK["least_owner"] and not np.isnan(x)
    ]


def _sureness(owner: float, radius: float) -> tuple[float, float]:
    """The scale and the opacity of the mark of an owner from -1 to 1."""
    sure = min(abs(owner), 1.0)
    size, opacity = (none + more * sure for none, more in LOOK["owners"])
    return radius / 10 * size, opacity


def _threats(position: Position, threats: Threats, spots: np.ndarray) -> list[str]:
    """Stars on actions that win at once, crosses on what may be taken: player_0's at the left."""
    radius, elements = _radius(spots), []
    cells, aside = cell_spots(position.game), LOOK["aside"] * radius
    for player, side in ((0, -aside), (1, aside)):
        for cell in np.flatnonzero((threats.cells[player] > 0) & ~np.isnan(cells[:, 0])):
            x, y = cells[cell] + (side, aside)
            elements.append(_symbol("takes", player, x, y, LOOK["takes"] * radius / 10))
        for action in np.flatnonzero((threats.actions[player] == WINS) & ~np.isnan(spots[:, 0])):
            x, y = spots[action] + (side, -aside)
            elements.append(_symbol("wins", player, x, y, LOOK["wins"] * radius / 10))
    return elements


def _threats_off_board(position: Position, threats: Threats, spots: np.ndarray) -> list[str]:
    """Lines of text that name winning actions without a place."""
    lines = []
    for player in range(2):
        actions = threats.actions[player]
        wins = np.flatnonzero((actions == WINS) & np.isnan(spots[:, 0]))[:_LISTED]
        if len(wins):
            names = ", ".join(position.game.action_names[action] for action in wins)
            lines.append(f"player_{player} wins at once: {names}")
    return lines


def _off_board(position: Position, spots: np.ndarray, name: str, heat: _Heat) -> str:
    """One line with a layer's numbers for the best actions that have no place."""
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
