"""WebAssembly modules do what Python does, bit for bit."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import asdict

from ludarium.arena.ladder import load_ladder
from ludarium.base.storage import cache_folder
from ludarium.envs import GAMES, Game, make_game
from ludarium.envs.engine.position import Position, contents_of
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.engine.views import FLIP, ROTATE
from ludarium.models import Evaluation, build_network
from ludarium.models.evaluation import in_canonical_frame
from ludarium.models.layers import BoardLayers, Layers, VectorLayers
from ludarium.models.network import layers_of
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
from ludarium.play.wasm.module import assemble
from ludarium.play.wasm.network import network_content
from ludarium.training.agents.checkpoints import fitting_agent
from ludarium.training.agents.network import NetworkAgent
from ludarium.training.networks import (
    calibration_inputs_of,
    inference_engine,
    network_shape,
    stored_network,
)
from ludarium.training.search import BatchSearch, SearchSettings
from tests.checkpoints import LADDERS
from tests.games import ALL_GAMES
from tests.play.node import ask, need_tools, run_tests
from tests.tictactoe import TicTacToe

ENGINE_TESTS = Path(__file__).with_name("engine.test.mjs")
EMPTY = b"\0asm\x01\0\0\0"  # a module without anything
SCRIPT = Path(__file__).with_name("agreement.mjs")
CHUNK = 100  # games that share a digest, so that a difference is found
SETTINGS = (
    SearchSettings(simulations=128),
    SearchSettings(simulations=64, noise=1.0, max_considered=8, solver=False),
    SearchSettings(simulations=96, algorithm="puct", noise=0.25, temperature=0.8),
    SearchSettings(simulations=32, algorithm="puct", rescale_values=False),
)


NOTHING: dict[str, Any] = {"games": [], "searches": [], "hasOwners": False}
SEED = 3


class Draws:
    """Numbers in ``range(2**32)``, as agreement.mjs draws them."""

    def __init__(self, seed: int) -> None:
        self.bits = seed

    def below(self, bound: int) -> int:
        self.bits = (self.bits * 1664525 + 1013904223) & 0xFFFFFFFF
        return self.bits * bound >> 32


def digest_of_games(game: Game, first: int, end: int) -> dict[str, Any]:
    digest = hashlib.sha256()
    plies = 0
    for seed in range(first, end):
        draws = Draws(seed)
        position = Position(game, seed)
        before, action = None, None
        while True:
            digest.update(contents_of(position.states))
            digest.update(position.mask.tobytes())
            for player in (0, 1):
                digest.update(position.observation(player).tobytes())
            digest.update(np.array([position.score, *position.rewards], np.int32).tobytes())
            digest.update(position.slots(action, before).tobytes())
            digest.update(position.facts().tobytes())
            if plies % 8 == 0:
                threats = position.threats()
                digest.update(threats.actions.tobytes() + threats.cells.tobytes())
                digest.update(np.array([threats.covers_opponent], np.int32).tobytes())
                if game.has_owners:
                    digest.update(position.ownership(5, seed).tobytes())
            if seed % 10 == 0 and plies % 8 == 3 and game.position_format:
                digest.update(position.text.encode())
                position = Position.from_text(game, position.text)
            if position.is_over:
                break
            legal = position.legal_actions
            action = int(legal[draws.below(len(legal))])
            word = position.word(action)
            told = [action, word]
            digest.update(np.array(told, np.int32).tobytes())
            if not position.mask[plies % game.num_actions]:
                reason = Game.why_illegal(game, position, plies % game.num_actions)
                digest.update(reason.encode())
            poses = [position.next_pose(plies % 8, way) for way in (ROTATE, FLIP)]
            digest.update(np.array(poses, np.int32).tobytes())
            before = position.copy()
            position.play(action)
            plies += 1
    return {"plies": plies, "digest": digest.hexdigest()}


def answer(observations: np.ndarray, num_actions: int) -> Evaluation:
    """A network's answers that are hashes of the observations."""
    words = observations.reshape(len(observations), -1).view(np.uint32)
    index = np.arange(words.shape[1], dtype=np.uint32)
    factors = (2 * index + np.uint32(1)) * np.uint32(0x9E3779B1)
    sums = ((words ^ words >> np.uint32(23)) * factors).sum(axis=1, dtype=np.uint32)
    bits = sums[:, None] + np.arange(num_actions + 1, dtype=np.uint32) * np.uint32(0x9E3779B9)
    bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    bits = (bits ^ bits >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    numbers = (bits ^ bits >> np.uint32(16)) / 2**32
    wins = numbers[:, -1]
    wdl = np.stack([wins, np.zeros_like(wins), 1 - wins], axis=1)
    return Evaluation(6 * numbers[:, :-1] - 3, wdl, np.full(len(wins), np.nan))


def some_layers(game: Game) -> Layers:
    """A network with random weights."""
    torch.manual_seed(1)
    return layers_of(build_network(network_shape(game), 16, 3))


def compare_networks(game: Game, module: Path, positions: int) -> None:
    """Compare the answers of a game's shipped network to random positions."""
    network = stored_network(fitting_agent(game), game, game.name)
    assert isinstance(network, BoardLayers | VectorLayers)
    file = module.with_suffix(".network")
    file.write_bytes(network_content(game, network))
    inputs = calibration_inputs_of(game)
    engine = inference_engine(game, network, positions, "compiled-int8", calibration_inputs=inputs)
    draws = Draws(SEED)
    states = [wander(game, SEED + number, draws) for number in range(positions)]
    ours = NetworkAgent(game, engine, 0).evaluate(np.concatenate(states))
    asked = {"network": str(file), "positions": positions, "seed": SEED}
    theirs = ask(SCRIPT, str(module), json.dumps(NOTHING | {"answers": asked}))["answers"]
    logits, wdl = (np.array([each[name] for each in theirs]) for name in ("logits", "wdl"))
    for mine, theirs_of_it in ((ours.logits, logits), (ours.wdl, wdl)):
        differing = np.flatnonzero((mine != theirs_of_it).any(1))
        assert not len(differing), f"{game!r}: answers {differing[:5]} differ"


def wander(game: Game, seed: int, draws: Draws) -> np.ndarray:
    """A random position in which the game goes on, structured array [1]."""
    position = Position(game, seed)
    before = position.states.copy()
    plies = draws.below(min(game.max_plies, 60))
    while plies > 0 and not position.is_over:
        legal = position.legal_actions
        before = position.states.copy()
        position.play(int(legal[draws.below(len(legal))]))
        plies -= 1
    return before if position.is_over else position.states


def digests_of_searches(
    game: Game, settings: SearchSettings, positions: int, seed: int
) -> list[str]:
    digests: list[str] = []
    search = BatchSearch(game, settings, batch=1, seed=seed, cache=Limits().cache)
    draws = Draws(seed)

    def evaluate(observations: np.ndarray) -> Evaluation:
        return answer(observations, game.num_actions)

    if seed % 2:
        evaluate = in_canonical_frame(evaluate)
    while len(digests) < positions:
        states = wander(game, seed + len(digests), draws)
        found = search.run(states, evaluate)
        digest = hashlib.sha256()
        for array in (found.policies, found.visits, found.action_values, found.values):
            digest.update(array.tobytes())
        numbers = [found.actions[0], found.proven[0], found.simulations, found.evaluations]
        digest.update(np.array(numbers, np.int32).tobytes())
        digests.append(digest.hexdigest())
    return digests


def in_python(game: Game, games: int, positions: int) -> dict[str, Any]:
    rng, states = seed_rng(5), game.new_states(1)
    mask, planes = np.empty(game.num_actions, np.int8), np.empty(game.planes_shape, np.float32)
    # This may draw, as it does there.
    game.kernels.start_one(game.tables, states, rng, mask, planes, False)
    counts = np.zeros(5, np.int64)
    plies = game.kernels.random_games(game.tables, states, rng[0], game.num_actions, 100, counts)
    return {
        "games": [digest_of_games(game, first, end) for first, end in _chunks(games)],
        "searches": [
            digests_of_searches(game, settings, positions, seed)
            for seed, settings in enumerate(SETTINGS)
        ],
        "random": {"plies": int(plies), "outcomes": counts.tolist()},
    }


def in_module(module: Path, game: Game, games: int, positions: int) -> dict[str, Any]:
    searches = [
        {"settings": asdict(settings), "positions": positions, "seed": seed}
        for seed, settings in enumerate(SETTINGS)
    ]
    asked = {"games": _chunks(games), "searches": searches}
    request = json.dumps(asked | {"hasOwners": game.has_owners, "reasons": list(game.reasons)})
    return ask(SCRIPT, str(module), request)


def _chunks(games: int) -> list[tuple[int, int]]:
    return [(first, min(first + CHUNK, games)) for first in range(0, games, CHUNK)]


def compare(game: Game, module: Path, games: int, positions: int) -> None:
    """Compare random games and searches; the message of an error says what differs first."""
    ours, theirs = (
        in_python(game, games, positions),
        in_module(module, game, games, positions),
    )
    for one, other, chunk in zip(ours["games"], theirs["games"], _chunks(games), strict=True):
        assert one == other, f"{game!r}: games {chunk[0]} to {chunk[1]} differ"
    assert ours["random"] == theirs["random"]
    for settings, one, other in zip(SETTINGS, ours["searches"], theirs["searches"], strict=True):
        differing = [index for index in range(positions) if one[index] != other[index]]
        assert not differing, f"{game!r}: searches {differing[:5]} with {settings} differ"


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
    compare(game, path, games=2_000, positions=100)


@pytest.mark.slow
def test_the_engine_in_javascript(tictactoe: Path) -> None:
    run_tests(ENGINE_TESTS, MODULE=tictactoe, NETWORK=tictactoe.with_suffix(".network"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ladder", LADDERS, ids=lambda path: path.name)
def test_shipped_networks_answer_as_in_python(ladder: Path, tmp_path: Path) -> None:
    need_tools()
    found = load_ladder(ladder)
    game = make_game(found.game, **found.options)
    path = build.write_module(tmp_path, game, build_module(game))
    compare_networks(game, path, positions=200)


def test_changed_sources_have_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    game, changed = TicTacToe(), TicTacToe()
    before = digest_of(game)
    changed.tables = changed.tables.copy()
    changed.tables["lines"][0, 0, 0] += 1
    assert digest_of(changed) != before
    changed.tables, changed.random_start = game.tables, True  # which the manifest has
    digests = {before, digest_of(changed)}  # a number, or an array, is what the code is made of
    for constant in (5, *np.broadcast_to(np.arange(3)[:, None], (3, 2))):
        monkeypatch.setattr(kernels, "NO_NODE", constant)
        digests.add(digest_of(game))
    assert len(digests) == 6


def test_options_name_a_module() -> None:
    assert module_name(build.read_game("onyx")) == "onyx"
    assert module_name(build.read_game("onyx?size=6")) == "onyx-size=6"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draughts"], "no game is called 'draughts'"),
        (["corso?size"], "write GAME[?]NAME=VALUE"),
        (["corso?size=99"], "option 'size' is 99"),
        (["--max-considered", "9"], "max_considered is 9; accepted: 16 to 1,000"),
        (["--simulations", "0"], "simulations of a search is 0; accepted: a whole number from 1"),
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


def test_rules_that_cannot_be_compiled_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("Failed in nopython mode\nno such thing\n<function step at 0x7f00>")

    monkeypatch.setattr("ludarium.play.wasm.compiler.compile_object", refuse)
    told = r"the rules of tictactoe cannot be compiled \(step\): no such thing"
    with pytest.raises(ValueError, match=told):
        assemble(TicTacToe(), kernels, {}, {})


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
