"""Osiron: its rules, board and picture; README.md in this folder has them in words. Import
`Osiron`; its solver compiles ``rules`` too.
"""

from .board import Osiron

__all__ = ["Osiron"]
