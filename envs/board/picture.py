"""Pictures: converts the SVG that a game draws to pixels, or shows it in a window.

Needs the extra ``render`` (resvg for the pixels, pygame for the window and a font), imported
only where used.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

_REMEDY = 'pictures need the extra packages: pip install "ludarium[render]"'


def svg_document(width: float, height: float, title: str, elements: list[str]) -> str:
    """An SVG document of the given size in user units, with a title for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif">'
    )
    return "\n".join([head, f"<title>{title}</title>", *elements, "</svg>"])


def file_letter(file: int) -> str:
    """Letter of a file counted from 0: ``a``, ``b``, ..."""
    return chr(ord("a") + file)


def svg_text(x: float, y: float, text: str, size: float, fill: str, anchor: str = "middle") -> str:
    """A line of text, vertically centred on ``y``."""
    return (
        f'<text x="{x:g}" y="{y + 0.36 * size:g}" font-size="{size:g}" fill="{fill}" '
        f'text-anchor="{anchor}">{text}</text>'
    )


def svg_gradients(
    name: str,
    colours: Iterable[tuple[str, str]],
    centre: tuple[float, float] = (0.35, 0.3),
    radius: float = 0.8,
) -> str:
    """Radial gradients for ``fill="url(#name0)"``, ``#name1``, ...: round pieces in the light.

    Args:
        name: what each is called, before its number.
        colours: at the centre and at the rim, of each.
        centre: x and y, as shares of what is filled.
        radius: of the rim, likewise.
    """
    x, y = centre
    gradients = "".join(
        f'<radialGradient id="{name}{number}" cx="{x:g}" cy="{y:g}" r="{radius:g}">'
        f'<stop offset="0" stop-color="{light}"/><stop offset="1" stop-color="{dark}"/>'
        "</radialGradient>"
        for number, (light, dark) in enumerate(colours)
    )
    return f"<defs>{gradients}</defs>"


def _pygame() -> Any:
    """pygame, without its greeting."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise ImportError(_REMEDY) from error
    return pygame


def png(svg: str, width: int | None = None) -> bytes:
    """The drawing as a PNG file, ``width`` pixels wide (default: one pixel per user unit)."""
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(_REMEDY) from error
    # System fonts differ and may be missing: pygame's own makes the pixels the same anywhere.
    font = Path(_pygame().__file__).parent / "freesansbold.ttf"
    return resvg_py.svg_to_bytes(
        svg_string=svg,
        width=width,
        skip_system_fonts=True,
        font_files=[str(font)],
        sans_serif_family="FreeSans",
    )


def pixels(svg: str, width: int | None = None) -> np.ndarray:
    """The drawing as uint8[height, width, 3]."""
    pygame = _pygame()
    surface = pygame.image.load(io.BytesIO(png(svg, width)), "drawing.png")
    return np.ascontiguousarray(pygame.surfarray.array3d(surface).transpose(1, 0, 2))


class Window:
    """A window that shows drawings, for ``render_mode="human"``."""

    def __init__(self, title: str, frames_per_second: float) -> None:
        self.title = title
        self.frames_per_second = frames_per_second
        self._surface: Any = None
        self._clock: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or a pickled one, has no window open."""
        return vars(self) | {"_surface": None, "_clock": None}

    def show(self, svg: str) -> None:
        """Draw, process the window's events, and wait for the frame's time to pass."""
        pygame = _pygame()
        image = pixels(svg)
        size = image.shape[1], image.shape[0]
        if self._surface is None or self._surface.get_size() != size:
            pygame.display.init()
            pygame.display.set_caption(self.title)
            self._surface = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(self._surface, image.transpose(1, 0, 2))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.frames_per_second)

    def close(self) -> None:
        """Close the window; showing again opens a new one."""
        if self._surface is not None:
            _pygame().display.quit()
            self._surface = None
