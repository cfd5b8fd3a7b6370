"""Onyx: see README.md in this folder."""

from .board import Onyx

__all__ = ["Onyx"]
