"""Compiled rules beside the plain references: the same random games, compared on every ply.

    python -m tests.references.agreement                       # every game and option, short
    python -m tests.references.agreement onyx --games 20000 --others 2000

plays so many games with the default options, and with each other value of an option, and
prints what was compared and which rare events were met. It ends with an error at the first
difference, naming the game's seed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Protocol

import numpy as np

from ludarium.envs import GAMES, Game, Position, make_game

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
    seed: int = 0,
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


def option_sets(name: str) -> Iterator[dict[str, Any]]:
    """The default options, then one set for each other value that the game's tests list."""
    yield {}
    yield from _tests_of(name).OPTION_SETS


def _tests_of(name: str) -> Any:
    return importlib.import_module(f"tests.envs.test_{name}")


def _play_some(name: str, options: dict[str, Any], games: int, seed: int) -> Counter[str]:
    tests = _tests_of(name)
    game = make_game(name, **options)
    return play_beside(game, tests.reference_of(game), tests.snapshot_of_position, games, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(GAMES), help="games (default: all)")
    parser.add_argument("--games", type=int, default=500, help="with the default options")
    parser.add_argument("--others", type=int, default=50, help="with each other value of an option")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=1_000_000, help="of the first game")
    arguments = parser.parse_args()
    portion = 100
    with ProcessPoolExecutor(arguments.workers) as pool:
        for name in arguments.names:
            for options in option_sets(name):
                begin = time.perf_counter()
                count = arguments.others if options else arguments.games
                parts = [
                    pool.submit(
                        _play_some,
                        name,
                        options,
                        min(portion, count - first),
                        arguments.seed + first,
                    )
                    for first in range(0, count, portion)
                ]
                met: Counter[str] = Counter()
                for part in parts:
                    met.update(part.result())
                seconds = time.perf_counter() - begin
                label = ", ".join(f"{key}={value!r}" for key, value in options.items())
                print(
                    f"{name} ({label[:100] or 'default'}): {met.pop('games')} games, no difference"
                )
                print(f"    {met.pop('plies')} plies, {seconds:.0f} s; ", end="")
                print("; ".join(f"{event} {number}" for event, number in met.most_common()))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
