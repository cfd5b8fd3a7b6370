"""How the site reads this project's docstrings: Google's style, with two additions.

Parameters that share an entry, ``first, second: names of the agents``, become two. Class
attributes and instance attributes may have sections of their own.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

#: The names and the text of an entry, with the lines that go on with it.
_SHARED = re.compile(r"^( +)(\w+(?:, \*{0,2}\w+)+)(: .*(?:\n\1 +.*)*)", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^(?:Class|Instance) attributes:$", re.MULTILINE)


def _separated(entry: re.Match[str]) -> str:
    return "\n".join(f"{entry[1]}{name}{entry[3]}" for name in entry[2].split(", "))


class SharedEntries(griffe.Extension):
    """Gives each of several names that share an entry an entry of its own."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object once it is loaded."""
        if obj.docstring is not None:
            text = _ATTRIBUTES.sub("Attributes:", obj.docstring.value)
            obj.docstring.value = _SHARED.sub(_separated, text)
