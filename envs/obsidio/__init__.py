"""Obsidio: see README.md in this folder."""

from .board import Obsidio

__all__ = ["Obsidio"]
