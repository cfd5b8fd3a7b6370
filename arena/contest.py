"""Contests: a plan of games, with a rule that ends them, played on all cores.

    contest = play_contest(
        make_game("corso"), Tournament(("random", "uct:20", "uct:200"), games=100), folder="tour"
    )
    print(contest.text())
    contest = play_contest(make_game("corso"), Comparison(("uct:400", "uct:200"), elo1=50))
    print(contest.outcome.verdict, f"{contest.outcome.elo:+.0f}")

A `Tournament` ends when all its games are played: everyone against everyone, or some against the
others. A `Comparison` of two agents ends as soon as a sequential test (`ludarium.arena.sprt`) can
tell whether the first is stronger, at the latest after ``games_limit`` games; games beyond the pair
that decided the test are kept, but do not count.

An agent that fails, by an exception or an illegal action, stops the contest, and the message names
the match and the error: a game lost by a fault of a program says nothing about strength. The
matches that were complete are in the folder, if there is one; once the agent is repaired, the
contest resumes from there.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields
from itertools import combinations, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ludarium.base.files import convert
from ludarium.base.messages import named, quoted, shortened
from ludarium.base.numbers import checked_whole
from ludarium.base.progress import SILENT, Progress
from ludarium.envs.engine.game import Game
from ludarium.training.evaluation import Games
from ludarium.training.evaluation.match import check_games
from ludarium.training.evaluation.openings import check_opening_plies

from .entrants import check_names, resolve_agents
from .folder import DESCRIBED, SETTINGS, ArenaFolder, check_keys, describe, read_described, row_of
from .results import Crosstable
from .schedule import MOST_SEED, Schedule, ScheduledMatch, SeededOpenings, play_matches
from .sprt import SPRT, SPRTResult
from .standings import Standings

MOST_GAMES = 10_000_000  # games of a contest
MOST_CHARACTERS = 500_000  # of all positions, so that settings can be read again

#: A test is evaluated again when the number of matches has grown by this factor. The verdict is the
#: same for any factor, because pairs of games count in their order.
_LOOK_AGAIN = 1.01
_LARGEST = 1_000_000  # Elo points that an anchor must not reach
_MOST_APART = 3000  # most Elo points between anchors


@dataclass(frozen=True)
class Plan(ABC):
    """The games of a contest, and the rule that ends it. A folder's settings have its fields.

    Attributes:
        kind: its name in folders.
        stops_early: whether the contest may end before all games are played.
        agents: the agents' names (see `make_agent`), 2 to 200 different ones.
        seed: seed of openings and agents.
        opening_plies: random plies at the start of each game; ``None`` draws 0 to 3, or none if
            there are positions.
        positions: texts of the positions that openings begin at in turn; default: the game's start.
    """

    kind: ClassVar[str]
    stops_early: ClassVar[bool] = False
    agents: tuple[str, ...]
    seed: int = field(default=1, kw_only=True)
    opening_plies: int | None = field(default=None, kw_only=True)
    positions: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    @abstractmethod
    def schedule(self) -> Schedule:
        """All games that may be played."""

    def openings(self, game: Game) -> SeededOpenings:
        """The openings of all games.

        Raises:
            ValueError: the game has no such positions.
        """
        return SeededOpenings(game, self.opening_plies, self.seed, self.positions)

    @abstractmethod
    def outcome(
        self, results: Crosstable, anchors: Mapping[str, float]
    ) -> Standings | SPRTResult | None:
        """The outcome of games; ``None`` if there are too few for one.

        Args:
            results: results of the games.
            anchors: Elo points of agents whose ratings are known.
        """

    def _check(self) -> None:
        check_names(self.agents)
        self._set("seed", checked_whole("seed", self.seed, 0, MOST_SEED))
        self._set("opening_plies", check_opening_plies(self.opening_plies))
        games = self.schedule.games
        if games > MOST_GAMES:
            raise ValueError(f"{games:,} games are more than {MOST_GAMES:,}")
        length = sum(map(len, self.positions))
        if length > MOST_CHARACTERS:
            raise ValueError(f"positions have {length:,} characters; at most {MOST_CHARACTERS:,}")

    def _set(self, name: str, number: int | None) -> None:
        """Numbers of numpy become Python's, which files of JSON can hold."""
        object.__setattr__(self, name, number)


@dataclass(frozen=True)
class Tournament(Plan):
    """Everyone against everyone, or some against the others.

    Attributes:
        games: games of each pairing, an even number: the two games of a pair share an opening.
        gauntlet: agents that meet the others, but not each other; if empty, everyone meets
            everyone.

    Raises:
        ValueError: there are fewer than two agents or more than 200, or one is named twice; the
            gauntlet has all agents, or one that is not among them; or a number is out of range.
    """

    kind: ClassVar = "tournament"
    games: int = 100
    gauntlet: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        stray = [name for name in self.gauntlet if name not in self.agents]
        if stray:
            raise ValueError(
                f"{quoted(stray[0])} is to run the gauntlet, but is not among the agents: "
                f"{shortened(', '.join(self.agents))}"
            )
        self._set("games", check_games(self.games))
        self._check()
        if len(set(self.gauntlet)) == len(self.agents):
            raise ValueError("a gauntlet needs opponents: all agents run it")

    @property
    def schedule(self) -> Schedule:
        """All games."""
        if not self.gauntlet:
            return Schedule(combinations(self.agents, 2), self.games)
        others = [name for name in self.agents if name not in self.gauntlet]
        return Schedule(product(dict.fromkeys(self.gauntlet), others), self.games)

    def outcome(self, results: Crosstable, anchors: Mapping[str, float]) -> Standings | None:
        """Ratings, once games connect all agents; None until then."""
        met = {name for pairing in results.pairings for name in pairing}
        if len(met) < len(self.agents):
            return None
        try:
            return Standings(results, anchors)
        except ValueError:
            return None  # they are not connected yet


@dataclass(frozen=True)
class Comparison(Plan):
    """Tests whether the first agent is stronger than the second, with as few games as possible.

    Attributes:
        agents: two names.
        elo0, elo1, alpha, beta, normalised: hypotheses and error rates, see `SPRT`.
        games_limit: games after which the test ends without a verdict, an even number.

    Raises:
        ValueError: there are not two different agents, or a number is out of range.
    """

    kind: ClassVar = "comparison"
    stops_early: ClassVar = True
    agents: tuple[str, str]
    elo0: float = SPRT.elo0
    elo1: float = SPRT.elo1
    alpha: float = SPRT.alpha
    beta: float = SPRT.beta
    games_limit: int = 20_000
    normalised: bool = SPRT.normalised

    def __post_init__(self) -> None:
        self._set("games_limit", check_games(self.games_limit, "games_limit"))
        self._check()
        if len(self.agents) > 2:
            raise ValueError(f"a comparison is of two agents, not of {len(self.agents)}")
        _ = self.test  # refuses hypotheses and rates that make no sense

    @property
    def test(self) -> SPRT:
        """The test."""
        return SPRT(self.elo0, self.elo1, self.alpha, self.beta, self.normalised)

    @property
    def schedule(self) -> Schedule:
        """All games up to the limit."""
        return Schedule([self.agents], self.games_limit)

    def outcome(self, results: Crosstable, anchors: Mapping[str, float]) -> SPRTResult:
        """The result of the test."""
        return SPRTResult.of(self.test, *results.pairs(*self.agents))


@dataclass(frozen=True)
class Contest:
    """The state of a contest, finished or not.

    Attributes:
        game: the rules.
        plan: its plan.
        results: the results so far.
        outcome: their outcome; ``None`` if they are too few for one.
    """

    game: Game
    plan: Plan
    results: Crosstable
    outcome: Standings | SPRTResult | None

    @property
    def is_over(self) -> bool:
        """Whether no more games are needed."""
        ended = isinstance(self.outcome, SPRTResult) and self.outcome.has_ended
        return ended or len(self.results) == self.plan.schedule.games

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "game": self.game.name,
            "options": dict(self.game.options),
            **asdict(self.plan),
            "finished": self.is_over,
            **(self.outcome.to_dict() if self.outcome else {"agents": []}),
        }

    @property
    def line(self) -> str:
        """The state of a comparison's test, in a line; empty for a tournament."""
        return self.outcome.line if isinstance(self.outcome, SPRTResult) else ""

    @property
    def caveats(self) -> list[str]:
        """Why the outcome says less than its number of games promises: one reason, or none."""
        caveat = None if self.outcome is None else self.outcome.caveat
        return [] if caveat is None else [caveat]

    def text(self, terminal: bool | None = None) -> str:
        """The outcome for people: standings as tables, a test in sentences.

        Args:
            terminal: see `text_table`.
        """
        if self.outcome is None:
            return "no standings yet: games do not connect all agents"
        if isinstance(self.outcome, Standings):
            return self.outcome.text(terminal)
        first, second = self.plan.agents
        return self.outcome.text(first, second, self.is_over)


def play_contest(
    game: Game,
    plan: Plan,
    players: Mapping[str, Any] | None = None,
    anchors: Mapping[str, float] | None = None,
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress = SILENT,
    from_file: bool = False,
) -> Contest:
    """Play a contest, or the rest of one in a folder.

    The same arguments give the same games, whatever was interrupted and on however many cores, if
    the moves of each agent follow from its seed.

    Args:
        game: the rules.
        plan: its plan.
        players: the caller's own players by the names of the plan; each is whatever `as_agent`
            takes except an `Agent` itself.
        anchors: Elo points of agents whose ratings are known; default: the mean of all is 0.
        workers: matches that are played at once; default: one for each core.
        folder: where games and results are kept, and from where it resumes; default: nowhere.
        progress: counts the finished games; if it is stopped, so is the contest, and the result is
            its state.
        from_file: the names come from a file: some are refused, see `read_agent`.

    Raises:
        ValueError: a name means nothing, an agent cannot play this game or fails, it has no such
            positions, the folder holds something else or is in use, or a number is out of range.
        FileNotFoundError: an agent's file is missing.
        ImportError: an agent needs a package that is not installed.
        StorageError: the folder cannot be written.
    """
    anchors = dict(anchors or {})
    _check_anchors(plan, anchors)
    openings = plan.openings(game)
    entrants = resolve_agents(game, plan.agents, players, from_file)
    settings = {**describe(plan.kind, game, entrants), **asdict(plan)}
    schedule = plan.schedule
    store = None if folder is None else ArenaFolder(Path(folder))
    with nullcontext() if store is None else store.opened(settings):
        played: dict[ScheduledMatch, np.ndarray] = {}
        if store is not None:
            played = store.read_games(schedule, openings, repair=True)
        looked = len(played)

        def standing() -> Contest:
            results = Crosstable.of(schedule.agents, played.values())
            return Contest(game, plan, results, plan.outcome(results, anchors))

        def finished(match: ScheduledMatch, games: Games) -> bool:
            nonlocal looked
            records = [
                {"number": number, **record}
                for number, record in zip(match.numbers, games.records(), strict=True)
            ]
            if store is not None:
                store.append(records)
            played[match] = np.concatenate([row_of(each, schedule.agents) for each in records])
            if not plan.stops_early or len(played) < _LOOK_AGAIN * looked:
                return False
            looked = len(played)
            now = standing()
            progress.advance(0, now.line)
            return now.is_over

        contest = standing()
        progress.begin("games", schedule.games, len(contest.results))
        if not contest.is_over:
            missing = [match for match in schedule if match not in played]
            play_matches(
                *(entrants, missing, finished, openings),
                *(plan.seed, workers, progress),
            )
            contest = standing()
        if store is not None:
            results = {**settings, **contest.to_dict()}
            store.write_results(results, contest.text(terminal=False))
    return contest


def read_contest(
    folder: str | os.PathLike[str],
    kind: type[Plan],
    anchors: Mapping[str, float] | None = None,
) -> Contest:
    """Read the folder of a contest, even while it is played; nothing in it is changed or run.

    Args:
        folder: the contest's folder.
        kind: `Tournament` or `Comparison`.
        anchors: see `play_contest`.

    Raises:
        FileNotFoundError: there is no such contest.
        ValueError: the folder holds something else, or is damaged, the message says how; or an
            anchor is not among the agents, or out of range.
    """
    store = ArenaFolder(Path(folder))
    settings = store.read_settings()
    if settings is None:
        raise FileNotFoundError(f"there is no {kind.kind} in {named(folder)}")
    game, plan = read_plan(settings, store.path, kind)
    _check_anchors(plan, anchors or {})
    played = store.read_games(plan.schedule, plan.openings(game))
    results = Crosstable.of(plan.schedule.agents, played.values())
    return Contest(game, plan, results, plan.outcome(results, anchors or {}))


def _check_anchors(plan: Plan, anchors: Mapping[str, float]) -> None:
    unknown = [name for name in anchors if name not in plan.agents]
    if unknown:
        raise ValueError(f"{shortened(unknown[0])} is the anchor, but not among the agents")
    for name, elo in anchors.items():
        if not abs(elo) < _LARGEST:
            raise ValueError(
                f"the anchor {shortened(name)} has {elo:g} Elo points; accepted: less than "
                f"{_LARGEST:,} either way"
            )
    apart = max(anchors.values(), default=0.0) - min(anchors.values(), default=0.0)
    if not apart <= _MOST_APART:
        raise ValueError(
            f"anchors lie {apart:,.0f} Elo points apart; accepted: at most {_MOST_APART:,}, where "
            "the weaker one wins one game in thirty million"
        )


def read_plan(settings: dict[str, Any], path: Path, kind: type[Plan]) -> tuple[Game, Plan]:
    """The game and plan in a folder's settings, which may come from a stranger.

    Raises:
        ValueError: the settings are not those of a contest of this kind; the message names the
            file.
    """
    game, file = read_described(settings, kind.kind, path), path / SETTINGS
    check_keys(settings, (*DESCRIBED, *(each.name for each in fields(kind))), file)
    plan: Plan = convert(settings, f"{named(file)} holds no {kind.kind}", kind)
    networks = convert(settings["networks"], f"{named(file)}: networks", dict[str, str])
    stray = [name for name in networks if name not in plan.agents]
    if stray:
        raise ValueError(f"{named(file)} has a network of {quoted(stray[0])}, which is no agent")
    return game, plan
