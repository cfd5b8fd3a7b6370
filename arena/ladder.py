"""`Ladder`: the levels of strength of one agent in one game, and the JSON file that holds them.

A file may come from a stranger: its size is bounded, its content validated, and it holds no path
and no agent's name. The SHA-256 of the checkpoint identifies the network.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from ludarium.base.files import MEGABYTE, MisfitError, load_json, read_regular_file, sha256_of_file
from ludarium.base.messages import named, quoted, shortened
from ludarium.base.storage import write_whole
from ludarium.envs.engine.game import Game
from ludarium.training.agents.checkpoints import shipped_agent
from ludarium.training.evaluation import IntervalEstimate, MatchResult, fit_ratings

from .level_params import FEWEST_SIMULATIONS, MOST_SIMULATIONS, LevelParams, params_at

#: Words for levels, spread evenly from the weakest to the strongest.
WORDS = ("beginner", "easy", "medium", "hard", "expert", "strongest")

#: The strength on the path of `params_at` that stands for random play, with 0 Elo points.
RANDOM_STRENGTH = -3.0

SUFFIX = ".levels.json"

_LARGEST_FILE = MEGABYTE
_MOST_GAMES = 10**9


_Name = Annotated[str, Meta(pattern=r"\A[ -~]{1,100}\Z")]


@dataclass(frozen=True)
class Level:
    """One level of a ladder.

    Attributes:
        strength: the place of its parameters on the path of `params_at`.
        params: the parameters there.
        rating: its rating in Elo points; random play has 0.
    """

    strength: Annotated[float, Meta(ge=-100, le=100)]
    params: LevelParams
    rating: IntervalEstimate


@dataclass(frozen=True)
class LevelMatch:
    """A measured match between two levels, or of a level and random play.

    Attributes:
        upper, lower: the levels' numbers, from 1; 0 is random play.
        result: result of the upper level.

    Raises:
        ValueError: ``upper`` is not above ``lower``, or ``lower`` is negative; or the result has
            negative numbers, no games, or more than 10^9.
    """

    upper: int
    lower: int
    result: MatchResult

    def __post_init__(self) -> None:
        if not 0 <= self.lower < self.upper:
            raise ValueError(
                f"a match is of levels {quoted([self.upper, self.lower])}, not of a higher one and "
                "a lower one from 0 on"
            )
        counts = self.result.wins, self.result.draws, self.result.losses
        if min(counts) < 0 or not 1 <= sum(counts) <= _MOST_GAMES:
            raise ValueError(f"a match has {quoted(counts)} wins, draws and losses")


@dataclass(frozen=True)
class Scale:
    """Elo points by strength, both increasing; between the points it is linear, beyond them flat.

    Attributes:
        strengths: points of the path of `params_at`; the first is random play.
        elo: Elo points of these; random play has 0.
    """

    strengths: Sequence[float]
    elo: Sequence[float]

    def elo_at(self, strength: float) -> float:
        """Elo points at a strength."""
        return float(np.interp(strength, self.strengths, self.elo))

    def strength_at(self, elo: float) -> float:
        """The strength at some Elo points."""
        return float(np.interp(elo, self.elo, self.strengths))


@dataclass(frozen=True)
class Ladder:
    """Levels of one agent, from the weakest to the strongest.

    Attributes:
        game, version, options: the rules of its measurement.
        agent: SHA-256 of the checkpoint file, hexadecimal.
        date: date of the measurement, as YYYY-MM-DD.
        seed: seed of its matches.
        seconds: duration of the measurement.
        simulations: simulations of the strongest level, for each move.
        levels: the levels; number 1 is the first.
        matches: those of neighbours, and others.

    Raises:
        ValueError: the levels do not rise, one has more simulations than the strongest, or a match
            is of a level that does not exist.
    """

    game: _Name
    version: Annotated[int, Meta(ge=0)]
    options: dict[str, Any]
    agent: _Name
    date: _Name
    seed: Annotated[int, Meta(ge=0)]
    seconds: Annotated[float, Meta(ge=0)]
    simulations: Annotated[int, Meta(ge=FEWEST_SIMULATIONS, le=MOST_SIMULATIONS)]
    levels: Annotated[tuple[Level, ...], Meta(min_length=2, max_length=100)]
    matches: Annotated[tuple[LevelMatch, ...], Meta(max_length=10_000)]

    def __post_init__(self) -> None:
        if any(b.strength <= a.strength for a, b in pairwise(self.levels)):
            raise ValueError("the levels do not increase in strength")
        if any(b <= a for a, b in pairwise(self.scale.elo)):
            raise ValueError(
                "the levels do not increase in Elo points, from more than 0 on: more games may "
                "order them, or a better agent"
            )
        if any(level.params.simulations > self.simulations for level in self.levels):
            raise ValueError(
                f"a level takes more than the {self.simulations} simulations of the strongest"
            )
        highest = max((match.upper for match in self.matches), default=0)
        if highest > len(self.levels):
            raise ValueError(f"a match is of level {quoted(highest)}, above {len(self.levels)}")

    def fits(self, game: Game) -> bool:
        """Whether the levels are for this game with the same options."""
        return (self.game, self.version, self.options) == (game.name, game.version, game.options)

    def check_fits(self, game: Game, checkpoint: Path) -> None:
        """Raise ``ValueError`` unless the levels are for this game and of this checkpoint."""
        if not self.fits(game):
            raise ValueError(
                f"the levels are of {self.game} version {self.version} with the options "
                f"{quoted(self.options, 100)}, not of version {game.version} of {game}"
            )
        if self.agent != sha256_of_file(checkpoint):
            raise ValueError(
                f"the levels were measured with another agent than {named(checkpoint.name)}: give "
                "that one (level:3?ladder=FILE&agent=CHECKPOINT), or measure this one's by "
                "`ludarium levels --measure`"
            )

    def number(self, name: str) -> int:
        """The number of a level by its name: a number from 1, or one of `WORDS`.

        Raises:
            ValueError: there is no such level.
        """
        if name in WORDS:
            return self.words[name]
        digits = name.lstrip("0")
        if digits.isascii() and digits.isdecimal() and int(digits[:9]) <= len(self.levels):
            return int(digits)
        raise ValueError(
            f"there is no level {quoted(name)} of {self.game}; accepted: 1 to {len(self.levels)}, "
            f"{', '.join(WORDS)}"
        )

    @property
    def words(self) -> dict[str, int]:
        """The number of the level for each of `WORDS`."""
        last = len(self.levels) - 1
        return {
            word: 1 + math.floor(index * last / (len(WORDS) - 1) + 0.5)
            for index, word in enumerate(WORDS)
        }

    @property
    def steps(self) -> list[LevelMatch]:
        """The match of each level from 2 on against the level below."""
        return [match for match in self.matches if match.upper == match.lower + 1 > 1]

    @property
    def scale(self) -> Scale:
        """The strengths of random play and of the levels, with their Elo points."""
        return Scale(
            [RANDOM_STRENGTH, *(level.strength for level in self.levels)],
            [0.0, *(level.rating.value for level in self.levels)],
        )


@dataclass(frozen=True)
class _Stored:
    """The content of a file."""

    format: Literal[4]
    ladder: Ladder


def rate_levels(
    strengths: Sequence[float], matches: Sequence[LevelMatch], simulations: int
) -> tuple[Level, ...]:
    """The levels of these strengths, with ratings from all matches; random play has 0.

    Args:
        strengths: the levels' places on the path of `params_at`, ascending.
        matches: at least one of each level.
        simulations: simulations of the strongest level.

    Raises:
        ValueError: no chain of matches leads from a level to random play, or ``simulations`` is out
            of range.
    """
    results = [(str(each.upper), str(each.lower), each.result) for each in matches]
    ratings = fit_ratings(results, {"0": 0.0})
    unmet = [number for number in range(1, len(strengths) + 1) if str(number) not in ratings]
    if unmet:
        raise ValueError(f"level {unmet[0]} has no match")
    return tuple(
        Level(strength, params_at(strength, simulations), ratings[str(number)].rounded(1))
        for number, strength in enumerate(strengths, 1)
    )


def ladder_beside(checkpoint: Path) -> Path:
    """The file of a checkpoint's levels: ``corso.levels.json`` for ``corso.safetensors``."""
    return checkpoint.with_name(checkpoint.name.partition(".")[0] + SUFFIX)


def ladder_of(checkpoint: Path, game: Game) -> Ladder | None:
    """The levels beside a checkpoint, measured with it by these rules; None if there are none.

    Raises:
        ValueError: the file beside it is damaged.
    """
    path = ladder_beside(checkpoint)
    ladder = load_ladder(path) if path.is_file() else None
    if ladder is None or not ladder.fits(game) or ladder.agent != sha256_of_file(checkpoint):
        return None
    return ladder


def find_ladder(game: Game) -> Ladder:
    """The shipped ladder of a game with its options.

    Raises:
        FileNotFoundError: none ships; the message says how to make one.
        ValueError: its file is damaged.
    """
    agent = shipped_agent(game.name, game.options)
    ladder = None if agent is None else ladder_of(agent, game)
    if ladder is None:
        by, level = "", "level:3?ladder=FILE"
        if agent is None:
            by, level = " --agent RUN", '"level:3?ladder=FILE&agent=RUN"'
        raise FileNotFoundError(
            f"there are no levels of {game}: measure them with `ludarium levels {game.name} "
            f"--measure{by}` and the same --option, and take {level}"
        )
    return ladder


def save_ladder(ladder: Ladder, path: str | os.PathLike[str]) -> None:
    """Write a ladder as JSON, atomically.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(Path(path), msgspec.json.encode(_Stored(4, ladder)) + b"\n")


def load_ladder(path: str | os.PathLike[str]) -> Ladder:
    """Read the ladder in a JSON file, and rate its levels again by its matches.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no ladder, or levels that do not follow from their strengths and the
            matches; the message names the file and what is wrong.
    """
    name = f"the ladder of levels in {named(path)}"
    return _ladder_in(read_regular_file(path, _LARGEST_FILE, "a ladder of levels"), name)


@lru_cache(maxsize=64)  # rating takes up to half a second
def _ladder_in(content: bytes, name: str) -> Ladder:
    try:
        ladder: Ladder = load_json(content, name, _Stored).ladder
    except MisfitError as error:
        old = "knobs are called params now; " if b'"knobs"' in content else ""
        raise ValueError(
            f"{error}; {old}measure levels anew, by `ludarium levels --measure`"
        ) from None
    try:
        strengths = [level.strength for level in ladder.levels]
        rated = rate_levels(strengths, ladder.matches, ladder.simulations)
    except ValueError as error:
        raise ValueError(f"{name} is damaged: {shortened(str(error))}") from None
    for number, (stored, level) in enumerate(zip(ladder.levels, rated, strict=True), 1):
        if not (_alike(stored.params, level.params) and _alike(stored.rating, level.rating)):
            raise ValueError(
                f"{name} is damaged: level {number} is not what its strength and the matches make "
                "it; measure the levels again, by `ludarium levels --measure`"
            )
    return ladder


def _alike(stored: Any, computed: Any) -> bool:
    """Whether two dataclasses of numbers are equal but for rounding in their last digits."""
    pairs = zip(astuple(stored), astuple(computed), strict=True)
    return all(math.isclose(one, other, rel_tol=1e-4, abs_tol=2e-5) for one, other in pairs)
