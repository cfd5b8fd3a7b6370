"""Reads and writes files of lines of JSON about one game: exact tests and puzzles.

The first line says what the file is, names the game, and has the SHA-256 of all that follows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ludarium.base.files import load_json, read_regular_file, sha256_of
from ludarium.base.messages import named, shortened
from ludarium.base.storage import write_whole
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import make_stored_game

Read = TypeVar("Read")
Line = TypeVar("Line")


class Head(msgspec.Struct):
    """The first line of a file; a subclass narrows ``format`` and checks ``made``.

    Attributes:
        format: what the file is.
        game, version, options: the rules.
        made: how the content was made.
        sha256: of all that follows.
    """

    format: str
    game: str
    version: int
    options: dict[str, Any]
    made: dict[str, Any]
    sha256: str


def write_lines(
    path: str | os.PathLike[str], form: str, game: Game, made: dict[str, Any], body: bytes
) -> None:
    """Write a file, whole or not at all.

    Args:
        path: the file.
        form: the format, such as ``ludarium puzzles 1``.
        game: the rules.
        made: how the content was made.
        body: the lines that follow, each with its line end.

    Raises:
        OSError: the file cannot be written.
    """
    head = {
        "format": form,
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "made": made,
        "sha256": sha256_of(body),
    }
    write_whole(Path(path), json.dumps(head).encode() + b"\n" + body)


def read_lines(
    path: str | os.PathLike[str],
    what: str,
    largest: int,
    kind: type[Head],
    read: Callable[[Game, dict[str, Any], Sequence[bytes]], Read],
) -> Read:
    """Read a file, which may come from a stranger.

    Args:
        path: the file.
        what: what it is, such as ``exact test``.
        largest: bytes that it has at most.
        kind: type of the first line.
        read: makes the answer from the game, ``made`` and the lines after the first.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is something else, or its lines after the first have been changed; the
            message names the file.
    """
    name = f"the {what} in {named(path)}"
    article = "an" if what[0] in "aeiou" else "a"
    first, _, body = read_regular_file(path, largest, f"{article} {what}").partition(b"\n")
    head = load_json(first, f"the first line of {name}", kind)
    if head.sha256 != sha256_of(body):
        raise ValueError(f"{name} is damaged: its checksum is wrong; make it again")
    try:
        game = make_stored_game(head.game, head.options)
        if head.version != game.version:
            raise ValueError(
                f"it is for version {head.version} of {head.game}, and this program has version "
                f"{game.version}"
            )
        return read(game, head.made, body.splitlines())
    except ValueError as error:
        raise ValueError(f"{name}: {shortened(str(error), 300)}") from None


def read_each(
    lines: Sequence[bytes], kind: type[Line], read: Callable[[Line], Read]
) -> Iterator[Read]:
    """Read the lines after a file's first, one by one; an error names its line's number in it.

    Raises:
        ValueError: a line is something else, or ``read`` refuses it.
    """
    for number, text in enumerate(lines, 2):
        line: Line = load_json(text, f"line {number}", kind)
        try:
            found = read(line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        yield found
