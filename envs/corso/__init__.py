"""Corso: see README.md in this folder."""

from .board import Corso

__all__ = ["Corso"]
