"""Native libraries: they play as Python does, refuse what is wrong, and are linked by programs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ludarium.arena.ladder import find_ladder
from ludarium.arena.level import LevelSearcher
from ludarium.cli import main
from ludarium.envs.engine.position import Position
from ludarium.envs.engine.rule import seed_rng
from ludarium.envs.registry import make_game
from ludarium.models.kernels.target import HOST
from ludarium.play.native import TARGETS, Library
from ludarium.play.native.texts import LIMITS, build_number
from ludarium.play.wasm import kernels, linker
from ludarium.play.wasm.memory import memory_of, named_arrays
from ludarium.play.wasm.network import packed_network
from ludarium.training.agents.checkpoints import fitting_agent
from ludarium.training.networks import stored_network
from ludarium.training.search import Budget

from .native_library import NativeGame

HERE = Path(__file__).parent
LINUX, ARM = "x86_64-linux", "aarch64-linux"
GAMES = int(os.environ.get("LUDARIUM_NATIVE_GAMES", "100"))
CALLS = int(os.environ.get("LUDARIUM_NATIVE_CALLS", "20000"))

on_linux = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="runs x86 Linux code"
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is exported of Corso, for all targets."""
    linker.find_zig()
    made = tmp_path_factory.mktemp("native") / "corso"
    targets = [word for name in TARGETS for word in ("--target", name)]
    assert main(["export", "corso", "--as", "c", "--output", str(made), *targets]) == 0
    return made


@pytest.fixture
def native(folder: Path) -> NativeGame:
    return NativeGame(folder, folder / LINUX / "libludarium_corso.so")


@pytest.mark.slow
@on_linux
def test_random_games_are_those_of_python(native):
    game = make_game("corso")
    for seed in range(GAMES):
        assert native.call("start", seed) == 0
        position, rng = Position(game, seed), seed_rng(seed)[0]
        while not position.is_over:
            mask = native.mask()
            np.testing.assert_array_equal(mask, position.mask)
            action = native.call("random_action")
            legal = position.legal_actions
            assert action in legal
            text = native.text(action)
            assert text == position.action_to_text(action)
            assert native.call("action", text.upper().encode()) == action
            assert native.call("mover") == position.mover
            assert native.call("play", action) == 0
            position.play(action)
        score = np.zeros(1, np.int32)
        assert native.call("score", score) == 0
        assert (native.call("outcome"), score[0]) == (position.outcome, position.score)
        assert native.call("plies") == position.ply
        assert not native.mask().any()
    assert rng is not None
    shown = np.zeros(native.slots, np.int32)
    assert native.call("view", shown, len(shown)) == 0
    np.testing.assert_array_equal(shown, game.shown(position.state))


@pytest.mark.slow
@on_linux
def test_what_is_taken_back_and_played_again_is_the_same(native):
    native.call("start", 5)
    saves = [native.save()]
    while native.call("outcome") == 0:
        assert native.call("play", native.call("random_action")) == 0
        saves.append(native.save())
    for saved in reversed(saves[:-1]):
        assert native.call("take_back") == 0
        now = native.save()
        np.testing.assert_array_equal(now[44:-4], saved[44:-4])  # but for the random numbers
    assert native.call("take_back") == native.codes["START"]
    for saved in saves:
        assert native.call("restore", saved, len(saved)) == 0
        np.testing.assert_array_equal(native.save(), saved)


class Seeds:
    """In the place of a generator: the seed that a level takes."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def integers(self, bound: int, size: int) -> np.ndarray:
        return np.full(size, self.seed)


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("processor", range(3))
def test_levels_play_the_moves_of_python(native, processor):
    if native.call("use_processor", processor) == native.codes["PROCESSOR"]:
        pytest.skip("this machine is older")
    game, ladder = make_game("corso"), find_ladder(make_game("corso"))
    path = fitting_agent(game)
    network = stored_network(path, game, str(path))
    searcher = LevelSearcher(game, network, ladder.levels[0].knobs, ladder.simulations)
    for number in range(GAMES // 5):
        level = 1 + number % len(ladder.levels)
        searcher.adjust(ladder.levels[level - 1].knobs)
        position = Position(game, number)
        native.call("start", number)
        while not position.is_over:
            seed = 1000 * number + position.ply
            assert native.call("begin_level", level, seed) == 0
            action = native.think(1 + number % 7)
            found = searcher.find(position.states, Budget(), Seeds(seed))
            assert action == found.actions[0], (number, position.ply)
            assert native.call("play", action) == 0
            position.play(action)


@pytest.mark.slow
@on_linux
def test_slices_do_not_change_a_search_and_values_are_told(native):
    chosen = []
    for most in (1, 7, 1000):
        assert native.call("begin", 100, 3) == 0
        action = native.think(most)
        values, visits = np.zeros(25, np.float32), np.zeros(25, np.int32)
        assert native.call("values", values, visits, 25) == 0
        assert visits.sum() == 100
        np.testing.assert_array_equal(np.isnan(values), visits == 0)
        assert np.nanmax(np.abs(values)) <= 1
        chosen.append((action, values.tobytes(), visits.tobytes()))
    assert len(set(chosen)) == 1


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize(("name", "number"), [("begin", 9), ("begin_level", 10)])
def test_a_search_that_did_not_run_forgets_the_one_before(native, name, number):
    found = set()
    for played in ("a1", "c3", "e5"):
        native.call("start", 0)
        native.call("play", native.call("action", played.encode()))
        native.call("begin", 100, 3)
        native.think()
        native.call("start", 0)
        assert native.call(name, number, 3) == 0
        values, visits = np.zeros(25, np.float32), np.zeros(25, np.int32)
        assert native.call("values", values, visits, 25) == 0
        assert np.isnan(values).all()
        assert not visits.any()
        found.add(native.call("choose"))
        assert native.call("run", 1) == 0
    (action,) = found
    assert native.mask()[action]


@pytest.mark.slow
@on_linux
def test_each_function_refuses_what_is_wrong(native):
    codes, buffer = native.codes, native.buffer
    small = np.zeros(1, np.int32)
    functions = {
        "init": (native.size,), "start": (0,), "set_up": (b"",), "mover": (), "outcome": (),
        "plies": (), "score": (small,), "legal": (small, 25), "play": (0,), "take_back": (),
        "random_action": (), "text": (0, small, 9), "action": (b"a1",), "view": (small, 99),
        "save_size": (), "save": (small, 4), "restore": (small, 4), "begin_level": (1, 0),
        "begin": (1, 0), "run": (1,), "choose": (), "values": (small, small, 25),
        "processor": (), "use_processor": (0,),
    }  # fmt: skip
    blank = np.zeros(4096, np.uint8)
    for name, arguments in functions.items():
        native.buffer = None
        assert native.call(name, *arguments) == codes["NULL"], name
        native.buffer = buffer + 8
        assert native.call(name, *arguments) == codes["ALIGNMENT"], name
        native.buffer = blank.ctypes.data + -blank.ctypes.data % 64
        if name != "init":
            assert native.call(name, *arguments) == codes["NOT_READY"], name
    assert not blank.any()
    native.buffer = buffer
    before = native.save()
    for code, name, *arguments in (
        ("SIZE", "init", native.size - 1),
        ("SEED", "start", -1),
        ("START", "set_up", b"ab"),
        ("NULL", "set_up", None),
        ("NULL", "score", None),
        ("NULL", "legal", None, 25),
        ("ROOM", "legal", small, 24),
        ("ILLEGAL", "play", -1),
        ("ILLEGAL", "play", 25),
        ("START", "take_back"),
        ("ILLEGAL", "text", 25, small, 4),
        ("ROOM", "text", 0, small, 2),
        ("NULL", "text", 0, None, 9),
        ("TEXT", "action", b"z9"),
        ("NULL", "action", None),
        ("ROOM", "view", small, 1),
        ("ROOM", "save", small, 4),
        ("SAVE", "restore", small, 4),
        ("NULL", "restore", None, 4),
        ("LEVEL", "begin_level", 0, 0),
        ("LEVEL", "begin_level", 11, 0),
        ("SEED", "begin_level", 1, -1),
        ("SETTING", "begin", 0, 0),
        ("SETTING", "begin", 401, 0),
        ("NO_SEARCH", "run", 1),
        ("NO_SEARCH", "choose"),
        ("NO_SEARCH", "values", small, small, 25),
        ("PROCESSOR", "use_processor", 9),
    ):
        assert native.call(name, *arguments) == codes[code], (name, arguments)
    np.testing.assert_array_equal(native.save(), before)
    for code in codes.values():
        told = native.call("error", code, without_buffer=True).decode()
        assert told not in ("no such code", "no error")


@pytest.mark.slow
@on_linux
def test_a_damaged_save_is_refused_and_changes_nothing(native):
    native.call("start", 1)
    for _ in range(4):
        native.call("play", native.call("random_action"))
    saved = native.save()
    native.call("start", 2)
    native.call("play", native.call("random_action"))
    kept = native.save()
    for place in range(len(saved)):
        damaged = saved.copy()
        damaged[place] ^= 1 << place % 8
        code = native.call("restore", damaged, len(damaged))
        assert code in (native.codes["SAVE"], native.codes["OTHER_GAME"])
        assert native.call("restore", saved, place) < 0
        np.testing.assert_array_equal(native.save(), kept)

    # With the right CRC, but an action that is not legal, the same cell twice, or random numbers
    # that no generator has; the search goes on.
    native.call("begin", 100, 3)
    assert native.call("run", 5) == 1
    for place, content in ((56, saved[52:56]), (28, bytes(16)), (32, b"\1"), (40, b"\1")):
        wrong = saved.copy()
        wrong[place : place + len(content)] = np.frombuffer(content, np.uint8)
        wrong[-4:] = np.frombuffer(np.uint32(crc32(wrong[:-4])).tobytes(), np.uint8)
        assert native.call("restore", wrong, len(wrong)) == native.codes["SAVE"]
        np.testing.assert_array_equal(native.save(), kept)
    action = native.think()
    native.call("begin", 100, 3)
    assert native.think() == action


def crc32(content: np.ndarray) -> int:
    import zlib

    return zlib.crc32(content.tobytes())


def run(*command: object) -> str:
    made = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr + made.stdout
    return made.stdout


@pytest.mark.slow
@on_linux
def test_the_example_runs_and_is_the_same_on_arm(folder, tmp_path):
    program = tmp_path / "example"
    library = folder / LINUX / "libludarium_corso.a"
    run("cc", "-std=c11", folder / "example.c", f"-I{folder}", library, "-o", program)
    played = run(program)
    assert "outcome" in played
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        pytest.skip("there is no qemu-aarch64")
    link_with_zig(folder, ARM, tmp_path / "arm")
    assert run(emulator, tmp_path / "arm") == played


@pytest.mark.slow
@pytest.mark.parametrize("target", [n for n in TARGETS if n not in ("arm64-android", "arm64-ios")])
def test_a_program_is_linked_for_each_target(folder, target, tmp_path):
    link_with_zig(folder, target, tmp_path / "program")
    assert (tmp_path / "program").stat().st_size > 100_000


def link_with_zig(folder: Path, target: str, program: Path) -> None:
    library = folder / target / TARGETS[target].static.format(name="ludarium_corso")
    run(
        *(linker.find_zig() / "zig", "cc", "-target", TARGETS[target].zig, folder / "example.c"),
        *(f"-I{folder}", library, "-o", program),
    )


@pytest.mark.slow
@on_linux
def test_a_rust_program_links_it(folder, tmp_path):
    if shutil.which("rustc") is None:
        pytest.skip("there is no rustc")
    run(
        *("rustc", HERE / "native.rs", "-o", tmp_path / "program", "-L", folder / LINUX),
        *("-l", "static=ludarium_corso"),
    )
    assert run(tmp_path / "program").strip() == "25 legal actions, then 24"


@pytest.mark.slow
@on_linux
def test_random_calls_harm_nothing(folder, tmp_path):
    program = tmp_path / "fuzz"
    run(
        *("gcc", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
        *(HERE / "native_fuzz.c", f"-I{folder}", folder / LINUX / "libludarium_corso.a"),
        *("-o", program),
    )
    assert run(program, CALLS).startswith(f"{CALLS} calls")


def library_of_corso(**changes: object) -> Library:
    """What would be exported, its levels with these changes."""
    game = make_game("corso")
    path = fitting_agent(game)
    ladder = replace(find_ladder(game), **changes)
    return Library(game, stored_network(path, game, str(path)), ladder)


def test_there_is_room_for_the_strongest_level():
    assert library_of_corso().limits == LIMITS
    assert library_of_corso(simulations=3000).limits == replace(LIMITS, simulations=3000)


def test_builds_are_told_apart():
    library, other = library_of_corso(), library_of_corso(simulations=3000)
    ranges = np.ones((2 * len(library.network.blocks), 2), np.float32)
    packed = packed_network(library.game, library.network, ranges, HOST)
    weights = packed.weights.copy()
    weights[-1] += 1
    numbers = [
        build_number(library, [packed]),
        build_number(other, [packed]),
        build_number(replace(library, ladder=None), [packed]),
        build_number(library, [packed._replace(weights=weights)]),
        build_number(library, [packed, packed]),
    ]
    assert len(set(numbers)) == len(numbers)
    assert numbers[0] == build_number(library_of_corso(), [packed])


@pytest.mark.parametrize("simulations", [0, 401])
def test_a_level_without_room_changes_nothing(simulations):
    memory = memory_of(make_game("corso"), LIMITS)
    memory["search"].knobs["simulations"] = simulations
    arrays = named_arrays("search", memory["search"])
    before = {name: array.tobytes() for name, array in arrays.items()}
    assert kernels.level_begin(memory["game"], memory["search"], 5) == -1
    assert before == {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--as", "c", "--target", "amiga"], "accepted: x86_64-linux"),
        (["--target", LINUX], "--target and --levels are for --as c"),
        (["--as", "c", "--levels", "none.json"], "none.json"),
    ],
)
def test_a_wrong_export_is_told_in_a_line(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "corso", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_others_is_left_alone(tmp_path, capsys):
    (tmp_path / "README.md").write_text("mine")
    assert main(["export", "corso", "--as", "c", "--output", str(tmp_path)]) == 2
    assert "holds other files: name a new folder" in capsys.readouterr().err
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("README.md", "mine")]
