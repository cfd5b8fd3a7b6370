"""Compiled rules beside the plain references: the same random games, compared on every ply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ludarium.envs import Game, Position

#: What is compared of a position besides mover, legal actions, rewards and end.
Snapshot = dict[str, Any]


class Reference(Protocol):
    """A game told as plainly as possible."""

    mover: int
    is_truncated: bool

    @property
    def is_over(self) -> bool: ...
    def legal_actions(self) -> list[int]: ...
    def play(self, action: int) -> list[str]: ...
    def rewards(self) -> tuple[int, int]: ...
    def action_text(self, action: int) -> str: ...
    def snapshot(self) -> Snapshot: ...


def assert_same(
    position: Position, reference: Reference, snapshot: Callable[[Position], Snapshot]
) -> list[int]:
    """Compare all there is to compare; return the legal actions."""
    legal = reference.legal_actions()
    assert position.legal_actions.tolist() == legal
    assert position.is_over == reference.is_over == (not legal)
    assert position.is_truncated == reference.is_truncated
    assert position.rewards == reference.rewards()
    assert snapshot(position) == reference.snapshot()
    if legal:
        assert position.mover == reference.mover
    return legal


def play_beside(
    game: Game,
    start_reference: Callable[[Position], Reference],
    snapshot: Callable[[Position], Snapshot],
    games: int,
    seed: int,
) -> Counter[str]:
    """Compare after every ply of random games; return how often each rare event was met.

    Args:
        game: the compiled game.
        start_reference: the reference in the position that a compiled game starts from.
        snapshot: what `Reference.snapshot` returns, of a compiled position.
        games: how many.
        seed: of the first game, the others follow.

    Raises:
        AssertionError: they differ; a note names the seed of the game and the ply.
    """
    met: Counter[str] = Counter()
    for number in range(seed, seed + games):
        random = np.random.default_rng(number)
        position = game.start(number)
        reference = start_reference(position)
        try:
            legal = assert_same(position, reference, snapshot)
            while legal:
                action = legal[random.integers(len(legal))]
                assert position.action_to_text(action) == reference.action_text(action)
                position.play(action)
                met.update(reference.play(action))
                legal = assert_same(position, reference, snapshot)
        except AssertionError as error:
            error.add_note(f"{game}, seed {number}, after ply {position.ply}")
            raise
        met["plies"] += position.ply
        met["games"] += 1
        assert position.ply <= game.max_plies
    return met
