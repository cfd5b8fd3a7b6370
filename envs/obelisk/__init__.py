"""Obelisk: see README.md in this folder."""

from .board import Obelisk

__all__ = ["Obelisk"]
