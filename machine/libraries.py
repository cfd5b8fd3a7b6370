"""Machine code that the package was shipped with: libraries, and an index of what they hold.

``shipped/PLATFORM`` holds both; ``ludarium.play.shipping`` makes them. A library is used only if
the index is of this version and knows the library's digest. The name of a unit's code is a digest
of the unit's name, its kernels' names, and the layouts of their arguments. The index also has the
digest of all that the code is made of: code of other sources is not used. Where sources cannot be
read, as in a program that a tool packed into one file, they are not compared.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ludarium.base.files import sha256_of

from . import loading
from .cache import Form
from .machines import this_platform

#: The file in a platform's folder that says what its libraries hold.
INDEX = "index.json"


def folder() -> Path:
    """The folder of this platform's libraries."""
    return Path(__file__).parent / "shipped" / this_platform()


def name_of(unit: str, kernels: list[tuple[str, tuple[Any, ...]]]) -> str:
    """The name of a unit's code, the beginning of its symbols.

    Args:
        unit: the unit's name.
        kernels: names of its kernels, and layouts of their arguments.
    """
    return "ludarium_" + sha256_of(repr((unit, kernels)).encode())[:24]


def find(
    unit: str, kind: str, kernels: list[tuple[str, tuple[Any, ...]]], sources: str | None
) -> tuple[Form, ...] | None:
    """The forms of a unit's kernels, whose code is loaded; None if no library has it.

    A damaged index or library, or one of another version, is a `RuntimeWarning`, and not used.

    Args:
        unit: the unit's name.
        kind: the kind of processor, one of `machines.KINDS`.
        kernels: names of its kernels, and layouts of their arguments.
        sources: the digest of all that they are made of; None if that cannot be read.
    """
    name = name_of(unit, kernels)
    entry = _index().get("code", {}).get(f"{name}-{kind}")
    if entry is None or sources not in (None, entry["sources"]):
        return None
    file = folder() / entry["library"]
    forms = tuple(
        Form(kernel, f"{name}_{number}", layouts, returned)
        for number, ((kernel, layouts), returned) in enumerate(
            zip(kernels, entry["returned"], strict=True)
        )
    )
    if not _is_intact(file):
        return None
    try:
        loading.load_library(file, [each.symbol for each in forms])
    except (OSError, AttributeError) as error:
        _refuse(file, f"cannot be loaded ({error})")
        return None
    return forms


@cache
def _index() -> dict[str, Any]:
    file = folder() / INDEX
    try:
        index: dict[str, Any] = json.loads(file.read_bytes())
        made_for = index["version"]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, KeyError, TypeError):
        _refuse(file, "is damaged")
        return {}
    try:
        here = version("ludarium")
    except PackageNotFoundError:  # a program that a tool has packed
        here = made_for
    if made_for != here:
        _refuse(file, f"is of version {made_for}, not {here}")
        return {}
    return index


@cache
def _is_intact(file: Path) -> bool:
    try:
        is_known = sha256_of(file.read_bytes()) == _index()["libraries"].get(file.name)
    except OSError as error:
        _refuse(file, f"cannot be read ({error.strerror})")
        return False
    if not is_known:
        _refuse(file, f"is not the library that {INDEX} tells of")
    return is_known


@cache
def _refuse(file: Path, reason: str) -> None:
    warnings.warn(
        f"{file} {reason}, and is not used: install ludarium again", RuntimeWarning, stacklevel=2
    )
