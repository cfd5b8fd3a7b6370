"""`Ladder`: the levels of strength of one agent in one game, and the JSON file that holds them.

A file may come from a stranger: it is bounded, validated and holds numbers only, no path and no
agent's name. Which network plays is known by the SHA-256 of its checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ludarium.envs.engine.files import MEGABYTE, load_json, read_regular_file
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.evaluation import Rating, Tally
from ludarium.training.runs.files import write_file

from .knobs import FEWEST_SIMULATIONS, MOST_SIMULATIONS, Knobs

#: Words for levels, spread evenly from the weakest to the strongest.
WORDS = ("beginner", "easy", "medium", "hard", "expert", "strongest")

#: Strength on the path of `knobs_at` from which down play is random: 0 Elo points.
RANDOM_STRENGTH = -3.0

SUFFIX = ".levels.json"

_FORMAT = 1
_LARGEST_FILE = MEGABYTE
_MOST_LEVELS = 100
_MOST_MEETINGS = 10_000
_MOST_GAMES = 10**9
_MOST_ELO = 1e5
_MOST_STRENGTH = 100.0
_MOST_TEXT = 100
_MOST_SECONDS = 1e9


@dataclass(frozen=True)
class Level:
    """One level.

    Attributes:
        strength: where its knobs are on the path of `knobs_at`.
        knobs: how it plays.
        rating: in Elo points; random play has 0.
    """

    strength: float
    knobs: Knobs
    rating: Rating


@dataclass(frozen=True)
class Meeting:
    """A measured match between two levels.

    Attributes:
        upper, lower: their numbers, from 1; 0 is random play.
        tally: the upper one's results.
    """

    upper: int
    lower: int
    tally: Tally

    @property
    def score(self) -> float:
        """Points per game of the upper level; a draw is half a point."""
        return self.tally.score

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the score (Wilson)."""
        return self.tally.interval


@dataclass(frozen=True)
class Ladder:
    """Levels of one agent, from the weakest to the strongest.

    Attributes:
        game, version, options: the rules that it was measured by.
        agent: SHA-256 of the checkpoint file, hexadecimal.
        date: of the measurement, as YYYY-MM-DD.
        seed: of its matches.
        seconds: that it took.
        simulations: of the strongest level, for each move.
        levels: number 1 is the first.
        meetings: the matches of neighbours, and others.
    """

    game: str
    version: int
    options: dict[str, Any]
    agent: str
    date: str
    seed: int
    seconds: float
    simulations: int
    levels: tuple[Level, ...]
    meetings: tuple[Meeting, ...]

    def fits(self, game: Game) -> bool:
        """Whether the levels are of this game with the same options."""
        return (self.game, self.version, self.options) == (game.name, game.version, game.options)

    def number(self, name: str) -> int:
        """The number of the level that is called so: a number from 1, or one of `WORDS`.

        Raises:
            ValueError: there is no such level.
        """
        if name in WORDS:
            return self.words[name]
        if name.isascii() and name.isdecimal() and 1 <= int(name[:9]) <= len(self.levels):
            return int(name)
        raise ValueError(
            f"there is no level {quoted(name)} of {self.game}; accepted: 1 to {len(self.levels)}, "
            f"{', '.join(WORDS)}, auto"
        )

    @property
    def words(self) -> dict[str, int]:
        """The number of the level that each of `WORDS` means."""
        last = len(self.levels) - 1
        return {
            word: 1 + math.floor(index * last / (len(WORDS) - 1) + 0.5)
            for index, word in enumerate(WORDS)
        }

    @property
    def steps(self) -> list[Meeting]:
        """The match of each level from 2 on against the one below."""
        return [meeting for meeting in self.meetings if meeting.upper == meeting.lower + 1 > 1]

    def strength_of(self, elo: float) -> float:
        """The strength on the path of `knobs_at` that is worth so many Elo points, within ends."""
        return float(np.interp(elo, *self._path))

    @property
    def _path(self) -> tuple[list[float], list[float]]:
        """Elo points and strengths: those of random play and of the levels."""
        return (
            [0.0, *(level.rating.elo for level in self.levels)],
            [RANDOM_STRENGTH, *(level.strength for level in self.levels)],
        )


def digest_of(path: Path) -> str:
    """SHA-256 of a checkpoint file, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ladder_beside(checkpoint: Path) -> Path:
    """Where the levels of a checkpoint are: ``corso.levels.json`` for ``corso.safetensors``."""
    return checkpoint.with_name(checkpoint.name.partition(".")[0] + SUFFIX)


def shipped_ladders(game: str) -> list[Path]:
    """The ladders that ship with a game's agents; that of the default agent first."""
    with as_file(files("ludarium.models").joinpath("shipped")) as folder:
        found = sorted(Path(folder).glob(f"{game}{SUFFIX}"))
        return found + sorted(Path(folder).glob(f"{game}-*{SUFFIX}"))


def find_ladder(game: Game) -> Ladder:
    """The shipped ladder of a game with its options.

    Raises:
        FileNotFoundError: none ships; the message says how to make one.
    """
    agent = shipped_agent(game.name, game.options)
    path = None if agent is None else ladder_beside(agent)
    if path is not None and path.is_file():
        ladder = load_ladder(path)
        if ladder.fits(game):
            return ladder
    raise FileNotFoundError(
        f"there are no levels of {game}: measure them with `ludarium levels {game.name}` and the "
        "same --option, and take level:3?ladder=FILE"
    )


def save_ladder(ladder: Ladder, path: str | os.PathLike[str]) -> None:
    """Write a ladder as JSON, atomically.

    Raises:
        StorageError: it cannot be written.
    """
    levels = [
        {"strength": level.strength, **asdict(level.knobs), "elo": list(_as_list(level.rating))}
        for level in ladder.levels
    ]
    meetings = [
        [
            meeting.upper,
            meeting.lower,
            meeting.tally.wins,
            meeting.tally.draws,
            meeting.tally.losses,
        ]
        for meeting in ladder.meetings
    ]
    head = {"format": _FORMAT} | {
        name: getattr(ladder, name) for name in ladder.__dataclass_fields__
    }
    del head["levels"], head["meetings"]
    text = (
        f"{json.dumps(head)[:-1]},\n"
        f' "levels": [\n{_lines(levels)}\n ],\n'
        f' "meetings": [\n{_lines(meetings)}\n ]}}\n'
    )
    write_file(Path(path), text.encode())


def load_ladder(path: str | os.PathLike[str]) -> Ladder:
    """Read the ladder in a JSON file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no ladder; the message names the file and what is wrong.
    """
    name = quoted(os.fspath(path), 100)
    data = load_json(read_regular_file(path, _LARGEST_FILE, "a ladder of levels"), name)
    try:
        return _ladder(data)
    except ValueError as error:
        raise ValueError(f"{name} holds no ladder of levels: {error}") from None


def _lines(rows: list[Any]) -> str:
    return ",\n".join(f"  {json.dumps(row)}" for row in rows)


def _as_list(rating: Rating) -> tuple[float, float, float]:
    return rating.elo, rating.low, rating.high


def _ladder(data: Any) -> Ladder:
    fields = _fields(data, "the whole")
    if fields.get("format") != _FORMAT:
        raise ValueError(f"format is {quoted(fields.get('format'))}, not {_FORMAT}")
    levels = _list_of(fields, "levels", _MOST_LEVELS, _level)
    strengths = [level.strength for level in levels]
    if len(levels) < 2 or any(b <= a for a, b in pairwise(strengths)):
        raise ValueError("levels are at least 2, of increasing strength")
    elo = [0.0, *(level.rating.elo for level in levels)]
    if any(b <= a for a, b in pairwise(elo)):
        raise ValueError("levels do not increase in Elo points, from more than 0 on")
    simulations = _integer(fields, "simulations", FEWEST_SIMULATIONS, MOST_SIMULATIONS)
    if any(level.knobs.simulations > simulations for level in levels):
        raise ValueError(f"a level takes more than the {simulations} simulations of the strongest")
    return Ladder(
        game=_text(fields, "game"),
        version=_integer(fields, "version", 0, _MOST_GAMES),
        options=_fields(fields.get("options"), "options"),
        agent=_text(fields, "agent"),
        date=_text(fields, "date"),
        seed=_integer(fields, "seed", 0, 2**63),
        seconds=_real(fields, "seconds", 0, _MOST_SECONDS),
        simulations=simulations,
        levels=tuple(levels),
        meetings=tuple(
            _list_of(fields, "meetings", _MOST_MEETINGS, lambda row: _meeting(row, len(levels)))
        ),
    )


def _level(data: Any) -> Level:
    fields = _fields(data, "a level")
    elo = fields.get("elo")
    if not isinstance(elo, list) or len(elo) != 3:
        raise ValueError(f"elo is {quoted(elo)}, not [elo, low, high]")
    knobs = {name: fields[name] for name in Knobs.__dataclass_fields__ if name in fields}
    if len(knobs) < len(Knobs.__dataclass_fields__):
        raise ValueError(f"a level lacks one of {', '.join(Knobs.__dataclass_fields__)}")
    return Level(
        strength=_real(fields, "strength", -_MOST_STRENGTH, _MOST_STRENGTH),
        knobs=Knobs(**knobs),
        rating=Rating(*(_real({"elo": each}, "elo", -_MOST_ELO, _MOST_ELO) for each in elo)),
    )


def _meeting(row: Any, levels: int) -> Meeting:
    if not isinstance(row, list) or len(row) != 5 or any(type(each) is not int for each in row):
        raise ValueError(f"a meeting is {quoted(row)}, not [upper, lower, wins, draws, losses]")
    upper, lower, *results = row
    if not 0 <= lower < upper <= levels:
        raise ValueError(f"a meeting is of levels {quoted([upper, lower])}")
    if min(results) < 0 or not 1 <= sum(results) <= _MOST_GAMES:
        raise ValueError(f"a meeting has the results {quoted(results)}")
    return Meeting(upper, lower, Tally(*results))


_Row = TypeVar("_Row")


def _list_of(
    fields: dict[str, Any], key: str, most: int, read: Callable[[Any], _Row]
) -> list[_Row]:
    value = fields.get(key)
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"{key} is {quoted(value)}, not a list of up to {most:,}")
    return [read(each) for each in value]


def _fields(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {quoted(value)}, not a mapping")
    return value


def _text(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not 1 <= len(value) <= _MOST_TEXT or not value.isprintable():
        raise ValueError(f"{key} is {quoted(value)}, not a text of up to {_MOST_TEXT} characters")
    return value


def _integer(fields: dict[str, Any], key: str, low: int, high: int) -> int:
    value = fields.get(key)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{key} is {quoted(value)}, not a whole number from {low} to {high:,}")
    return value


def _real(fields: dict[str, Any], key: str, low: float, high: float) -> float:
    value: Any = fields.get(key)
    if type(value) not in (int, float) or not low <= value <= high:
        raise ValueError(f"{key} is {quoted(value)}, not a number from {low:g} to {high:g}")
    return float(value)
