"""Game records: a finished or unfinished game as a small JSON-ready dict, and back.

    {"game": "corso", "version": 0, "options": {"size": 5}, "seed": 7,
     "moves": ["c3", "b3", "c3!"], "result": null}

``result`` holds the final rewards, ``None`` where the game goes on (``[0, 0]`` in older records),
and is only read by people; ``seed`` matters where the start is random. A file holds a record as
JSON or as text; ``record_text`` describes the text, and what else a record may have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .files import MEGABYTE, load_json, read_regular_file
from .game import Game
from .messages import quoted, shortened
from .options import check_stored
from .position import Position
from .record_text import MOST_DEPTH, format_record, looks_like_text, parse_record

#: Seeds are below this: 128 bits, as those that the system gives.
SEED_LIMIT = 2**128

#: Files with this ending are written as text, others as JSON. To read, the content decides.
TEXT_SUFFIX = ".txt"

_LARGEST_FILE = 4 * MEGABYTE


def make_record(game: Game, seed: int, moves: Sequence[str], position: Position) -> dict[str, Any]:
    """The record of a game that reached ``position`` by ``moves``."""
    return {
        "game": game.name,
        "version": game.version,
        "options": dict(game.options),
        "seed": seed,
        "moves": list(moves),
        "result": list(position.rewards) if position.is_over else None,
    }


def read_record_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the record in a file, JSON or text; `check_record` validates it.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is neither JSON of a mapping nor a record as text, or too large.
    """
    name = quoted(os.fspath(path), 100)
    content = read_regular_file(path, _LARGEST_FILE, "a game record")
    if looks_like_text(content.decode("utf-8-sig", errors="replace")):
        try:
            return parse_record(content.decode("utf-8-sig"))
        except ValueError as error:
            raise ValueError(f"the game record in {name}, {shortened(str(error), 250)}") from None
    record = load_json(content, f"a game record in {name}")
    if not isinstance(record, dict):
        raise ValueError(f"{name} holds no game record, but {_kind(record)}")
    return record


def record_file_content(record: Mapping[str, Any], path: str | os.PathLike[str]) -> str:
    """What a file of that name holds of a record: text if it ends in `TEXT_SUFFIX`, else JSON.

    Raises:
        ValueError: the record cannot be written as text.
    """
    if os.fspath(path).lower().endswith(TEXT_SUFFIX):
        return format_record(record)
    return json.dumps(record, indent=1) + "\n"


def check_record(record: Any, games: Mapping[str, type[Game]]) -> tuple[Game, int, list[int]]:
    """Read a record, which may come from a stranger.

    Returns:
        The game with its options, the seed, and the action numbers, every one legal. The moves
        of variations are checked too.

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
    return game, seed, _replay(game.start(seed), moves, _notes_by_move(record, len(moves)))


def _notes_by_move(record: Mapping[str, Any], moves: int) -> dict[int, Mapping[str, Any]]:
    notes = record.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, Mapping) for note in notes):
        raise ValueError(f"notes of a game record are a list of mappings, not {quoted(notes)}")
    by_move: dict[int, Mapping[str, Any]] = {}
    for note in notes:
        number = note.get("move")
        if type(number) is not int or not 1 <= number <= moves or number in by_move:
            raise ValueError(
                f"a note of the game record is of move {quoted(number)}; accepted: each of 1 to "
                f"{moves}, once"
            )
        by_move[number] = note
    return by_move


def _replay(
    position: Position, moves: Sequence[Any], notes: Mapping[int, Mapping[str, Any]]
) -> list[int]:
    """Play the moves; return their action numbers."""
    actions = []
    for number, text in enumerate(moves, 1):
        where = f"move {number} of the game record"
        if number in notes:
            _check_note(position, notes[number], number, where, 0)
        action = _action(position, text, where)
        position.play(action)
        actions.append(action)
    return actions


def _check_note(
    position: Position, note: Mapping[str, Any], number: int, where: str, depth: int
) -> None:
    """Check the comment and play the variations of a move that ``position`` has before it."""
    if not isinstance(note.get("comment", ""), str):
        raise ValueError(f"the comment of {where} is {quoted(note['comment'])}, not a text")
    variations = note.get("variations", [])
    if not isinstance(variations, list):
        raise ValueError(f"variations of {where} are {quoted(variations)}, not a list")
    if variations and depth == MOST_DEPTH:
        raise ValueError(f"{where} is within {MOST_DEPTH} variations and has another")
    for line in variations:
        if not isinstance(line, list) or not line:
            raise ValueError(f"a variation of {where} is {quoted(line)}, not a list of moves")
        _check_variation(position.copy(), line, number, depth + 1)


def _check_variation(position: Position, line: list[Any], first: int, depth: int) -> None:
    for number, move in enumerate(line, first):
        where = f"move {number} of the game record, in a variation of move {first}"
        if not isinstance(move, Mapping):
            raise ValueError(f"{where} is {quoted(move)}, not a mapping with a text")
        _check_note(position, move, number, where, depth)
        position.play(_action(position, move.get("text"), where))


def _action(position: Position, text: Any, where: str) -> int:
    if not isinstance(text, str):
        raise ValueError(f"{where} is {quoted(text)}, not a text")
    try:
        return position.text_to_action(text)
    except ValueError as error:
        raise ValueError(f"{where}: {shortened(str(error), 300)}") from None


def _kind(value: Any) -> str:
    return type(value).__name__
