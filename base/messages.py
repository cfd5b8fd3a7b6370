"""Error messages: foreign values and texts, short and on one line; packages that are missing."""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

_LONGEST_WORD = 60  # of a longer word only the beginning is compared, which bounds the time
_LEAST_LIKENESS = 0.75  # difflib's ratio, 0 to 1; short words often share half of their letters
_MOST_BITS = 128  # an integer with more bits is not written out


class _Excerpt(reprlib.Repr):
    """Writes the beginning of a value: long texts, containers and integers are cut."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = 400
        self.maxother = 400

    def repr_int(self, x: int, level: int) -> str:
        """Shorten large integers, which Python refuses to write, or takes long to."""
        bits = x.bit_length()
        return repr(x) if bits <= _MOST_BITS else f"<an integer of {bits} bits>"


_EXCERPT = _Excerpt()


def quoted(value: Any, limit: int = 60) -> str:
    """A value as Python writes it: its beginning, control characters escaped.

    Args:
        value: anything, such as what a stranger's file holds.
        limit: most characters of the result.
    """
    text = repr(value[: limit + 1]) if isinstance(value, str) else _EXCERPT.repr(value)
    return _cut(text, limit)


def shortened(text: str, limit: int = 200) -> str:
    """The beginning of a text such as a message, on one line with control characters escaped.

    Args:
        text: a text of any length.
        limit: most characters of the result.
    """
    return _cut(" ".join(text[: 4 * limit].split()), limit)


def named(path: str | os.PathLike[str], limit: int = 100) -> str:
    """The name of a file, on one line with control characters escaped; its end, if it is long.

    Args:
        path: path of the file, which a stranger may have named.
        limit: most characters of the result.
    """
    text = os.fspath(path)
    name = escaped(text[-limit:]) or "''"
    return name if len(text) <= limit and len(name) <= limit else f"...{name[3 - limit :]}"


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """A context for imports: if a package is missing, the error names the extra that brings it.

    Raises:
        ModuleNotFoundError: a package is not installed; the message says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if "pip install" in str(error) or str(error.name).startswith("ludarium"):
            raise
        raise ModuleNotFoundError(
            f'this needs more packages ({error}): pip install "ludarium[{extra}]"', name=error.name
        ) from error


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``, which imports a name when it is asked for; see `needing`.

    Args:
        package: its ``__name__``.
        modules: by name, the module of the package that defines it; these need the extra "train".
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with needing("train"):
            value = getattr(import_module(f".{modules[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def escaped(text: str, besides: str = "") -> str:
    """A text whose control characters, except those in ``besides``, are escaped as in Python."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in besides else repr(c)[1:-1] for c in text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that follows an unknown word, such as ``"; did you mean corso?"``, or "".

    A word with ``/`` or ``.`` is a path, so that only another path can have been meant.

    Args:
        word: the unknown word.
        known: the known words.
    """
    if _is_path(word):
        known = filter(_is_path, known)
    near = get_close_matches(word[:_LONGEST_WORD], list(known), n=1, cutoff=_LEAST_LIKENESS)
    return f"; did you mean {near[0]}?" if near else ""


def _is_path(word: str) -> bool:
    return "/" in word or "." in word


def _cut(text: str, limit: int) -> str:
    line = escaped(text)
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
