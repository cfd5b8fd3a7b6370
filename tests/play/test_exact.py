"""Modules with exact values say what Python says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludarium.envs import GAMES, make_game
from ludarium.play import build
from ludarium.play.wasm.exact import (
    build_solver,
    solver_digest,
)
from tests.play.exact import compare
from tests.play.node import need_tools, run_tests
from tests.tictactoe import TicTacToe

SOLVER_TESTS = Path(__file__).with_name("solver.test.mjs")


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
