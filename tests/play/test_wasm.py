"""WebAssembly modules do what Python does, bit for bit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludarium.arena.ladder import load_ladder
from ludarium.envs import GAMES, make_game
from ludarium.envs.engine.storage import cache_folder
from ludarium.play import build
from ludarium.play.wasm import (
    Limits,
    LinkerError,
    build_module,
    digest_of,
    kernels,
    linker,
    module_name,
)
from ludarium.play.wasm.memory import settings_record
from ludarium.play.wasm.network import network_content
from ludarium.training.search import SearchSettings
from tests.checkpoints import LADDERS
from tests.games import ALL_GAMES
from tests.play.agreement import compare, compare_levels, compare_networks, some_layers
from tests.play.node import need_tools, run_tests
from tests.tictactoe import TicTacToe

LEVEL_GAMES = int(os.environ.get("LUDARIUM_LEVEL_GAMES", "10"))
ENGINE_TESTS = Path(__file__).with_name("engine.test.mjs")
EMPTY = b"\0asm\x01\0\0\0"  # a module without anything


@pytest.fixture(scope="module")
def tictactoe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module of tic-tac-toe, as a file."""
    need_tools()
    game = TicTacToe()
    module = build_module(game, Limits(cache=4.0))
    path = build.write_module(tmp_path_factory.mktemp("modules"), game, module)
    path.with_suffix(".network").write_bytes(network_content(game, some_layers(game)))
    return path


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "tictactoe", TicTacToe)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ALL_GAMES)
def test_thousands_of_games_are_those_of_python(name: str, tmp_path: Path) -> None:
    need_tools()
    game = ALL_GAMES[name]()
    path = build.write_module(tmp_path, game, build_module(game))
    assert "agree" in compare(game, path, games=2_000, positions=100)


@pytest.mark.slow
def test_the_engine_in_javascript(tictactoe: Path) -> None:
    run_tests(ENGINE_TESTS, MODULE=tictactoe, NETWORK=tictactoe.with_suffix(".network"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ladder", LADDERS, ids=lambda path: path.name)
def test_levels_play_the_moves_of_python(ladder: Path, tmp_path: Path) -> None:
    need_tools()
    found = load_ladder(ladder)
    game = make_game(found.game, **found.options)
    path = build.write_module(tmp_path, game, build_module(game))
    assert "answers agree" in compare_networks(game, path, positions=200)
    assert "games of levels agree" in compare_levels(game, path, games=LEVEL_GAMES)


def test_a_module_reads_every_setting_of_a_search() -> None:
    """`settings_of` names them one by one, because compiled code cannot go through a record."""
    defaults = SearchSettings()
    given = defaults._make(
        not value if isinstance(value, bool) else type(value)(number)
        for number, value in enumerate(defaults, 2)
    )
    memory = SimpleNamespace(settings=settings_record(given).view(np.recarray))
    assert kernels.settings_of(memory) == given


def test_changed_sources_have_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    game, changed = TicTacToe(), TicTacToe()
    before = digest_of(game)
    changed.tables = changed.tables.copy()
    changed.tables["lines"][0, 0, 0] += 1
    assert digest_of(changed) != before
    monkeypatch.setattr(kernels, "NO_NODE", 5)  # one of the numbers that the code is made of
    assert digest_of(game) != before


def test_options_name_a_module() -> None:
    assert module_name(build.read_game("onyx")) == "onyx"
    assert module_name(build.read_game("onyx?size=6")) == "onyx-size=6"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draughts"], "no game is called 'draughts'"),
        (["corso?size"], "write GAME[?]NAME=VALUE"),
        (["corso?size=99"], "option 'size' is 99"),
        (["--simulations", "0"], "simulations is 0; accepted: 1 to"),
    ],
)
def test_a_wrong_command_is_told(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(arguments) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_missing_linker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linker.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LinkerError, match=r"pip install 'ludarium\[wasm\]'"):
        build_module(TicTacToe())


def test_a_linker_keeps_its_files_where_this_package_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, str] = {}

    def run(
        command: list[str], *, env: dict[str, str], cwd: str, **_: Any
    ) -> CompletedProcess[str]:
        told.update(env, where=cwd)
        Path(command[-1]).write_bytes(EMPTY)
        return CompletedProcess(command, 0)

    monkeypatch.setattr(linker, "find_zig", lambda: tmp_path)
    monkeypatch.setattr(linker.subprocess, "run", run)
    assert linker.link(b"", []) == EMPTY
    assert Path(told["ZIG_GLOBAL_CACHE_DIR"]).parent == cache_folder()
    assert told["ZIG_LOCAL_CACHE_DIR"] == "."
    assert not Path(told["where"]).exists()
    assert told["PATH"] == os.environ["PATH"]
