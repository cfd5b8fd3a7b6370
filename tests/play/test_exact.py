"""Modules with exact values say what Python says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.analysis.probing import Prober, prober_of
from ludarium.envs import GAMES, Game, make_game
from ludarium.envs.engine.position import Position
from ludarium.play import build
from ludarium.play.wasm.exact import build_solver, solver_digest
from ludarium.training.exact_values import ValueBounds
from tests.play.node import ask, need_tools, run_tests
from tests.tictactoe import TicTacToe

SOLVER_TESTS = Path(__file__).with_name("solver.test.mjs")
SCRIPT = Path(__file__).with_name("exact.mjs")
LIMIT = 100_000  # positions that Python may search for one that is taken
#: The share of a random game after which positions are taken; other games have no early ones.
FIRST = {"osiron": 0.0, "corso": 0.3}


def decided_positions(
    prober: Prober, count: int, seed: int
) -> Iterator[tuple[Position, dict[int, ValueBounds]]]:
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


def compare(game: Game, module: Path, positions: int) -> int:
    """Compare positions; returns how many actions agree.

    Raises:
        AssertionError: something differs; the message shows the position.
    """
    asked = list(decided_positions(prober_of(game), positions, seed=1))
    answers = in_module([position for position, _ in asked], module)
    actions = 0
    for (position, expected), found in zip(asked, answers, strict=True):
        assert found["isComplete"], f"not complete:\n{position}"
        words = {str(action): str(answer) for action, answer in expected.items()}
        assert found["actions"] == words, f"actions differ:\n{position}"
        assert found["position"] == str(ValueBounds.best(expected.values())), (
            f"differs:\n{position}"
        )
        actions += len(words)
    return actions


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)


@pytest.fixture(scope="module")
def tictactoe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module with exact values of tic-tac-toe, as a file."""
    need_tools()
    path = tmp_path_factory.mktemp("exact") / "tictactoe.wasm"
    path.write_bytes(build_solver(TicTacToe()))
    return path


@pytest.mark.slow
def test_values_of_a_small_game_are_those_of_python(tictactoe: Path) -> None:
    assert compare(TicTacToe(), tictactoe, positions=300) > 300


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("corso", 300),
        ("corso?size=4", 300),
        ("corso?size=6", 60),
        ("osiron", 1000),
        ("osiron?setup=alternating&movement=advanced", 1000),
        ("osiron?setup=DDDDDDDDDDDLLLLDLLLLLLLL", 300),
        ("osiron?setup=empty&movement=advanced", 60),
        ("obsidio?size=7", 100),
        ("onyx?size=6", 60),
        ("obelisk", 20),
    ],
)
def test_values_are_those_of_python(name: str, positions: int, tmp_path: Path) -> None:
    need_tools()
    game = build.read_game(name)
    path = tmp_path / "exact.wasm"
    path.write_bytes(build_solver(game))
    assert compare(game, path, positions) > positions


@pytest.mark.slow
def test_the_solver_in_javascript(tictactoe: Path) -> None:
    run_tests(SOLVER_TESTS, MODULE=tictactoe)


def test_each_game_has_what_answers_best() -> None:
    digests = {solver_digest(make_game("corso", size=size)) for size in (3, 4, 5, 6)}
    assert len(digests) == 4
