"""Openings of a match: a few random plies each, all different if enough can be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ludarium.base.memory import require_memory
from ludarium.base.numbers import checked_whole, require_seed
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.one_side import MOST_OPENING_PLIES

MOST_DEFAULT_PLIES = 3
_TRIES = 100  # draws before a repeated opening is accepted


@dataclass(frozen=True)
class Openings:
    """The beginnings of N games.

    Attributes:
        states: structured[N] of the game's ``state_dtype``, the positions where agents take over.
        seeds: the seed of each game's start; it matters only where starts are random.
        actions: the actions of each opening.
    """

    states: np.ndarray
    seeds: tuple[int, ...]
    actions: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def of_seeds(cls, game: Game, seeds: Sequence[int]) -> Self:
        """Games that have just started."""
        states = game.new_states(len(seeds))
        rngs = np.ones((len(seeds), 2), np.int64)
        if game.random_start and seeds:
            rngs[:] = np.concatenate([seed_rng(seed) for seed in seeds])
        game.kernels.start(game.tables, states, rngs)
        return cls(states, tuple(seeds), ((),) * len(seeds))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All openings of several, in their order."""
        return cls(
            np.concatenate([each.states for each in parts]),
            tuple(seed for each in parts for seed in each.seeds),
            tuple(actions for each in parts for actions in each.actions),
        )

    def __getitem__(self, part: slice) -> Openings:
        return Openings(self.states[part], self.seeds[part], self.actions[part])

    def twice(self) -> Openings:
        """Each opening twice in a row, for a game from either seat."""
        return Openings(
            np.repeat(self.states, 2),
            tuple(seed for seed in self.seeds for _ in range(2)),
            tuple(actions for actions in self.actions for _ in range(2)),
        )


def check_opening_plies(plies: int | None) -> int | None:
    """Return a number of plies, None for a varied one; ``ValueError`` if it is out of range."""
    return None if plies is None else checked_whole("opening_plies", plies, 0, MOST_OPENING_PLIES)


def draw_openings(
    game: Game,
    count: int,
    plies: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
) -> Openings:
    """Positions after a few random legal plies, all different if enough can be found.

    Args:
        game: the rules.
        count: number of openings.
        plies: length of every opening; ``None`` draws a number from 0 to 3 for each. An opening
            stops before a ply that would end the game.
        seed: seed of everything drawn, random starts included.

    Returns:
        Openings in which no game is over.

    Raises:
        ValueError: see `check_opening_plies`.
    """
    check_opening_plies(plies)
    require_memory(f"{count} openings", count * game.state_dtype.itemsize)
    random = np.random.default_rng(require_seed(seed))
    states = game.new_states(count)
    seeds, actions = [], []
    seen: set[bytes] = set()
    for index in range(count):
        for _ in range(_TRIES):
            length = int(random.integers(MOST_DEFAULT_PLIES + 1)) if plies is None else plies
            start = int(random.integers(1 << 32))
            position, played = _random_opening(game, length, start, random)
            key = contents_of(position.states[0])
            if key not in seen:
                break
        seen.add(key)
        states[index] = position.states[0]
        seeds.append(start)
        actions.append(played)
    return Openings(states, tuple(seeds), tuple(actions))


def _random_opening(
    game: Game, plies: int, seed: int, random: np.random.Generator
) -> tuple[Position, tuple[int, ...]]:
    """The position after ``plies`` random plies, or fewer if the next would end the game."""
    position = game.start(seed)
    played: list[int] = []
    for _ in range(plies):
        following = position.copy()
        action = int(random.choice(position.legal_actions))
        following.play(action)
        if following.is_over:
            break
        position = following
        played.append(action)
    return position, tuple(played)
