"""`Games`: played games between two agents, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.record import Forfeit, RecordedGame
from ludarium.envs.engine.rule import PLAYER_0_WINS, PLAYER_1_WINS, TRUNCATED

from .kernels import match as templates
from .openings import Openings
from .statistics import MatchResult

_REPLAYED_AT_ONCE = 1024  # games that are replayed side by side: bounds the memory


@dataclass(frozen=True, eq=False)
class Games:
    """G games of at most T plies between two agents, in the view of the first.

    Attributes:
        game: the rules.
        players: names of the first and the second agent.
        seeds: int64[G], seeds of the starts; 0 where starts are not random.
        positions: texts of the positions that games began at; None for the game's start.
        seats: int8[G], the first agent's player index.
        opening_plies: int64[G], how many actions were given before the agents took over.
        actions: int64[G, T], the actions, the opening included; -1 after the end.
        seconds: float64[G, T], time for each action; 0 in the opening. Games are played
            side by side, and share the time of each decision equally.
        plies: int64[G], length of each game.
        outcomes: int8[G], constants of `ludarium.envs.engine.rule`; a game that its actions do not
            end was resigned.
        notes: what the agents say of the moves of each game, by the number of actions before each;
            empty if they say nothing.
    """

    game: Game
    players: tuple[str, str]
    seeds: np.ndarray
    positions: tuple[str | None, ...]
    seats: np.ndarray
    opening_plies: np.ndarray
    actions: np.ndarray
    seconds: np.ndarray
    plies: np.ndarray
    outcomes: np.ndarray
    notes: tuple[dict[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.plies)

    # Results.

    def rewards(self, player: int) -> np.ndarray:
        """Rewards of ``player_0`` or ``player_1`` in each game, +1, 0 or -1, int64[G]."""
        wins = (self.outcomes == PLAYER_0_WINS).astype(np.int64) - (self.outcomes == PLAYER_1_WINS)
        return wins if player == 0 else -wins

    @property
    def result(self) -> MatchResult:
        """The result of the first agent."""
        return self.result_as(0) + self.result_as(1)

    def result_as(self, seat: int) -> MatchResult:
        """The result of the first agent in the games in which it was this player."""
        return MatchResult.of(self.rewards(seat)[self.seats == seat])

    @property
    def truncated(self) -> int:
        """Games that ended at the ply cap; they are among the draws."""
        return int((self.outcomes == TRUNCATED).sum())

    @property
    def distinct(self) -> int:
        """How many games differ in their start, their opening or any action after it."""
        begun = zip(self.seeds.tolist(), self.positions, self.opening_plies.tolist(), strict=True)
        return len({(*begins, *self.moves(number)) for number, begins in enumerate(begun)})

    @property
    def caveat(self) -> str | None:
        """Why intervals are not reliable, in words for people; ``None`` if all games differ."""
        games, distinct = len(self), self.distinct
        if distinct <= 2 < games:
            return (
                f"only {distinct} of {games} games differ: both agents always give the same "
                "answers and all games begin alike, so the score holds for these games only; draw "
                "openings (opening_plies=4)"
            )
        if distinct < games:
            return (
                f"{games - distinct} of {games} games repeat another one action for action, so "
                "the interval is narrower than it should be"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON values; an infinite Elo difference is ``None``."""
        return {
            "game": self.game.name,
            "options": dict(self.game.options),
            "first": self.players[0],
            "second": self.players[1],
            "games": len(self),
            **self.result.to_dict(),
            "elo": self.result.elo.to_dict(),
            "as_player_0": self.result_as(0).to_dict(),
            "as_player_1": self.result_as(1).to_dict(),
            "truncated": self.truncated,
            "mean_plies": float(self.plies.mean()),
            "distinct_games": self.distinct,
            "caveat": self.caveat,
            "seconds": float(self.seconds.sum()),
        }

    # Moves.

    def moves(self, number: int) -> list[int]:
        """The actions of one game."""
        actions: list[int] = self.actions[number, : self.plies[number]].tolist()
        return actions

    def record(self, number: int) -> dict[str, Any]:
        """One game as a record, which `ludarium.envs.from_record` replays.

        Returns:
            A game record (see ``ludarium.envs.engine.record``) with ``players``, the agents'
            names as ``player_0`` and ``player_1``, ``opening_plies``, ``seconds``, and perhaps
            ``resigned`` and ``notes``. The note on a move that was not played stands at the last
            one.
        """
        begun = self.game, int(self.seeds[number]), self.positions[number]
        record = RecordedGame(*begun, self.moves(number)).to_record()
        if record["result"] is None:
            loser = 1 if self.outcomes[number] == PLAYER_0_WINS else 0
            record |= {"result": list(Forfeit(loser).rewards), "resigned": True}
        plies = int(self.plies[number])
        seconds = self.seconds[number, :plies].tolist()
        notes: dict[str, str] = {}
        for ply, text in sorted(self.notes[number].items() if self.notes and plies else ()):
            move = str(min(ply + 1, plies))
            notes[move] = f"{notes[move]}\n\n{text}" if move in notes else text
        return {
            **record,
            **({"notes": notes} if notes else {}),
            "players": list(self.players if self.seats[number] == 0 else self.players[::-1]),
            "opening_plies": int(self.opening_plies[number]),
            "seconds": [round(each, 6) for each in seconds],
        }

    def records(self) -> list[dict[str, Any]]:
        """All games as records."""
        return [self.record(number) for number in range(len(self))]

    # Positions.

    def starts(self) -> np.ndarray:
        """The first position of each game, structured [G]."""
        return Openings.begun(self.game, self.seeds.tolist(), self.positions).states

    def replay(
        self, games: np.ndarray | None = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Every ply of the games (default: all), in groups of games, each group from ply 0 on.

        Yields:
            Number of the ply, from 0; int64[N], numbers of the games that are still in play; and
            structured [N] each, their positions before and after it.

        Raises:
            ValueError: an action is not legal.
        """
        chosen = np.arange(len(self)) if games is None else np.asarray(games)
        step = specialise(templates, self.game).play
        starts = self.starts()
        for first in range(0, len(chosen), _REPLAYED_AT_ONCE):
            portion = chosen[first : first + _REPLAYED_AT_ONCE]
            states = starts[portion]
            for ply in range(int(self.plies[portion].max(initial=0))):
                still = self.plies[portion] > ply
                portion, states = portion[still], states[still]
                after = states.copy()
                actions = self.actions[portion, ply]
                if step(self.game.tables, after, actions, self.game.num_actions) >= 0:
                    raise ValueError(f"a game of {self.players[0]} has an illegal action")
                yield ply, portion, states, after
                states = after

    def decisions(self) -> list[np.ndarray]:
        """The positions in which agents chose, structured [P] for each game, in order of play."""
        found = [self.game.new_states(each) for each in self.plies - self.opening_plies]
        for ply, games, before, _ in self.replay():
            for number, state in zip(games.tolist(), before, strict=True):
                if (place := ply - int(self.opening_plies[number])) >= 0:
                    found[number][place] = state
        return found

    @property
    def movers(self) -> np.ndarray:
        """The player to move before each ply, int8[G, T]; 0 after the end."""
        return self._counted[0]

    @property
    def choices(self) -> np.ndarray:
        """The number of legal actions before each ply, int32[G, T]; 0 after the end."""
        return self._counted[1]

    @property
    def events(self) -> np.ndarray:
        """Counts of events in each game, int64[G, len(game.event_names)]; see `Game.events`."""
        return self._counted[2]

    @property
    def turns(self) -> np.ndarray:
        """Turns of each game, int64[G]: plies in a row by the same player are one turn."""
        on = np.arange(self.actions.shape[1]) < self.plies[:, None]
        changes = (self.movers[:, 1:] != self.movers[:, :-1]) & on[:, 1:]
        turns: np.ndarray = changes.sum(axis=1) + (self.plies > 0)
        return turns

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Movers, choices and events, all from one replay."""
        game = self.game
        movers = np.zeros(self.actions.shape, np.int8)
        choices = np.zeros(self.actions.shape, np.int32)
        events = np.zeros((len(self), len(game.event_names)), np.int64)
        for ply, games, before, after in self.replay():
            masks = np.empty((len(games), game.num_actions), np.int8)
            game.kernels.legal_actions(game.tables, before, masks)
            choices[games, ply] = masks.sum(axis=1, dtype=np.int32)
            movers[games, ply] = before["mover"]
            events[games] += game.events(before, self.actions[games, ply], after)
        return movers, choices, events


def columns(rows: Sequence[Sequence[float]], fill: float, dtype: type) -> np.ndarray:
    """Rows of different lengths as one array; the ends of short rows hold ``fill``."""
    shape = len(rows), max(map(len, rows), default=0)
    found: np.ndarray = np.full(shape, fill, dtype)
    for line, row in zip(found, rows, strict=True):
        line[: len(row)] = row
    return found
