"""Osiron: see README.md in this folder."""

from .board import Osiron

__all__ = ["Osiron"]
