"""Several pictures as one: contact sheets and animations."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ludarium.base.progress import SILENT, Progress

from .picture import PAPER, RENDER_REMEDY, png, size_of, svg_document

_GAP = 24.0
_COLOURS = 128  # colours in an animation


def contact_sheet(pictures: Sequence[str], columns: int, title: str) -> str:
    """An SVG document with all pictures, row by row, each as wide as the first.

    Args:
        pictures: SVG documents, at least one.
        columns: pictures in a row.
        title: a title for screen readers.
    """
    columns = min(columns, len(pictures))
    width = size_of(pictures[0])[0]
    sizes = [size_of(picture) for picture in pictures]
    heights = [height * width / own for own, height in sizes]
    elements, top = [], _GAP
    for first in range(0, len(pictures), columns):
        row = range(first, min(first + columns, len(pictures)))
        for number in row:
            left = _GAP + (number - first) * (width + _GAP)
            place = f'<svg x="{left:g}" y="{top:g}"'
            elements.append(_resized(pictures[number], place, width, heights[number]))
        top += max(heights[number] for number in row) + _GAP
    total = columns * (width + _GAP) + _GAP
    paper = f'<rect width="{total:g}" height="{top:g}" fill="{PAPER}"/>'
    return svg_document(total, top, title, [paper, *elements])


def _resized(picture: str, place: str, width: float, height: float) -> str:
    """A document as a nested SVG element of this size; ``place`` is the beginning of its tag."""
    own_width, own_height = size_of(picture)
    old = f'width="{own_width:g}" height="{own_height:g}"'
    new = f'width="{width:g}" height="{height:g}"'
    return picture.replace("<svg", place, 1).replace(old, new, 1)


def gif(
    pictures: Sequence[str],
    width: int,
    seconds: float,
    last_seconds: float,
    progress: Progress = SILENT,
) -> bytes:
    """An animation that goes on forever, as a GIF file.

    Args:
        pictures: SVG documents, at least one, of equal size.
        width: width in pixels.
        seconds: how long each picture is shown; ``last_seconds`` applies to the last one.
        progress: counts the pictures.

    Raises:
        ImportError: Pillow, resvg or pygame is missing; the message says how to get it.
    """
    image = _pillow()
    # One palette serves all pictures, so that only the changes between two are written.
    samples = [_drawn(pictures[number], width) for number in (0, len(pictures) // 2, -1)]
    strip = image.new("RGB", (width, sum(sample.height for sample in samples)))
    top = 0
    for sample in samples:
        strip.paste(sample, (0, top))
        top += sample.height
    palette = strip.quantize(_COLOURS)
    frames = []
    for picture in pictures:
        frame = _drawn(picture, width)
        frames.append(frame.quantize(palette=palette, dither=image.Dither.NONE))
        progress.advance()
    durations = [round(1000 * seconds)] * (len(frames) - 1) + [round(1000 * last_seconds)]
    file = io.BytesIO()
    frames[0].save(
        *(file, "GIF"),
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        disposal=1,
    )
    return file.getvalue()


def _pillow() -> Any:
    """Pillow's module ``Image``."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(RENDER_REMEDY) from error
    return Image


def _drawn(picture: str, width: int) -> Any:
    """A picture as an image of Pillow."""
    return _pillow().open(io.BytesIO(png(picture, width))).convert("RGB")
