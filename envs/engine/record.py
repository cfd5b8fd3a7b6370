"""Game records: a finished or unfinished game as a small JSON-ready dict, and back.

    {"game": "corso", "version": 0, "options": {"size": 5}, "seed": 7,
     "moves": ["c3", "b3", "c3!"], "result": [0, 0]}

``result`` holds the rewards so far and is only read by people; ``seed`` matters where the
start is random.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .game import Game
from .position import Position


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


def check_record(record: Any, games: Mapping[str, type[Game]]) -> tuple[Game, int, list[int]]:
    """Read a record.

    Returns:
        The game with its options, the seed, and the action numbers, every one legal.

    Raises:
        ValueError: something is missing, unknown or illegal; the message names it.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"a game record is a mapping, not {type(record).__name__}")
    missing = [key for key in ("game", "version", "options", "moves") if key not in record]
    if missing:
        raise ValueError(f"the game record lacks {', '.join(missing)}")
    name, options, moves = record["game"], record["options"], record["moves"]
    seed = record.get("seed", 0)
    if not isinstance(name, str) or name not in games:
        raise ValueError(f"the game record is of {name!r}; known games: {', '.join(games)}")
    if record["version"] != games[name].version:
        raise ValueError(
            f"the game record is of {name} version {record['version']!r}; this is version "
            f"{games[name].version}, with other rules or notation"
        )
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        raise ValueError(f"options of a game record are a mapping by name, not {options!r}")
    if type(seed) is not int or seed < 0:
        raise ValueError(f"seed of a game record is a non-negative integer, not {seed!r}")
    if not isinstance(moves, Sequence) or isinstance(moves, str):
        raise ValueError(f"moves of a game record are a list of texts, not {moves!r}")
    game = games[name](**options)
    position = game.start(seed)
    actions = []
    for number, text in enumerate(moves, 1):
        if not isinstance(text, str):
            raise ValueError(f"move {number} of the game record is {text!r}, not a text")
        try:
            action = position.text_to_action(text)
        except ValueError as error:
            raise ValueError(f"move {number} of the game record: {error}") from None
        position.play(action)
        actions.append(action)
    return game, seed, actions
