"""Openings of a match: short random games, as different from each other as possible."""

from __future__ import annotations

import numpy as np

from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position, contents_of

MOST_DEFAULT_PLIES = 3
_TRIES = 100  # draws before a repeated opening is accepted


def draw_openings(
    game: Game,
    count: int,
    plies: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
) -> np.ndarray:
    """Positions after a few random legal plies, all different if so many can be found.

    Args:
        game: the rules.
        count: number of openings.
        plies: length of every opening; ``None`` draws each from 0 to 3. An opening that would
            end the game stops before.
        seed: of everything drawn, random starts included.

    Returns:
        structured[count] of ``game.state_dtype``, no game over.

    Raises:
        ValueError: ``plies`` is negative.
    """
    if plies is not None and plies < 0:
        raise ValueError(f"opening plies are 0 or more, not {plies!r}")
    random = np.random.default_rng(seed)
    openings = game.new_states(count)
    seen: set[bytes] = set()
    for index in range(count):
        for _ in range(_TRIES):
            length = int(random.integers(MOST_DEFAULT_PLIES + 1)) if plies is None else plies
            position = _random_opening(game, length, random)
            key = contents_of(position.states[0])
            if key not in seen:
                break
        seen.add(key)
        openings[index] = position.states[0]
    return openings


def _random_opening(game: Game, plies: int, random: np.random.Generator) -> Position:
    """The position after ``plies`` random plies, or fewer if the next would end the game."""
    position = game.start(int(random.integers(1 << 32)))
    for _ in range(plies):
        following = position.copy()
        following.play(random.choice(position.legal_actions))
        if following.is_over:
            break
        position = following
    return position
