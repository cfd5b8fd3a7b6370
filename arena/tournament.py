"""Tournaments: everyone against everyone, or some against the others.

    standings = play_tournament(make_game("corso"), ["random", "uct:20", "uct:200"], games=100)
    print(standings_table(standings))

An agent that fails, by an exception or an illegal action, stops the tournament, and the message
names it: a game lost by a fault of a program says nothing about strength. What was played before is
in the folder; once the agent is repaired, the tournament goes on from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

from ludarium.envs.engine.files import convert
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.messages import quoted, shortened
from ludarium.envs.engine.progress import UNWATCHED, Task

from .chunks import Schedule, check_seed, play_chunks
from .entrants import check_names, enter
from .folder import Archive, ArenaFolder, describe, read_described
from .standings import Standings
from .tables import standings_table

KIND = "tournament"
MOST_GAMES = 10_000_000  # of a tournament


@dataclass(frozen=True)
class Plan:
    """What is played in a tournament.

    Attributes:
        agents: their names.
        games: of each pairing, an even number.
        gauntlet: agents that meet the others, but not each other; with none, everyone meets
            everyone.
        seed: of openings and agents.
        opening_plies: random plies at the start of each game; ``None`` draws 0 to 3.

    Raises:
        ValueError: fewer than two agents, one named twice, one in the gauntlet that is not among
            the agents, or a number that is out of range.
    """

    agents: tuple[str, ...]
    games: int
    gauntlet: tuple[str, ...] = ()
    seed: int = 1
    opening_plies: int | None = None

    def __post_init__(self) -> None:
        check_names(self.agents)
        stray = [name for name in self.gauntlet if name not in self.agents]
        if stray:
            raise ValueError(
                f"{quoted(stray[0])} is to run the gauntlet, but is not among the agents: "
                f"{shortened(', '.join(self.agents))}"
            )
        if len(set(self.gauntlet)) == len(self.agents):
            raise ValueError("a gauntlet needs opponents: all agents run it")
        if self.games < 2 or self.games % 2:
            raise ValueError(
                f"games of a pairing are a positive even number (two per opening), not {self.games}"
            )
        if self.games * len(self.pairings) > MOST_GAMES:
            raise ValueError(
                f"{self.games:,} games of {len(self.pairings):,} pairings are more than "
                f"{MOST_GAMES:,}"
            )
        check_seed(self.seed, self.opening_plies)

    @property
    def pairings(self) -> list[tuple[str, str]]:
        """Who meets whom."""
        if not self.gauntlet:
            return list(combinations(self.agents, 2))
        others = [name for name in self.agents if name not in self.gauntlet]
        return list(product(dict.fromkeys(self.gauntlet), others))

    @property
    def schedule(self) -> Schedule:
        """All games."""
        return Schedule(self.pairings, self.games)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "agents": list(self.agents),
            "gauntlet": list(self.gauntlet),
            "games": self.games,
            "seed": self.seed,
            "opening_plies": self.opening_plies,
        }


def play_tournament(
    game: Game,
    agents: Sequence[str] | Mapping[str, Any],
    games: int = 100,
    gauntlet: Sequence[str] = (),
    seed: int = 1,
    opening_plies: int | None = None,
    workers: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    anchor: Mapping[str, float] | None = None,
    task: Task = UNWATCHED,
    warn: Callable[[str], None] | None = None,
    from_file: bool = False,
) -> Standings:
    """Play a tournament, or what is missing of it in a folder.

    The same arguments give the same games, whatever was interrupted and on however many cores,
    unless an agent's moves depend on time.

    Args:
        game: the rules.
        agents: their names (see `make_agent`); or players by the names that tables and files give
            them, each whatever `as_agent` takes but an `Agent` itself.
        games: of each pairing, an even number: the two games of a pair share an opening.
        gauntlet: agents that meet the others, but not each other; default: everyone meets
            everyone.
        seed: of openings and agents.
        opening_plies: random plies at the start of each game; ``None`` draws 0 to 3.
        workers: chunks of games that are played at once; default: one for each core.
        folder: where games and standings are kept, and from where they go on; default: nowhere.
        anchor: Elo points of agents that are taken as known; default: the mean of all is 0.
        task: advanced by each game that is over.
        warn: called with a line about what was wrong with the folder and has been mended.
        from_file: the names come out of a file: those that would run code are refused.

    Raises:
        ValueError: a name means nothing, an agent cannot play this game or fails, the folder
            holds another tournament or is in use, or a number is out of range.
        FileNotFoundError: an agent's file is missing.
        StorageError: the folder cannot be written.
    """
    plan = Plan(tuple(agents), games, tuple(gauntlet), seed, opening_plies)
    unknown = [name for name in anchor or {} if name not in plan.agents]
    if unknown:
        raise ValueError(f"{unknown[0]} is the anchor, but not among the agents")
    schedule = plan.schedule
    entrants = enter(game, agents, from_file)
    settings = {**describe(KIND, game, entrants.networks), **plan.to_dict()}
    with Archive(game, settings, schedule, folder, warn) as archive:
        missing = [chunk for chunk in schedule if chunk not in archive.played]
        task.begin("games", schedule.games)
        task.advance(schedule.games - sum(chunk.games for chunk in missing))
        play_chunks(
            game,
            entrants.factories,
            missing,
            archive.add,
            seed,
            opening_plies,
            workers,
            task,
        )
        standings = Standings(archive.games, anchor)
        results = {**settings, "finished": True, **standings.to_dict()}
        archive.write_results(results, standings_table(standings, terminal=False))
    return standings


@dataclass(frozen=True)
class StoredTournament:
    """What a folder says of a tournament.

    Attributes:
        game: the rules.
        plan: what is played.
        standings: so far; ``None`` where there are no games yet, or they do not connect all
            agents.
        games: how many are finished.
        total: how many there will be.
        fault: what is wrong with the file of games, in a line.
    """

    game: Game
    plan: Plan
    standings: Standings | None
    games: int
    total: int
    fault: str | None

    @property
    def is_finished(self) -> bool:
        """Whether all games have been played."""
        return self.games == self.total

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "game": self.game.name,
            "options": dict(self.game.options),
            **self.plan.to_dict(),
            "finished": self.is_finished,
            **(self.standings.to_dict() if self.standings else {"agents": []}),
        }


def read_plan(settings: dict[str, Any], path: Path) -> tuple[Game, Plan]:
    """What the settings of a folder say, which may come from a stranger.

    Raises:
        ValueError: they are of no tournament; the message names the folder.
    """
    game = read_described(settings, KIND, path)
    return game, convert(settings, f"{path} holds no tournament", Plan)


def read_tournament(
    folder: str | os.PathLike[str], anchor: Mapping[str, float] | None = None
) -> StoredTournament:
    """Read a tournament's folder, also while it is played; nothing in it is changed or run.

    Raises:
        FileNotFoundError: there is no tournament.
        ValueError: the folder is of something else, or damaged; the message says how.
    """
    store = ArenaFolder(Path(folder))
    settings = store.read_settings()
    if settings is None:
        raise FileNotFoundError(f"there is no tournament in {os.fspath(folder)}")
    game, plan = read_plan(settings, store.path)
    schedule = plan.schedule
    played, fault = store.read_games(schedule)
    games = [each for chunk in played.values() for each in chunk]
    connected = {name for each in games for name in (each.first, each.second)}
    try:
        standings = Standings(games, anchor) if len(connected) == len(plan.agents) else None
    except ValueError:
        standings = None  # some pairings have no games yet
    return StoredTournament(game, plan, standings, len(games), schedule.games, fault)
