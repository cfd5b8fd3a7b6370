"""Openings of a match: a few random plies each, all different if enough can be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ludarium.base.memory import require_memory
from ludarium.base.numbers import checked_whole, require_seed
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of, starts_in
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
        positions: the text of the position that each game began at; None for the game's start.
    """

    states: np.ndarray
    seeds: tuple[int, ...]
    actions: tuple[tuple[int, ...], ...]
    positions: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.states)

    @classmethod
    def begun(
        cls, game: Game, seeds: Sequence[int], positions: Sequence[str | None] | None = None
    ) -> Self:
        """Games that have just begun, one for each seed, at their ``positions`` if there are some.

        Raises:
            ValueError: a text is no position of the game.
        """
        states = game.new_states(len(seeds))
        positions = positions or (None,) * len(seeds)
        rngs = np.ones((len(seeds), 2), np.int64)
        if game.random_start and seeds:
            rngs[:] = np.concatenate([seed_rng(seed) for seed in seeds])
        game.kernels.start(game.tables, states, rngs)
        read = {text: game.start(0, text).states[0] for text in {*positions} - {None}}
        for number, text in enumerate(positions):
            if text is not None:
                states[number] = read[text]
        return cls(states, tuple(seeds), ((),) * len(seeds), tuple(positions))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """All openings of several, in their order."""
        return cls(
            np.concatenate([each.states for each in parts]),
            tuple(seed for each in parts for seed in each.seeds),
            tuple(actions for each in parts for actions in each.actions),
            tuple(position for each in parts for position in each.positions),
        )

    def __getitem__(self, part: slice) -> Openings:
        return Openings(
            self.states[part], self.seeds[part], self.actions[part], self.positions[part]
        )

    def twice(self) -> Openings:
        """Each opening twice in a row, for a game from either seat."""
        return Openings(
            np.repeat(self.states, 2),
            tuple(seed for seed in self.seeds for _ in range(2)),
            tuple(actions for actions in self.actions for _ in range(2)),
            tuple(position for position in self.positions for _ in range(2)),
        )


def check_opening_plies(plies: int | None) -> int | None:
    """Return a number of plies, None for a varied one; ``ValueError`` if it is out of range."""
    return None if plies is None else checked_whole("opening_plies", plies, 0, MOST_OPENING_PLIES)


def draw_openings(
    game: Game,
    count: int,
    plies: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    positions: Sequence[str] = (),
) -> Openings:
    """Positions after a few random legal plies, all different if enough can be found.

    Args:
        game: the rules.
        count: number of openings.
        plies: length of every opening; ``None`` draws a number from 0 to 3 for each, and is 0 after
            ``positions``. An opening stops before a ply that would end the game.
        seed: seed of everything drawn, random starts included.
        positions: texts of positions that games begin at in turn, instead of the game's start.

    Returns:
        Openings in which no game is over.

    Raises:
        ValueError: ``seed`` is not a seed, there is not enough memory, or see `check_opening_plies`
            and `check_positions`.
    """
    check_opening_plies(plies)
    check_positions(game, positions)
    if positions and plies is None:
        plies = 0
    require_memory(f"{count} openings", count * game.state_dtype.itemsize)
    random = np.random.default_rng(require_seed(seed))
    states = game.new_states(count)
    seeds, actions = [], []
    seen: set[bytes] = set()
    texts = [positions[index % len(positions)] if positions else None for index in range(count)]
    for index, text in enumerate(texts):
        varies = plies != 0 or (game.random_start and text is None)
        for _ in range(_TRIES if varies else 1):
            length = int(random.integers(MOST_DEFAULT_PLIES + 1)) if plies is None else plies
            start = int(random.integers(1 << 32))
            position, played = _random_opening(game, length, start, text, random)
            key = contents_of(position.states[0])
            if key not in seen:
                break
        seen.add(key)
        states[index] = position.states[0]
        seeds.append(start)
        actions.append(played)
    return Openings(states, tuple(seeds), tuple(actions), tuple(texts))


def check_positions(game: Game, positions: Sequence[str]) -> None:
    """Raise ``ValueError`` unless these are texts of positions in which the game goes on."""
    starts_in(game, {"position": list(positions)}, len(positions))


def _random_opening(
    game: Game, plies: int, seed: int, text: str | None, random: np.random.Generator
) -> tuple[Position, tuple[int, ...]]:
    """The position after ``plies`` random plies, or fewer if the next would end the game."""
    position = game.start(seed, text)
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
