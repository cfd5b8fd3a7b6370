"""Is A stronger than B? Games until a sequential test can say so (`ludarium.arena.sprt`).

    comparison = compare_agents(make_game("corso"), "uct:400", "uct:200", SPRT(elo1=50))
    print(comparison.verdict, comparison.elo, comparison.elo_interval)

The pairs of games count in the order of their openings, whichever are finished first: long games
may end otherwise than short ones, and the verdict must not depend on the number of cores. What was
played beyond the pair that decided is kept, but does not count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.envs.engine.files import convert
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.progress import UNWATCHED, Task
from ludarium.training.evaluation import Games, elo_difference

from .chunks import Chunk, Schedule, check_seed, play_chunks
from .entrants import check_names, enter
from .folder import (
    Archive,
    ArenaFolder,
    FinishedGame,
    describe,
    read_described,
)
from .sprt import SPRT, Verdict, elo_interval, mean_score
from .tables import comparison_line, comparison_table

KIND = "comparison"
MOST_GAMES = 1_000_000
DEFAULT_GAMES = 20_000


@dataclass(frozen=True)
class Comparison:
    """How a test stands, or ended.

    Attributes:
        first, second: A and B.
        test: what is tested.
        counts: int64[5], pairs of games by A's score in them: 0, 1/4, 1/2, 3/4, 1.
        llr: logarithm of the likelihood ratio, see `SPRT`.
        verdict: what it says.
        games_limit: games after which the test ends without a verdict.
    """

    first: str
    second: str
    test: SPRT
    counts: np.ndarray
    llr: float
    verdict: Verdict
    games_limit: int

    @property
    def games(self) -> int:
        """How many games count."""
        return 2 * int(self.counts.sum())

    @property
    def is_finished(self) -> bool:
        """Whether the test has ended, by a verdict or by its limit."""
        return self.verdict is not Verdict.OPEN or self.games >= self.games_limit

    @property
    def score(self) -> float:
        """Points of A per game; with no games, 1/2."""
        return mean_score(self.counts) if self.games else 0.5

    @property
    def elo(self) -> float:
        """Elo difference that the score stands for."""
        return elo_difference(self.score)

    @property
    def elo_interval(self) -> tuple[float, float]:
        """Its 95 % interval, as of a number of games that was fixed before (see `elo_interval`)."""
        if not self.games:
            return elo_difference(0), elo_difference(1)
        return elo_interval(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values; an infinite Elo difference is ``None``."""

        def finite(value: float) -> float | None:
            return round(value, 2) if np.isfinite(value) else None

        low, high = self.test.bounds
        return {
            "verdict": self.verdict.value,
            "finished": self.is_finished,
            "games": self.games,
            "pairs_by_score": [int(count) for count in self.counts],
            "llr": round(self.llr, 6),
            "llr_bounds": [low, high],
            "score": self.score,
            "elo": finite(self.elo),
            "elo_interval_95": [finite(end) for end in self.elo_interval],
        }


@dataclass(frozen=True)
class _Question:
    """What the settings of a folder say, which may come from a stranger.

    Raises:
        ValueError: a name or a number is not possible.
    """

    agents: tuple[str, str]
    elo0: float
    elo1: float
    alpha: float
    beta: float
    games_limit: int
    seed: int
    opening_plies: int | None

    def __post_init__(self) -> None:
        check_names(self.agents)
        if not 2 <= self.games_limit <= MOST_GAMES or self.games_limit % 2:
            raise ValueError(
                f"the limit of games is an even number from 2 to {MOST_GAMES:,}, not "
                f"{self.games_limit}"
            )
        check_seed(self.seed, self.opening_plies)
        _ = self.test  # refuses hypotheses and rates that make no sense

    @property
    def test(self) -> SPRT:
        """What is tested."""
        return SPRT(self.elo0, self.elo1, self.alpha, self.beta)


def compare_agents(
    game: Game,
    first: str,
    second: str,
    test: SPRT | None = None,
    games_limit: int = DEFAULT_GAMES,
    seed: int = 1,
    opening_plies: int | None = None,
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    task: Task = UNWATCHED,
    warn: Callable[[str], None] | None = None,
    players: Mapping[str, Any] | None = None,
    from_file: bool = False,
) -> Comparison:
    """Play until the test says whether ``first`` is stronger than ``second``.

    The same arguments give the same verdict, whatever was interrupted and on however many cores,
    unless an agent's moves depend on time.

    Args:
        game: the rules.
        first, second: names of the agents (see `make_agent`), or of ``players``.
        test: hypotheses and error rates; default: 30 points stronger against equally strong, 5 %.
        games_limit: games after which the test ends without a verdict, an even number.
        seed: of openings and agents.
        opening_plies: random plies at the start of each game; ``None`` draws 0 to 3.
        workers: chunks of games that are played at once; default: one for each core.
        folder: where the games are kept, and from where they go on; default: nowhere.
        task: is told how the test stands, after each chunk that counts.
        warn: called with a line about what was wrong with the folder and has been mended.
        players: of one's own, by the names that are given as ``first`` or ``second``.
        from_file: the names come out of a file: those that would run code are refused.

    Raises:
        ValueError: a name means nothing, an agent cannot play this game or fails, the folder
            holds something else or is in use, or a number is out of range.
        FileNotFoundError: an agent's file is missing.
        StorageError: the folder cannot be written.
    """
    test = test or SPRT()
    question = _Question(
        (first, second),
        **asdict(test),
        games_limit=games_limit,
        seed=seed,
        opening_plies=opening_plies,
    )
    named = {name: (players or {}).get(name, name) for name in (first, second)}
    entrants = enter(game, named, from_file)
    settings = {**describe(KIND, game, entrants.networks), **asdict(question)}
    schedule = Schedule([(first, second)], games_limit)
    counter = _Counter(first, second, test, games_limit)
    with Archive(game, settings, schedule, folder, warn) as archive:

        def finished(chunk: Chunk, games: Games) -> bool:
            archive.add(chunk, games)
            before = counter.standing.games
            counter.count(archive.played)
            standing = counter.standing
            task.advance(standing.games - before, comparison_line(standing))
            return standing.is_finished

        counter.count(archive.played)
        task.begin("games", games_limit)
        task.advance(counter.standing.games)
        if not counter.standing.is_finished:
            missing = [chunk for chunk in schedule if chunk not in archive.played]
            play_chunks(game, entrants.factories, missing, finished, seed, opening_plies, workers)
        standing = counter.standing
        results = {**settings, **standing.to_dict()}
        archive.write_results(results, comparison_table(standing))
    return standing


@dataclass(frozen=True)
class StoredComparison:
    """What a folder says of a comparison.

    Attributes:
        game: the rules.
        standing: how the test stands.
        seed, opening_plies: as in `compare_agents`.
        fault: what is wrong with the file of games, in a line.
    """

    game: Game
    standing: Comparison
    seed: int
    opening_plies: int | None
    fault: str | None


def read_comparison(folder: str | os.PathLike[str]) -> StoredComparison:
    """Read a comparison's folder, also while it is played; nothing in it is changed or run.

    Raises:
        FileNotFoundError: there is no comparison.
        ValueError: the folder is of something else, or damaged; the message says how.
    """
    store = ArenaFolder(Path(folder))
    settings = store.read_settings()
    if settings is None:
        raise FileNotFoundError(f"there is no comparison in {os.fspath(folder)}")
    empty = read_question(settings, store.path)
    first, second, limit = empty.standing.first, empty.standing.second, empty.standing.games_limit
    played, fault = store.read_games(Schedule([(first, second)], limit))
    counter = _Counter(first, second, empty.standing.test, limit)
    counter.count(played)
    return replace(empty, standing=counter.standing, fault=fault)


def read_question(settings: dict[str, Any], path: Path) -> StoredComparison:
    """What the settings of a folder say, which may come from a stranger, without any games.

    Raises:
        ValueError: they are of no comparison; the message names the folder.
    """
    game = read_described(settings, KIND, path)
    question: _Question = convert(settings, f"{path} holds no comparison", _Question)
    counter = _Counter(*question.agents, question.test, question.games_limit)
    return StoredComparison(game, counter.standing, question.seed, question.opening_plies, None)


class _Counter:
    """Counts pairs in the order of their openings, up to the one that decides."""

    def __init__(self, first: str, second: str, test: SPRT, games_limit: int) -> None:
        self._names = first, second
        self._test = test
        self._limit = games_limit
        self._schedule = Schedule([(first, second)], games_limit)
        self._counts = np.zeros(5, np.int64)
        self._next = 0  # opening of the next chunk
        self._llr = 0.0

    @property
    def standing(self) -> Comparison:
        """How the test stands."""
        return Comparison(
            *self._names,
            self._test,
            self._counts.copy(),
            self._llr,
            self._test.verdict(self._llr),
            self._limit,
        )

    def count(self, played: dict[Chunk, tuple[FinishedGame, ...]]) -> bool:
        """Count what is new; whether there was anything."""
        before = self._next
        while self._test.verdict(self._llr) is Verdict.OPEN:
            chunk = self._schedule.find(*self._names, 2 * self._next)
            if chunk is None or chunk not in played:
                break
            self._next = chunk.end
            for one, other in _pairs(played[chunk]):
                self._counts[round(2 * (one.points + other.points))] += 1
                self._llr = float(self._test.llr(self._counts))
                if self._test.verdict(self._llr) is not Verdict.OPEN:
                    break
        return self._next > before


def _pairs(games: Sequence[FinishedGame]) -> Iterator[tuple[FinishedGame, FinishedGame]]:
    """The games of each opening."""
    return zip(games[::2], games[1::2], strict=True)
