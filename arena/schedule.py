"""Plays matches of many pairings on all cores; none depends on when it is played.

A match is a few openings of one pairing, each played from both seats. Its seed is
derived from the tournament's seed, the two agents' names, and the number of its first opening.
So its games are the same whatever was played before, and on any number of cores, unless an agent's
moves depend on more than its seed, such as on time.

Each core plays matches in its own thread, with its own agents, which use no other core:
compiled rules, searches and networks run without Python's lock. So nothing has to travel between
processes, and the user's own games and agents need not be importable by another process.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ludarium.base.files import sha256_of_file
from ludarium.base.messages import named, quoted, shortened
from ludarium.base.progress import SILENT, Progress, StoppedError
from ludarium.base.threads import available_cores, one_core, run_tasks
from ludarium.envs.engine.game import Game
from ludarium.models.inference import torch_threads
from ludarium.training.agents import Agent, AgentSpec, GameInPlay, Needs, Seed
from ludarium.training.evaluation import Games, play_match
from ludarium.training.evaluation.openings import Openings, check_positions, draw_openings

#: Openings in a match.
MATCH_OPENINGS = 10
#: Openings that are drawn together, all different if enough can be found.
BLOCK = 100

MOST_SEED = 2**64 - 1

#: Called with a match and its games, by one thread at a time; true ends all play.
Finished = Callable[["ScheduledMatch", Games], bool | None]


@dataclass(frozen=True)
class ScheduledMatch:
    """The games of a pairing from openings ``begin`` to ``end``.

    Game 2k of a pairing has opening k, with its first agent as player_0; in game 2k + 1 the agents
    have changed seats.

    Attributes:
        first, second: names of the agents.
        begin, end: the openings are ``range(begin, end)``; all pairings share openings.
    """

    first: str
    second: str
    begin: int
    end: int

    @property
    def games(self) -> int:
        """How many games it has."""
        return 2 * (self.end - self.begin)

    @property
    def numbers(self) -> range:
        """Numbers of its games among those of the pairing."""
        return range(2 * self.begin, 2 * self.end)


class Schedule:
    """All matches of some pairings, in the order of play: the pairings take turns.

    So whenever play stops, all pairings have about equally many games.

    Args:
        pairings: the names of the two agents of each.
        games: games of each pairing, an even number.

    Attributes:
        agents: the names of all agents.
        games: the number of all games.
    """

    def __init__(self, pairings: Iterable[tuple[str, str]], games: int) -> None:
        self._pairings = dict.fromkeys(pairings)
        self.agents = tuple(dict.fromkeys(chain.from_iterable(self._pairings)))
        self._openings = games // 2
        self.games = games * len(self._pairings)

    def __iter__(self) -> Iterator[ScheduledMatch]:
        for begin in range(0, self._openings, MATCH_OPENINGS):
            for pairing in self._pairings:
                yield self._match(*pairing, begin)

    def find(self, row: np.ndarray) -> ScheduledMatch:
        """The match that contains a game, given as structured [1] of `ROW`.

        Raises:
            ValueError: there is no such game.
        """
        first, second = self.agents[row["first"][0]], self.agents[row["second"][0]]
        number = int(row["number"][0])
        if (first, second) not in self._pairings or not 0 <= number < 2 * self._openings:
            raise ValueError(f"{first} and {second} have no game {number}")
        return self._match(first, second, number // (2 * MATCH_OPENINGS) * MATCH_OPENINGS)

    def _match(self, first: str, second: str, begin: int) -> ScheduledMatch:
        return ScheduledMatch(first, second, begin, min(begin + MATCH_OPENINGS, self._openings))


@dataclass(frozen=True)
class Entrant:
    """An agent of a contest.

    Attributes:
        spec: its spec.
        network: SHA-256 of its network's file, if it has one.
    """

    spec: AgentSpec
    network: str | None

    @classmethod
    def of(cls, spec: AgentSpec, game: Game) -> Entrant:
        """The agent of a spec, which is made once to check that it can play.

        Raises:
            ValueError: it cannot play this game.
            FileNotFoundError: its file is missing.
            ImportError: it needs a package that is not installed.
        """
        spec.make(game)
        file = spec.network_file(game)
        return cls(spec, None if file is None else sha256_of_file(file))

    def make(self, game: Game) -> Agent:
        """Make the agent.

        Raises:
            ValueError: its network's file is no longer the same: a run in training replaces it.
        """
        agent, file = self.spec.make(game), self.spec.network_file(game)
        if file is not None and sha256_of_file(file) != self.network:
            raise ValueError(
                f"agent {named(str(self.spec))} has changed since the games began: copy "
                f"{named(file)}, and let the copy play"
            )
        return agent


def play_matches(
    agents: Mapping[str, Entrant],
    matches: Sequence[ScheduledMatch],
    finished: Finished,
    openings: SeededOpenings,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress = SILENT,
) -> None:
    """Play matches, one per worker at a time, and begin them in order.

    Args:
        agents: the agents by name.
        matches: the matches to play.
        finished: function called with each match when it is played.
        openings: the openings of all games.
        seed: seed of the agents.
        workers: matches played at the same time; default: one for each core.
        progress: counts the finished games; if it is stopped, all play ends.

    Raises:
        ValueError: an agent cannot play the game, failed, or chose an illegal action, or its file
            has changed; the message names the match. Matches that other workers are playing at that
            time are given up. Or ``workers`` is below 1.
        MemoryError: there is too little memory.
        BaseException: whatever ``finished`` raised.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers are 1 or more, not {quoted(workers)}")
    workers = min(workers or available_cores(), max(1, len(matches)))
    part = progress.part()
    team = _Workers(agents, openings, seed, workers, part)
    handing_over = threading.Lock()

    def play(worker: int, number: int) -> None:
        try:
            played = team.play(worker, matches[number])
        except StoppedError:
            return
        with handing_over:
            if not part.stopped and finished(matches[number], played):
                part.stop()

    run_tasks(play, len(matches), workers, part)


@dataclass
class _Workers:
    """The agents of each worker; see `play_matches`."""

    entrants: Mapping[str, Entrant]
    openings: SeededOpenings
    seed: int
    count: int
    progress: Progress

    def __post_init__(self) -> None:
        self._agents: list[dict[str, Agent]] = [{} for _ in range(self.count)]
        self._locks = {name: threading.Lock() for name in self.entrants}

    def play(self, worker: int, match: ScheduledMatch) -> Games:
        """Play a match.

        Raises:
            ValueError: an agent failed.
            StoppedError: all play is to end.
        """
        try:
            with on_one_core():
                games = play_match(
                    self.openings.game,
                    self._agent(worker, match.first),
                    self._agent(worker, match.second),
                    match.games,
                    seed=_match_seed(self.seed, match),
                    openings=self.openings.between(match.begin, match.end),
                    progress=self.progress,
                )
        except (StoppedError, MemoryError):
            raise
        except Exception as error:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            raise ValueError(
                f"{match.first} against {match.second} stopped in games {match.numbers[0]} to "
                f"{match.numbers[-1]}: {kind}{shortened(str(error), 400)}"
            ) from error
        return replace(games, players=(match.first, match.second))

    def _agent(self, worker: int, name: str) -> Agent:
        own = self._agents[worker]
        if name not in own:
            agent = self.entrants[name].make(self.openings.game)
            alone = Needs.ONE_THREAD in self.entrants[name].spec.needs
            own[name] = _Shared(agent, self._locks[name]) if alone else agent
        return own[name]


class _Shared(Agent):
    """An agent that takes turns with the other workers' agents of the same name."""

    def __init__(self, agent: Agent, lock: threading.Lock) -> None:
        self._agent = agent
        self._lock = lock
        super().__init__(agent.game, agent.name)

    def restart(self, seed: Seed = None) -> None:
        with self._lock:
            self._agent.restart(seed)

    def actions(self, states: np.ndarray) -> np.ndarray:
        with self._lock:
            return self._agent.actions(states)

    def begin(self, games: Sequence[GameInPlay]) -> None:
        with self._lock:
            self._agent.begin(games)

    def play(self, games: Sequence[GameInPlay], states: np.ndarray) -> np.ndarray:
        with self._lock:
            return self._agent.play(games, states)

    def finish(self, games: Sequence[GameInPlay]) -> None:
        with self._lock:
            self._agent.finish(games)


class SeededOpenings:
    """An endless sequence of openings for all pairings; the same seed gives the same ones.

    Args:
        game: the rules.
        plies: random plies of each; ``None`` draws 0 to 3, or none if there are positions.
        seed: the seed.
        positions: texts of the positions that they begin at in turn; default: the game's start.

    Raises:
        ValueError: the game has no such positions.
    """

    def __init__(
        self, game: Game, plies: int | None, seed: int, positions: Sequence[str] = ()
    ) -> None:
        check_positions(game, positions)
        self._positions = positions
        self.game = game
        self._plies = plies
        self._seed = seed
        self._blocks: dict[int, Openings] = {}
        self._lock = threading.Lock()

    def between(self, begin: int, end: int) -> Openings:
        """The openings of a match, or of a part of it; none crosses the border of a block."""
        number, inside = divmod(begin, BLOCK)
        with self._lock:
            if number not in self._blocks:
                texts = self._positions
                turned = number * BLOCK % max(1, len(texts))
                self._blocks[number] = draw_openings(
                    *(self.game, BLOCK, self._plies),
                    np.random.SeedSequence([self._seed, number]),
                    [*texts[turned:], *texts[:turned]],
                )
        return self._blocks[number][inside : inside + end - begin]


def _match_seed(seed: int, match: ScheduledMatch) -> int:
    text = f"{seed}\n{match.first}\n{match.second}\n{match.begin}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


@contextmanager
def on_one_core() -> Iterator[None]:
    """A context in which agents use one core, for their searches and for any networks."""
    with one_core(), torch_threads(1):
        yield
