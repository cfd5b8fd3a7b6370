"""Undocumented names of other packages, which may disappear in a later version."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any


@dataclass(frozen=True)
class PrivateNames:
    """Finds the private names of one distribution.

    Attributes:
        distribution: its name, such as ``numba``.
        requirement: its name and the versions that the tests run with, as in pyproject.toml.
    """

    distribution: str
    requirement: str

    def __call__(self, path: str, *members: str) -> Any:
        """Return the object at a dotted path, which must have these members.

        Raises:
            ImportError: it, or one of its members, is missing; the message has the remedy.
        """
        module, _, name = path.rpartition(".")
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError):
            raise self.missing(path) from None
        for member in members:
            if not hasattr(found, member):
                raise self.missing(f"{path}.{member}")
        return found

    def missing(self, name: str) -> ImportError:
        """The error for a name that does not exist."""
        return ImportError(
            f"{self.distribution} {metadata.version(self.distribution)} has no {name}, which "
            f"ludarium needs; install a version that has it: pip install '{self.requirement}'"
        )

    def unknown(self, version: str) -> ImportError:
        """The error for a version that the tests do not run with."""
        return ImportError(
            f"{self.distribution} {version} is not a version that ludarium knows; install one: "
            f"pip install '{self.requirement}'"
        )
