"""Game records: a finished or unfinished game as a small JSON-ready dict, and back.

    {"game": "corso", "version": 0, "options": {"size": 5}, "seed": 7,
     "moves": ["c3", "b3", "c3!"], "result": [0, 0]}

``result`` holds the rewards so far and is only read by people; ``seed`` matters where the
start is random.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .files import MEGABYTE, read_json_file
from .game import Game
from .messages import quoted, shortened
from .options import check_stored
from .position import Position

#: Seeds are below this: 128 bits, as those that the system gives.
SEED_LIMIT = 2**128

_LARGEST_FILE = 4 * MEGABYTE


def make_record(game: Game, seed: int, moves: Sequence[str], position: Position) -> dict[str, Any]:
    """The record of a game that reached ``position`` by ``moves``."""
    return {
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "seed": seed,
        "moves": list(moves),
        "result": list(position.rewards),
    }


def read_record_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the mapping in a game record's file; `check_record` validates it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no JSON file of a mapping, or too large.
    """
    record = read_json_file(path, _LARGEST_FILE, "a game record")
    if not isinstance(record, dict):
        raise ValueError(
            f"{quoted(os.fspath(path), 100)} holds no game record, but {_kind(record)}"
        )
    return record


def check_record(record: Any, games: Mapping[str, type[Game]]) -> tuple[Game, int, list[int]]:
    """Read a record, which may come from a stranger.

    Returns:
        The game with its options, the seed, and the action numbers, every one legal.

    Raises:
        ValueError: something is missing, unknown or illegal; the message names it.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"a game record is a mapping, not {_kind(record)}")
    missing = [key for key in ("game", "version", "options", "moves") if key not in record]
    if missing:
        raise ValueError(f"the game record lacks {', '.join(missing)}")
    name, version, moves = record["game"], record["version"], record["moves"]
    if not isinstance(name, str) or name not in games:
        raise ValueError(f"the game record is of {quoted(name)}; known games: {', '.join(games)}")
    kind = games[name]
    if type(version) is not int or version != kind.version:
        raise ValueError(
            f"the game record is of {name} version {quoted(version)}; this is version "
            f"{kind.version}, with other rules or notation"
        )
    seed = record.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < SEED_LIMIT:
        raise ValueError(
            f"seed of a game record is {quoted(seed)}; it must be an integer from 0 to 2**128 - 1"
        )
    if not isinstance(moves, list | tuple):
        raise ValueError(f"moves of a game record are a list of texts, not {quoted(moves)}")
    try:
        game = kind(**check_stored(kind.option_list, record["options"]))
    except ValueError as error:
        raise ValueError(f"the game record: {shortened(str(error), 350)}") from None
    return game, seed, _replay(game.start(seed), moves)


def _replay(position: Position, moves: Sequence[Any]) -> list[int]:
    """Play the moves; return their action numbers."""
    actions = []
    for number, text in enumerate(moves, 1):
        if not isinstance(text, str):
            raise ValueError(f"move {number} of the game record is {quoted(text)}, not a text")
        try:
            action = position.text_to_action(text)
        except ValueError as error:
            raise ValueError(
                f"move {number} of the game record: {shortened(str(error), 350)}"
            ) from None
        position.play(action)
        actions.append(action)
    return actions


def _kind(value: Any) -> str:
    return type(value).__name__
