"""Matches between two agents: all games in parallel, every opening from both seats."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED

from ..agents import Agent
from .kernels import match as templates
from .openings import draw_openings
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

    @property
    def total(self) -> Tally:
        """Results of the first agent in both seats."""
        return self.as_player_0 + self.as_player_1

    @property
    def score(self) -> float:
        """Points per game, from 0 to 1; a draw is half a point."""
        return self.total.points / self.total.games

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the score (Wilson); a draw counts as half a win.

        Draws make it wider than it need be. The games are taken as independent, though the
        two of a pair share their opening: where an opening favours one seat, the interval is
        wider than it need be; where it suits one agent from both seats, it is too narrow.
        """
        return wilson_interval(self.total.points, self.total.games)

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
    first: Agent,
    second: Agent,
    games: int,
    seed: int | None = None,
    opening_plies: int | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Play a match; the same seed and agents give the same match.

    Games 2k and 2k + 1 start from the same opening; the first agent is ``player_0`` in the
    one and ``player_1`` in the other. Openings differ from each other where possible (see
    `draw_openings`). Both agents are restarted with seeds of their own, drawn from ``seed``.

    Args:
        game: the rules.
        first, second: the agents.
        games: number of games, even.
        seed: of openings and agents; ``None`` plays a new match each time.
        opening_plies: random plies before the agents take over; ``None`` draws 0 to 3 for
            each opening.
        progress: called now and then.

    Raises:
        ValueError: ``games`` is not a positive even number, an agent plays another game, or
            an agent chose an illegal action; the message says which.
    """
    if games < 2 or games % 2:
        raise ValueError(f"games is a positive even number (two per opening), not {games!r}")
    for agent in (first, second):
        if agent.game != game:
            raise ValueError(f"agent {agent.name} plays {agent.game}, not {game}")
    started = time.perf_counter()
    seeds = np.random.SeedSequence(seed).spawn(3)
    first.restart(seeds[1])
    second.restart(seeds[2])
    states = np.repeat(draw_openings(game, games // 2, opening_plies, seeds[0]), 2)
    seats = np.arange(games) % 2  # which player the first agent is
    play = specialise(templates, game.rules).play
    histories: list[list[bytes]] = [[contents_of(state)] for state in states]
    while True:
        unfinished = np.flatnonzero(states["outcome"] == ONGOING)
        if progress is not None:
            progress(games - len(unfinished), games)
        if not len(unfinished):
            break
        is_first = states["mover"][unfinished] == seats[unfinished]
        for agent, group in ((first, unfinished[is_first]), (second, unfinished[~is_first])):
            if not len(group):
                continue
            before = states[group]
            actions = agent.actions(before)
            after = before.copy()
            illegal = play(game.tables, after, actions, game.num_actions)
            if illegal >= 0:
                reason = Position.of_state(game, before[illegal]).refusal(actions[illegal])
                raise ValueError(f"agent {agent.name} in game {group[illegal]}: {reason}")
            states[group] = after
            for index, action in zip(group, actions, strict=True):
                histories[index].append(int(action).to_bytes(4, "little"))
    outcomes = states["outcome"]
    return MatchResult(
        game=game.name,
        options=dict(game.options),
        first=first.name,
        second=second.name,
        seed=seed,
        as_player_0=_tally(outcomes[seats == 0], PLAYER_0_WINS, PLAYER_1_WINS),
        as_player_1=_tally(outcomes[seats == 1], PLAYER_1_WINS, PLAYER_0_WINS),
        truncated=int((outcomes == TRUNCATED).sum()),
        mean_plies=float(states["ply"].mean()),
        distinct_games=len({b"".join(history) for history in histories}),
        seconds=time.perf_counter() - started,
    )


def _tally(outcomes: np.ndarray, win: int, loss: int) -> Tally:
    wins, losses = int((outcomes == win).sum()), int((outcomes == loss).sum())
    return Tally(wins, len(outcomes) - wins - losses, losses)
