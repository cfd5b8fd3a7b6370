"""`GameSample`: games with the same player on both sides, and what reports count in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ludarium.envs.engine.compile import specialise
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, PLAYER_1_WINS, seed_rng
from ludarium.training.evaluation.kernels import match as match_templates

_GAMES_AT_ONCE = 1024  # that are replayed side by side: bounds the memory


@dataclass(frozen=True)
class Ply:
    """The same ply of several games.

    Attributes:
        number: of the ply, the first is 0.
        games: int64[N], which games are still on.
        before, after: structured [N], the positions before and after the actions.
        actions: int64[N].
    """

    number: int
    games: np.ndarray
    before: np.ndarray
    actions: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class GameSample:
    """Played games, and counts of what happened in them; G games of at most T plies.

    Attributes:
        game: the rules.
        players: who played both sides.
        seeds: of the starts; they matter where starts are random.
        actions: int64[G, T], -1 after the end.
        plies: int64[G], length of each game.
        outcomes: int8[G], constants of `ludarium.envs.engine.rule`.
        movers: int8[G, T], the player to move before each ply.
        choices: int32[G, T], the number of legal actions before each ply, 0 after the end.
        events: int64[G, len(game.event_names)], see `Game.events`.
    """

    game: Game
    players: str
    seeds: tuple[int, ...]
    actions: np.ndarray
    plies: np.ndarray
    outcomes: np.ndarray
    movers: np.ndarray
    choices: np.ndarray
    events: np.ndarray

    def __len__(self) -> int:
        return len(self.plies)

    @classmethod
    def of(
        cls, game: Game, players: str, seeds: Sequence[int], moves: Sequence[Sequence[int]]
    ) -> GameSample:
        """Replay games, given by the seeds of their starts and their actions, and count."""
        plies = np.array([len(actions) for actions in moves], np.int64)
        shape = len(moves), int(plies.max(initial=0))
        actions = np.full(shape, -1, np.int64)
        for row, played in zip(actions, moves, strict=True):
            row[: len(played)] = played
        sample = cls(
            game=game,
            players=players,
            seeds=tuple(int(seed) for seed in seeds),
            actions=actions,
            plies=plies,
            outcomes=np.zeros(len(moves), np.int8),
            movers=np.zeros(shape, np.int8),
            choices=np.zeros(shape, np.int32),
            events=np.zeros((len(moves), len(game.event_names)), np.int64),
        )
        for ply in sample.replay():
            masks = np.empty((len(ply.games), game.num_actions), np.int8)
            game.kernels.legal_actions(game.tables, ply.before, masks)
            sample.choices[ply.games, ply.number] = masks.sum(axis=1, dtype=np.int32)
            sample.movers[ply.games, ply.number] = ply.before["mover"]
            sample.outcomes[ply.games] = ply.after["outcome"]
            sample.events[ply.games] += game.events(ply.before, ply.actions, ply.after)
        return sample

    def starts(self) -> np.ndarray:
        """The first position of each game, structured [G]."""
        states = self.game.new_states(len(self))
        rngs = np.ones((len(self), 2), np.int64)
        if self.game.random_start:
            rngs[:] = np.concatenate([seed_rng(seed) for seed in self.seeds])
        self.game.kernels.start(self.game.tables, states, rngs)
        return states

    def replay(self, games: np.ndarray | None = None) -> Iterator[Ply]:
        """Every ply of the games (default: of all), portion by portion, each from ply 0 on.

        Raises:
            ValueError: an action is not legal.
        """
        chosen = np.arange(len(self)) if games is None else np.asarray(games)
        play = specialise(match_templates, self.game.rules).play
        starts = self.starts()
        for first in range(0, len(chosen), _GAMES_AT_ONCE):
            portion = chosen[first : first + _GAMES_AT_ONCE]
            states = starts[portion]
            for number in range(int(self.plies[portion].max(initial=0))):
                still = self.plies[portion] > number
                portion, states = portion[still], states[still]
                actions = self.actions[portion, number]
                after = states.copy()
                if play(self.game.tables, after, actions, self.game.num_actions) >= 0:
                    raise ValueError(f"a game of {self.players} has an illegal action")
                yield Ply(number, portion, states, actions, after)
                states = after

    def rewards(self, player: int) -> np.ndarray:
        """+1, 0 or -1 for each game, int64[G]."""
        wins = (self.outcomes == PLAYER_0_WINS).astype(np.int64) - (self.outcomes == PLAYER_1_WINS)
        return wins if player == 0 else -wins

    @property
    def turns(self) -> np.ndarray:
        """Turns of each game, int64[G]: plies in a row by the same player are one turn."""
        on = np.arange(self.actions.shape[1]) < self.plies[:, None]
        changes = (self.movers[:, 1:] != self.movers[:, :-1]) & on[:, 1:]
        turns: np.ndarray = changes.sum(axis=1) + (self.plies > 0)
        return turns

    def texts(self, number: int) -> list[str]:
        """The moves of one game in the game's notation."""
        plies = self.replay(np.array([number]))
        return [self.game.action_to_text(ply.before[0], int(ply.actions[0])) for ply in plies]


def random_games(game: Game, count: int, seed: int) -> GameSample:
    """Games of uniformly random legal actions, all side by side in the engine's compiled loops."""
    for_starts, for_actions = np.random.SeedSequence(seed).spawn(2)
    seeds = for_starts.generate_state(count).tolist()
    moves: list[list[int]] = [[] for _ in range(count)]
    empty = GameSample.of(game, "random", seeds, moves)
    play = specialise(match_templates, game.rules).play
    states, streams = empty.starts(), seed_rng(for_actions, count)
    on = np.flatnonzero(states["outcome"] == ONGOING)
    while len(on):
        following, rngs = states[on], streams[on]
        actions = np.empty(len(on), np.int64)
        game.kernels.batch_random_actions(
            game.tables, following, rngs, actions, game.num_actions, 0, len(on)
        )
        play(game.tables, following, actions, game.num_actions)
        states[on], streams[on] = following, rngs
        for number, action in zip(on.tolist(), actions.tolist(), strict=True):
            moves[number].append(action)
        on = on[following["outcome"] == ONGOING]
    return GameSample.of(game, "random", seeds, moves)
