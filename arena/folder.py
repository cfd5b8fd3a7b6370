"""The folder of a tournament or a comparison: its settings, every game, and the results.

    arena.json     the plan: game, options, agents, seed and so on; written once
    games.jsonl    one game record in each line, with the number of the game in its pairing, the
                   players' names, and seconds for each move
    results.json   standings or verdict, for programs
    table.txt      the same for people

`ludarium.envs.from_record` replays a line. A match's games are appended together and flushed to
the disk. Games of an unfinished match that a kill has left are removed when the tournament resumes,
and are played again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from ludarium.base.durable import PARTIAL, append, make_folders, write_file
from ludarium.base.files import (
    MEGABYTE,
    convert,
    load_json,
    open_regular_file,
    read_json_file,
    read_regular_file,
)
from ludarium.base.lock import WriterLock
from ludarium.base.messages import did_you_mean, named, quoted, shortened
from ludarium.envs.engine.game import Game
from ludarium.envs.registry import GAMES, make_stored_game

from .results import ROW
from .schedule import Entrant, Schedule, ScheduledMatch, SeededOpenings

SETTINGS, RECORDS, RESULTS, TABLE = "arena.json", "games.jsonl", "results.json", "table.txt"
_LOCK = "lock"

FORMAT = 1

_LARGEST_SETTINGS = MEGABYTE
_LARGEST_LINE = 4 * MEGABYTE
_LARGEST_GAMES = 4096 * MEGABYTE
_MOST_PLIES = 10**6
_MOST_GAMES = 10**9  # games of a pairing


@dataclass(frozen=True)
class _RecordLine:
    """The fields that are read of a line, which may come from a stranger."""

    players: tuple[str, str]
    number: Annotated[int, Meta(ge=0, le=_MOST_GAMES)]
    game: str
    version: int
    options: dict[str, Any]
    seed: Annotated[int, Meta(ge=0)]
    opening_plies: int
    moves: Annotated[list[str], Meta(max_length=_MOST_PLIES)]
    result: tuple[Literal[-1, 0, 1], Literal[-1, 0, 1]]
    position: str | None = None

    def __post_init__(self) -> None:
        if sum(self.result) != 0:
            raise ValueError(f"the result is {self.result}, not two rewards whose sum is 0")


def row_of(record: Any, agents: Sequence[str]) -> np.ndarray:
    """The data that statistics need from a line, which may come from a stranger: one row of `ROW`.

    Raises:
        ValueError: it is not a record of a finished game between two of these agents.
    """
    line: _RecordLine = convert(record, "the game", _RecordLine)
    pairing = line.players[::-1] if line.number % 2 else line.players
    for name in pairing:
        if name not in agents:
            raise ValueError(f"{quoted(name)} is none of the agents")
    start = json.dumps([line.seed, line.position, line.moves]).encode()
    digest = int.from_bytes(hashlib.sha256(start).digest()[:8], "big")
    row = (*map(agents.index, pairing), line.number, line.result[0], len(line.moves), digest)
    return np.array([row], ROW)


def check_replay(record: dict[str, Any], openings: SeededOpenings) -> None:
    """Play the game of a line that `row_of` accepts, which may come from a stranger.

    Args:
        record: the line.
        openings: the openings of all games.

    Raises:
        ValueError: it is of another game or begins with another opening, or its moves are not
            legal or do not lead to its result.
    """
    game = openings.game
    for key, value in _rules_of(game).items():
        if record[key] != value:
            raise ValueError(f"its {key} is {quoted(record[key])}, not {quoted(value)}")
    opening = openings.between(record["number"] // 2, record["number"] // 2 + 1)
    seed = opening.seeds[0] if game.random_start else 0
    if record["seed"] != seed:
        raise ValueError(f"its seed is {quoted(record['seed'])}, not {seed}")
    start = opening.positions[0]
    if record.get("position") != start:
        begins = "the game's start" if start is None else quoted(start)
        raise ValueError(f"its position is {quoted(record.get('position'))}, not {begins}")
    plies = len(opening.actions[0])
    position = game.start(seed, start)
    texts = position.play_all(opening.actions[0])
    if (record["opening_plies"], record["moves"][:plies]) != (plies, texts):
        raise ValueError(f"its opening is not {' '.join(texts) or 'empty'}, as in the others")
    for number, text in enumerate(record["moves"][plies:], plies + 1):
        try:
            position.play(position.text_to_action(text))
        except ValueError as error:
            raise ValueError(f"move {number}: {error}") from None
    is_resigned = record.get("resigned") is True and record["result"] in ([1, -1], [-1, 1])
    if not (position.is_over or is_resigned):
        raise ValueError(f"the game goes on after its {len(record['moves'])} moves")
    if position.is_over and record["result"] != list(position.rewards):
        raise ValueError(
            f"its result is {record['result']}, but the moves lead to {list(position.rewards)}"
        )


def _rules_of(game: Game) -> dict[str, Any]:
    """What settings and records say of the rules, as read from JSON."""
    options = json.loads(json.dumps(dict(game.options)))
    return {"game": game.name, "version": game.version, "options": options}


class ArenaFolder:
    """A folder with games; see the module.

    Args:
        path: path of the folder, which need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = WriterLock(path / _LOCK)

    def read_settings(self) -> dict[str, Any] | None:
        """The settings in the folder; ``None`` if there is no folder, or an empty one.

        What an early kill leaves, such as the lock's file, does not count.

        Raises:
            ValueError: the folder holds something else, or its settings are damaged.
        """
        file = self.path / SETTINGS
        try:
            settings: dict[str, Any] = read_json_file(
                file, _LARGEST_SETTINGS, "the settings of a tournament", dict[str, Any]
            )
        except FileNotFoundError:
            self._check_empty()
            return None
        return settings

    @contextmanager
    def opened(self, settings: dict[str, Any]) -> Iterator[None]:
        """A context in which this process alone may write to the folder, which has these settings.

        Raises:
            ValueError: another process holds it, or it has other settings or something else.
            StorageError: it cannot be written.
        """
        self._has(settings)  # check before anything is written there
        make_folders(self.path)
        self._lock.acquire()
        try:
            if not self._has(settings):
                self._write_json(SETTINGS, settings)
            yield
        finally:
            self._lock.release()

    def read_games(
        self, schedule: Schedule, openings: SeededOpenings, repair: bool = False
    ) -> dict[ScheduledMatch, np.ndarray]:
        """The games of completely played matches, replayed: rows of `ROW` in order, by match.

        Args:
            schedule: the games that may be played.
            openings: their openings.
            repair: remove games of an incomplete match, and a line that a kill has cut; only the
                holder of the folder may do so.

        Raises:
            ValueError: a line is not a game of the schedule, occurs twice, or does not replay; the
                message names it. Or the file is too large, or none that can be read.
            StorageError: the file cannot be repaired.
        """
        file = self.path / RECORDS
        found: dict[ScheduledMatch, dict[int, np.ndarray]] = {}
        lines: list[tuple[ScheduledMatch, int, int]] = []  # where each game is in the file
        total = 0
        try:
            stream = open_regular_file(file, _LARGEST_GAMES, "the games of a tournament")
        except FileNotFoundError:
            return {}
        with stream:
            for count, line in enumerate(iter(lambda: stream.readline(_LARGEST_LINE), b""), 1):
                begin, total = total, total + len(line)
                if not line.endswith(b"\n") and len(line) < _LARGEST_LINE:
                    break  # a kill has cut this line
                try:
                    record = load_json(line, "the game")
                    row = row_of(record, schedule.agents)
                    match = schedule.find(row)
                    if int(row["number"][0]) in found.setdefault(match, {}):
                        raise ValueError("the game occurs twice")
                    check_replay(record, openings)
                except ValueError as error:
                    raise ValueError(
                        f"{named(file)} is damaged in line {count}: {shortened(str(error))}; "
                        "delete the line, and its match is played again"
                    ) from None
                found[match][int(row["number"][0])] = row
                lines.append((match, begin, total))
        whole = {
            match: np.concatenate([games[number] for number in match.numbers])
            for match, games in found.items()
            if len(games) == match.games
        }
        kept = [(begin, end) for match, begin, end in lines if match in whole]
        if repair and sum(end - begin for begin, end in kept) != total:
            content = read_regular_file(file, _LARGEST_GAMES, "the games of a tournament")
            write_file(file, b"".join(content[begin:end] for begin, end in kept))
        return whole

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Append the games of a match and flush them to the disk.

        Raises:
            StorageError: they cannot be written.
        """
        append(self.path / RECORDS, "".join(f"{json.dumps(each)}\n" for each in records).encode())

    def write_results(self, results: dict[str, Any], table: str) -> None:
        """Write the results for programs and for people.

        Raises:
            StorageError: they cannot be written.
        """
        self._write_json(RESULTS, results)
        write_file(self.path / TABLE, f"{table}\n".encode())

    def _has(self, settings: dict[str, Any]) -> bool:
        """Whether the folder has these settings, rather than none; raises if it has others."""
        found = self.read_settings()
        if found is not None:
            _check_same(found, settings, self.path)
        return found is not None

    def _write_json(self, name: str, data: dict[str, Any]) -> None:
        write_file(self.path / name, f"{json.dumps(data, indent=1)}\n".encode())

    def _check_empty(self) -> None:
        """Raise unless the folder is missing, or has at most files that an early kill leaves."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ValueError(f"{named(self.path)} is not a folder; give another folder")
        with_others = any(
            item.name != _LOCK and not item.name.endswith(PARTIAL) for item in self.path.iterdir()
        )
        if with_others:
            raise ValueError(
                f"{named(self.path)} holds no tournament, but other things; give another folder"
            )


def describe(kind: str, game: Game, entrants: Mapping[str, Entrant]) -> dict[str, Any]:
    """The part of the settings that all folders have."""
    networks = {name: each.network for name, each in entrants.items() if each.network is not None}
    return {"kind": kind, "format": FORMAT, **_rules_of(game), "networks": networks}


#: The keys of `describe`.
DESCRIBED = ("kind", "format", "game", "version", "options", "networks")


def read_described(settings: dict[str, Any], kind: str, path: Path) -> Game:
    """The game in a folder's settings, which may come from a stranger.

    Raises:
        ValueError: they have another kind, format or version of the game, or the game or its
            options do not exist.
    """
    file = named(path / SETTINGS)
    if settings.get("kind") != kind:
        raise ValueError(f"{file} is of kind {quoted(settings.get('kind'))}, not of a {kind}")
    if settings.get("format") != FORMAT:
        raise ValueError(
            f"{file} has format {quoted(settings.get('format'))}; this program reads {FORMAT}"
        )
    name = settings.get("game")
    if not isinstance(name, str) or name not in GAMES:
        raise ValueError(f"{file} is of game {quoted(name)}; known games: {', '.join(GAMES)}")
    try:
        game = make_stored_game(name, settings.get("options"))
    except ValueError as error:
        raise ValueError(f"{file}: {shortened(str(error), 280)}") from None
    if settings.get("version") != game.version:
        raise ValueError(
            f"{file} is for version {quoted(settings.get('version'))} of {name}, and this program "
            f"has version {game.version}"
        )
    return game


def check_keys(settings: dict[str, Any], keys: Iterable[str], file: Path) -> None:
    """Raise ``ValueError`` unless a folder's settings have exactly these keys."""
    keys = list(keys)
    unknown = next((key for key in settings if key not in keys), None)
    if unknown is not None:
        raise ValueError(
            f"{named(file)} has an unknown key {quoted(unknown)}{did_you_mean(unknown, keys)}"
        )
    missing = [key for key in keys if key not in settings]
    if missing:
        raise ValueError(
            f"{named(file)} lacks {', '.join(missing)}: add it, or play in a new folder"
        )


def _check_same(found: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    """Raise ``ValueError`` if a folder's settings differ from those of the contest to be played."""
    wanted = json.loads(json.dumps(wanted))
    if all(found.get(key) == wanted[key] for key in ("kind", "format")):
        check_keys(found, wanted, path / SETTINGS)
    differing = [key for key in wanted if found.get(key) != wanted[key]]
    if not differing:
        return
    # Other agents have other networks, so another key tells more.
    key = next((each for each in differing if each != "networks"), "networks")
    stored = found.get(key)
    if key == "networks" and isinstance(stored, dict):
        changed = [name for name in wanted[key] if stored.get(name) != wanted[key][name]]
        raise ValueError(
            f"{named(path)} has games of another network that was called "
            f"{shortened(', '.join(changed), 100)}: its file has changed since; give another "
            "folder"
        )
    raise ValueError(
        f"{named(path)} holds something else: its {key} is {quoted(stored)}, not "
        f"{quoted(wanted[key])}; give another folder"
    )
