"""Matches between two agents: all games in parallel, every opening from both seats."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.record import make_record
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED

from ..agents import Agent, GameInPlay, Player, as_agent
from .kernels import match as templates
from .openings import Openings, draw_openings
from .statistics import elo_difference, wilson_interval

#: Called with the number of finished games and of all games.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Tally:
    """Wins, draws and losses of one agent."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A win is one point, a draw half a point."""
        return self.wins + self.draws / 2

    @property
    def score(self) -> float:
        """Points per game, from 0 to 1; there must be games."""
        return self.points / self.games

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the score (Wilson); a draw counts as half a win."""
        return wilson_interval(self.points, self.games)


@dataclass(frozen=True)
class PlayedGame:
    """One game of a match.

    Attributes:
        seed: of the start.
        opening_plies: how many actions were random, before the agents took over.
        actions: all of them, those of the opening included.
        seconds: what each action took; 0 for those of the opening. Games of a match are played
            side by side, and share the time of each decision equally.
        first_seat: which player the first agent of the match was.
        outcome: a constant of `ludarium.envs.engine.rule`.
    """

    seed: int
    opening_plies: int
    actions: tuple[int, ...]
    seconds: tuple[float, ...]
    first_seat: int
    outcome: int

    def to_record(self, game: Game, first: str, second: str) -> dict[str, Any]:
        """The game as a record, which `ludarium.envs.from_record` replays.

        Args:
            game: the rules.
            first, second: names of the agents.

        Returns:
            A game record (see ``ludarium.envs.engine.record``) with ``players``, the agents'
            names as ``player_0`` and ``player_1``, ``opening_plies``, and ``seconds``.
        """
        position = game.start(self.seed)
        moves = []
        for action in self.actions:
            moves.append(position.action_to_text(action))
            position.play(action)
        return {
            **make_record(game, self.seed, moves, position),
            "players": [first, second] if self.first_seat == 0 else [second, first],
            "opening_plies": self.opening_plies,
            "seconds": [round(each, 6) for each in self.seconds],
        }


@dataclass(frozen=True)
class MatchResult:
    """The result of a match, in the view of the first agent.

    Attributes:
        game: name of the game.
        options: its options.
        first, second: names of the agents.
        seed: of openings and agents.
        as_player_0, as_player_1: results of the first agent in either seat.
        truncated: games that ended at the ply cap; they are among the draws.
        mean_plies: mean length of a game, the opening included.
        distinct_games: how many games differ in their opening position or in any action.
        seconds: wall time.
        played: the games. Games 2k and 2k + 1 have the same opening.
    """

    game: str
    options: dict[str, Any]
    first: str
    second: str
    seed: int | None
    as_player_0: Tally
    as_player_1: Tally
    truncated: int
    mean_plies: float
    distinct_games: int
    seconds: float
    played: tuple[PlayedGame, ...] = field(default=(), repr=False, compare=False)

    @property
    def total(self) -> Tally:
        """Results of the first agent in both seats."""
        return self.as_player_0 + self.as_player_1

    @property
    def score(self) -> float:
        """Points per game, from 0 to 1; a draw is half a point."""
        return self.total.score

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the score (Wilson); a draw counts as half a win.

        Draws make it wider than it need be. The games are taken as independent, though the
        two of a pair share their opening: where an opening favours one seat, the interval is
        wider than it need be; where it suits one agent from both seats, it is too narrow.
        """
        return self.total.interval

    @property
    def repeats_one_pair(self) -> bool:
        """Whether the match repeats one game per seat.

        This happens if both agents are deterministic and there are no random openings.
        """
        return self.distinct_games <= 2 < self.total.games

    @property
    def caveat(self) -> str | None:
        """Why the interval is not reliable, in words for people; ``None`` if it is."""
        games, distinct = self.total.games, self.distinct_games
        if self.repeats_one_pair:
            return (
                f"only {distinct} of {games} games differ: both agents always answer alike, and "
                "all games begin alike, so the score says nothing about others; draw openings "
                "(--opening-plies 4)"
            )
        if distinct < games:
            return (
                f"{games - distinct} of {games} games repeat another one action for action, so "
                "the interval is narrower than it should be"
            )
        return None

    @property
    def elo(self) -> float:
        """Elo difference that the score stands for; infinite where all games went one way."""
        return elo_difference(self.score)

    @property
    def elo_interval(self) -> tuple[float, float]:
        """Elo differences at the ends of the 95 % interval."""
        low, high = self.interval
        return elo_difference(low), elo_difference(high)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; an infinite Elo difference is ``None``."""

        def tally(results: Tally) -> dict[str, int]:
            return {"wins": results.wins, "draws": results.draws, "losses": results.losses}

        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "game": self.game,
            "options": dict(self.options),
            "first": self.first,
            "second": self.second,
            "seed": self.seed,
            "games": self.total.games,
            **tally(self.total),
            "as_player_0": tally(self.as_player_0),
            "as_player_1": tally(self.as_player_1),
            "truncated": self.truncated,
            "score": self.score,
            "score_interval_95": list(self.interval),
            "elo": finite(self.elo),
            "elo_interval_95": [finite(end) for end in self.elo_interval],
            "mean_plies": self.mean_plies,
            "distinct_games": self.distinct_games,
            "caveat": self.caveat,
            "seconds": self.seconds,
        }


def play_match(
    game: Game,
    first: Player,
    second: Player,
    games: int,
    seed: int | None = None,
    opening_plies: int | None = None,
    progress: Progress | None = None,
    openings: Openings | None = None,
) -> MatchResult:
    """Play a match; the same seed and agents give the same match.

    Games 2k and 2k + 1 start from the same opening; the first agent is ``player_0`` in the
    one and ``player_1`` in the other. Openings differ from each other where possible (see
    `draw_openings`). Both agents are restarted with seeds of their own, drawn from ``seed``.

    Args:
        game: the rules.
        first, second: agents, or what `as_agent` makes into one: a name, a function from a
            position to an action, a torch module.
        games: number of games, even.
        seed: of openings and agents; ``None`` plays a new match each time.
        opening_plies: random plies before the agents take over; ``None`` draws 0 to 3 for
            each opening.
        progress: called now and then.
        openings: half as many as games, in place of drawn ones.

    Raises:
        ValueError: ``games`` is not a positive even number or not two for each opening, an agent
            plays another game, or an agent chose an illegal action; the message says which.
    """
    if games < 2 or games % 2:
        raise ValueError(f"games is a positive even number (two per opening), not {games!r}")
    agents = as_agent(first, game), as_agent(second, game)
    started = time.perf_counter()
    seeds = np.random.SeedSequence(seed).spawn(3)
    for agent, child in zip(agents, seeds[1:], strict=True):
        agent.restart(child)
    if openings is None:
        openings = draw_openings(game, games // 2, opening_plies, seeds[0])
    elif len(openings) != games // 2:
        raise ValueError(f"{len(openings)} openings are for {2 * len(openings)} games, not {games}")
    table = _Table(game, agents, openings)
    while len(unfinished := table.unfinished()):
        if progress is not None:
            progress(games - len(unfinished), games)
        table.play(unfinished)
    if progress is not None:
        progress(games, games)
    outcomes, seats = table.states["outcome"], table.seats
    return MatchResult(
        game=game.name,
        options=dict(game.options),
        first=agents[0].name,
        second=agents[1].name,
        seed=seed,
        as_player_0=_tally(outcomes[seats == 0], PLAYER_0_WINS, PLAYER_1_WINS),
        as_player_1=_tally(outcomes[seats == 1], PLAYER_1_WINS, PLAYER_0_WINS),
        truncated=int((outcomes == TRUNCATED).sum()),
        mean_plies=float(table.states["ply"].mean()),
        distinct_games=table.distinct_games(),
        seconds=time.perf_counter() - started,
        played=table.played(),
    )


class _Table:
    """The games of a match, side by side.

    Attributes:
        states: structured array [games], the positions.
        seats: int64[games], which player the first agent is.
    """

    def __init__(self, game: Game, agents: tuple[Agent, Agent], openings: Openings) -> None:
        self.game = game
        self.agents = agents
        self.states = np.repeat(openings.states, 2)
        self.seats = np.arange(len(self.states)) % 2
        self._starts = [contents_of(state) for state in self.states]
        seeds = openings.seeds if game.random_start else [0] * len(openings)
        self._seeds = np.repeat(seeds, 2)
        self._opening_plies = [len(openings.actions[index // 2]) for index in range(len(self))]
        self._actions = [list(openings.actions[index // 2]) for index in range(len(self))]
        self._seconds = [[0.0] * plies for plies in self._opening_plies]
        self._play = specialise(templates, game.rules).play
        self._handles = [self._handles_of(number) for number in (0, 1)]
        for agent, handles in zip(agents, self._handles, strict=True):
            agent.begin(handles)

    def __len__(self) -> int:
        return len(self.states)

    def unfinished(self) -> np.ndarray:
        """Numbers of the games that go on, ascending."""
        return np.flatnonzero(self.states["outcome"] == ONGOING)

    def play(self, unfinished: np.ndarray) -> None:
        """Play one ply in each of these games."""
        is_first = self.states["mover"][unfinished] == self.seats[unfinished]
        for number, group in enumerate((unfinished[is_first], unfinished[~is_first])):
            if len(group):
                self._move(number, group)

    def played(self) -> tuple[PlayedGame, ...]:
        """The games so far."""
        return tuple(
            PlayedGame(
                seed=int(self._seeds[index]),
                opening_plies=self._opening_plies[index],
                actions=tuple(self._actions[index]),
                seconds=tuple(self._seconds[index]),
                first_seat=int(self.seats[index]),
                outcome=int(self.states["outcome"][index]),
            )
            for index in range(len(self))
        )

    def distinct_games(self) -> int:
        """How many games differ in the opening position or in any action after it."""
        return len(
            {
                (start, *actions[plies:])
                for start, actions, plies in zip(
                    self._starts, self._actions, self._opening_plies, strict=True
                )
            }
        )

    def _handles_of(self, number: int) -> list[GameInPlay]:
        """The games as one of the agents sees them."""
        return [
            GameInPlay(
                self.game,
                index,
                int(seat) if number == 0 else 1 - int(seat),
                int(self._seeds[index]),
                self.states,
                self._actions[index],
            )
            for index, seat in enumerate(self.seats)
        ]

    def _move(self, number: int, group: np.ndarray) -> None:
        """Let an agent play in the games ``group``, where it is to move."""
        agent, before = self.agents[number], self.states[group]
        started = time.perf_counter()
        actions = agent.play([self._handles[number][index] for index in group], before)
        share = (time.perf_counter() - started) / len(group)
        after = before.copy()
        illegal = self._play(self.game.tables, after, actions, self.game.num_actions)
        if illegal >= 0:
            reason = Position.of_state(self.game, before[illegal]).refusal(actions[illegal])
            raise ValueError(f"agent {agent.name} in game {group[illegal]}: {reason}")
        self.states[group] = after
        for index, action in zip(group, actions, strict=True):
            self._actions[index].append(int(action))
            self._seconds[index].append(share)
        over = group[after["outcome"] != ONGOING]
        if len(over):
            for each, handles in zip(self.agents, self._handles, strict=True):
                each.finish([handles[index] for index in over])


def _tally(outcomes: np.ndarray, win: int, loss: int) -> Tally:
    wins, losses = int((outcomes == win).sum()), int((outcomes == loss).sum())
    return Tally(wins, len(outcomes) - wins - losses, losses)
