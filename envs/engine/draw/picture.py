"""Pictures: the elements that all games' drawings share, their pixels, and a window for them.

A picture is `WIDTH` user units wide. At its top are the players with their pieces, points, and
whose turn it is or who has won; below comes the board, from `HEAD` on; last a line with the last
action and the scene's note. Texts of `SMALL_TEXT` and more can be read where the picture is 400
pixels wide. Different things differ in lightness or shape, not in hue alone.

Pixels need the extra ``render`` (resvg for the pixels, pygame for the window and a font), which is
imported only where used.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

#: What to install where a picture cannot be made.
RENDER_REMEDY = 'pictures need the extra packages: pip install "ludarium[render]"'


#: Width of every picture, in user units.
WIDTH = 800.0
#: Where the board begins, below the players.
HEAD = 104.0
#: Height of the last line.
FOOT = 44.0
SMALL_TEXT = 22.0

PAPER, INK, FAINT, LINE = "#f1ece0", "#26241f", "#6f695c", "#c2b9a6"
#: The two colours of `last_mark` and the like: one of them shows on any colour.
DARK, LIGHT = "#14161a", "#fff6d8"
GOLD = "#f5c02c"
#: Width of a letter, as a share of the text's size.
WIDE = 0.55


def svg_document(
    width: float, height: float, title: str, elements: Iterable[str], description: str = ""
) -> str:
    """An SVG document of the given size in user units, with texts for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" role="img">'
    )
    texts = [f"<title>{escape(title)}</title>"]
    if description:
        texts.append(f"<desc>{escape(description)}</desc>")
    return "\n".join([head, *texts, *elements, "</svg>"])


def rgb_of(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour such as ``#f5c02c``."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


def is_light(red: int, green: int, blue: int) -> bool:
    """Whether dark letters are easier to read on a colour than light ones."""
    return 0.3 * red + 0.59 * green + 0.11 * blue > 130


def file_letter(file: int) -> str:
    """Letter of a file counted from 0: ``a``, ``b``, ..."""
    return chr(ord("a") + file)


def svg_text(x: float, y: float, text: str, size: float, fill: str, anchor: str = "middle") -> str:
    """A line of text, vertically centred on ``y``."""
    return (
        f'<text x="{x:g}" y="{y + 0.36 * size:g}" font-size="{size:g}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def fitted_text(
    x: float, y: float, text: str, size: float, fill: str, room: float, anchor: str = "middle"
) -> str:
    """A line of text about as wide as ``room`` at most, in smaller letters where it must be."""
    return svg_text(x, y, text, min(size, room / (WIDE * max(len(text), 1))), fill, anchor)


def svg_points(points: Iterable[tuple[float, float]]) -> str:
    """Points, for the attribute ``points`` of an element."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def moved(x: float, y: float, shapes: str) -> str:
    """SVG about the origin, drawn about a place in the picture."""
    return f'<g transform="translate({round(x, 2):g} {round(y, 2):g})">{shapes}</g>'


def last_mark(shape: str) -> str:
    """The mark of the last action: a light line with dark edges along a shape.

    Args:
        shape: the beginning of an element, such as ``<circle cx="5" cy="5" r="3"``.
    """
    return outlined(shape, LIGHT, 5)


def outlined(shape: str, colour: str, width: float) -> str:
    """A line of a colour with dark edges along a shape, as for `last_mark`."""
    line = 'fill="none" stroke-linejoin="round" stroke-linecap="round"'
    return (
        f'{shape} {line} stroke="{DARK}" stroke-width="{2 * width:g}"/>'
        f'{shape} {line} stroke="{colour}" stroke-width="{width:g}"/>'
    )


def taken_mark(size: float) -> str:
    """A cross about the origin, which marks where the last action took something from a player."""
    cross = f"M{-size:.1f} {-size:.1f}l{2 * size:.1f} {2 * size:.1f}"
    cross += f"m0 {-2 * size:.1f}l{-2 * size:.1f} {2 * size:.1f}"
    return outlined(f'<path d="{cross}"', LIGHT, max(0.3 * size, 2.5))


def open_mark(radius: float) -> str:
    """A dot about the origin, which marks where something may be put."""
    return (
        f'<circle r="{radius:g}" fill="{LIGHT}" stroke="{DARK}" '
        f'stroke-width="{max(radius / 4, 1.5):g}"/>'
    )


def round_piece(radius: float, fill: str, edge: str) -> str:
    """A round piece about the origin, its fill a colour or a gradient."""
    return f'<circle r="{radius:g}" fill="{fill}" stroke="{edge}" stroke-width="2"/>'


def square(side: float, corner: float = 0) -> str:
    """The beginning of a square element about the origin, with round corners of that radius."""
    return (
        f'<rect x="{-side / 2:.1f}" y="{-side / 2:.1f}" width="{side:.1f}" height="{side:.1f}" '
        f'rx="{corner:.1f}"'
    )


def svg_gradients(
    name: str,
    colours: Iterable[tuple[str, str]],
    centre: tuple[float, float] = (0.35, 0.3),
    radius: float = 0.8,
) -> str:
    """Radial gradients for ``fill="url(#name0)"``, ``#name1``, ...: round pieces in the light.

    Args:
        name: name of each gradient, before its number.
        colours: the colours of each at the centre and at the rim.
        centre: x and y, as shares of the size of the shape that is filled.
        radius: the rim's radius, as such a share.
    """
    x, y = centre
    gradients = "".join(
        f'<radialGradient id="{name}{number}" cx="{x:g}" cy="{y:g}" r="{radius:g}">'
        f'<stop offset="0" stop-color="{light}"/><stop offset="1" stop-color="{dark}"/>'
        "</radialGradient>"
        for number, (light, dark) in enumerate(colours)
    )
    return f"<defs>{gradients}</defs>"


def size_of(svg: str) -> tuple[float, float]:
    """Width and height of a drawing, in user units."""
    head = svg[: svg.index(">")]
    width, height = (
        float(head.split(f'{side}="')[1].split('"')[0]) for side in ("width", "height")
    )
    return width, height


def with_result(svg: str, told: str) -> str:
    """A picture of a position with a sentence on how the game ended, in place of the players.

    The description for screen readers begins with it.
    """
    bar = f'<rect x="8" y="8" width="{WIDTH - 16:g}" height="{HEAD - 16:g}" rx="10" fill="{GOLD}"/>'
    text = fitted_text(WIDTH / 2, HEAD / 2, told, 30, INK, WIDTH - 40)
    svg = svg.replace("<desc>", f"<desc>{escape(told)}; ", 1)
    return "\n".join([svg.removesuffix("</svg>"), bar, text, "</svg>"])


def _pygame() -> Any:
    """pygame, without its greeting."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise ImportError(RENDER_REMEDY) from error
    return pygame


def png(svg: str, width: int | None = None) -> bytes:
    """The drawing as a PNG file, ``width`` pixels wide (default: one pixel per user unit).

    Raises:
        ImportError: resvg or pygame is missing; the message says how to get it.
    """
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(RENDER_REMEDY) from error
    # pygame's own font makes the pixels the same anywhere: system fonts differ or are missing.
    font = Path(_pygame().__file__).parent / "freesansbold.ttf"
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        width=width,
        skip_system_fonts=True,
        font_files=[str(font)],
        sans_serif_family="FreeSans",
    )


def pixels(svg: str, width: int | None = None) -> np.ndarray:
    """The drawing as uint8[height, width, 3], height and width even, as video encoders need.

    ``width`` and errors are as for `png`; the last row or column is doubled where it must be.
    """
    pygame = _pygame()
    surface = pygame.image.load(io.BytesIO(png(svg, width)), "drawing.png")
    image = pygame.surfarray.array3d(surface).transpose(1, 0, 2)
    height, width, _ = image.shape
    return np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


class Window:
    """A window of its own that shows drawings, for ``render_mode="human"``.

    Args:
        title: its title.
        frames_per_second: how many drawings it shows per second at most.
    """

    def __init__(self, title: str, frames_per_second: float) -> None:
        self.title = title
        self.frames_per_second = frames_per_second
        self._window: Any = None
        self._clock: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without the window: a copy has none open."""
        return vars(self) | {"_window": None, "_clock": None}

    def show(self, svg: str) -> None:
        """Draw, process the window's events, and wait for the frame's time to pass.

        Raises:
            ImportError: see `png`.
        """
        pygame = _pygame()
        pygame.display.init()
        image = pixels(svg, self._width(svg))
        size = image.shape[1], image.shape[0]
        if self._window is None or tuple(self._window.size) != size:
            self.close()
            self._window = pygame.Window(self.title, size)
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(self._window.get_surface(), image.transpose(1, 0, 2))
        self._window.flip()
        pygame.event.pump()
        self._clock.tick(self.frames_per_second)

    def _width(self, svg: str) -> int:
        """The width in pixels at which the drawing is no higher than the screen."""
        width, height = size_of(svg)
        screen = _pygame().display.get_desktop_sizes()[0][1]
        return round(width * min(1.0, 0.9 * screen / height))

    def close(self) -> None:
        """Close the window; showing again opens a new one."""
        if self._window is not None:
            self._window.destroy()
            self._window = None
