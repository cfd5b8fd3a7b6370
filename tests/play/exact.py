"""The same exact values in a WebAssembly module, run by Node, and in Python.

    python -m tests.play.exact corso osiron --positions 1000

takes positions out of random games that Python can decide, and compares what the position and each
of its actions are worth, with the lead or the plies.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ludarium.analysis.answer import Answer
from ludarium.analysis.probing import Prober, prober_of
from ludarium.envs import Game
from ludarium.envs.engine.position import Position
from ludarium.play.build import read_game
from ludarium.play.wasm.exact import build_solver
from tests.play.node import ask

SCRIPT = Path(__file__).with_name("exact.mjs")
LIMIT = 100_000  # positions that Python may search for one that is taken
#: The share of a random game after which positions are taken; other games have no early ones.
FIRST = {"osiron": 0.0, "corso": 0.3}


def decided_positions(
    prober: Prober, count: int, seed: int
) -> Iterator[tuple[Position, dict[int, Answer]]]:
    """Positions out of random games with the values of all actions; late ones, if searched."""
    draws = np.random.default_rng(seed)
    while count > 0:
        position = Position(prober.game, int(draws.integers(1 << 32)))
        played = [position.copy()]
        while not position.is_over:
            position.play(int(draws.choice(position.legal_actions)))
            played.append(position.copy())
        first = int(len(played) * draws.uniform(FIRST.get(prober.game.name, 0.9), 1.0))
        for late in played[min(first, len(played) - 2) : -1][:3]:
            if prober.at(late).searches != prober.searches:
                continue  # no table has it
            found = prober.actions(late, LIMIT)
            if count > 0 and all(answer.is_decided for answer in found.values()):
                count -= 1
                yield late, found


def in_module(positions: list[Position], module: Path) -> list[dict[str, Any]]:
    """What the module of a game says of positions."""
    records = json.dumps([position.states[0].tobytes().hex() for position in positions])
    found: list[dict[str, Any]] = ask(SCRIPT, str(module), text=records)
    return found


def compare(game: Game, module: Path, positions: int, seed: int = 1) -> int:
    """Compare positions; returns how many actions agree.

    Raises:
        AssertionError: something differs; the message shows the position.
    """
    asked = list(decided_positions(prober_of(game), positions, seed))
    answers = in_module([position for position, _ in asked], module)
    actions = 0
    for (position, expected), found in zip(asked, answers, strict=True):
        assert found["isComplete"], f"not complete:\n{position}"
        words = {str(action): str(answer) for action, answer in expected.items()}
        assert found["actions"] == words, f"actions differ:\n{position}"
        assert found["position"] == str(Answer.best(expected.values())), f"differs:\n{position}"
        actions += len(words)
    return actions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="+", metavar="GAME[?OPTION=VALUE&...]")
    parser.add_argument("--positions", type=int, default=1000)
    given = parser.parse_args()
    for name in given.games:
        game = read_game(name)
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder, "exact.wasm")
            module.write_bytes(build_solver(game))
            actions = compare(game, module, given.positions)
            print(f"{name}: {given.positions:,} positions, {actions:,} actions agree", flush=True)


if __name__ == "__main__":
    main()
