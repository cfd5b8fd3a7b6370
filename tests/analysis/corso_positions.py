"""Positions of Corso, and what they are worth by the rules of the game alone."""

from __future__ import annotations

import random

import numpy as np

from ludarium.envs import Game, Position
from tests.games import children


def minimax(position: Position, known: dict[tuple[bytes, int], int]) -> int:
    """The mover's lead with best play, by the rules of the game alone; ``known`` is filled."""
    if position.is_over:
        return position.score * (1 - 2 * position.mover)
    key = position.state.cells.tobytes(), position.mover
    if key not in known:
        known[key] = max(-minimax(child, known) for child in children(position).values())
    return known[key]


def position_of(game: Game, cells: bytes, mover: int) -> Position:
    """An unfinished position with these contents of its cells."""
    states = game.new_states(1)
    states["cells"][0] = np.frombuffer(cells, np.int8)
    states["open_cells"] = np.count_nonzero(states["cells"][0] == 0)
    states["mover"] = mover
    return Position.of_state(game, states)


def random_position(game: Game, seed: int, open_cells: range) -> Position:
    """An unfinished position of a random game with so many open cells."""
    lots = random.Random(seed)
    while True:
        position = game.start()
        while not position.is_over:
            if position.state.open_cells in open_cells and position.ply >= lots.randrange(12):
                return position
            position.play(lots.choice(position.legal_actions.tolist()))
