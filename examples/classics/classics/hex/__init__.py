"""Hex: join two opposite sides of a board of hexagons."""

from .board import Hex

__all__ = ["Hex"]
