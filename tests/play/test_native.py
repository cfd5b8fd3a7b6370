"""Native libraries: they play as Python does, refuse what is wrong, and are linked by programs.

    LUDARIUM_NATIVE_GAMES=1000 python -m pytest --timeout 0 tests/play/test_native.py -k levels_play

plays a thousand games at all levels for each kind of processor that runs here, 250 of each game,
and 200 for each that is emulated, and reads 10,000 hostile texts of positions with ``-k hostile``.
In Node ten games are played at each level.
"""

from __future__ import annotations

import ctypes
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ludarium.arena.ladder import find_ladder, ladder_beside
from ludarium.arena.level import LevelAgent
from ludarium.cli import main
from ludarium.configs.schema import SearchSettings, search_options
from ludarium.envs.engine.game import Game
from ludarium.envs.engine.position import Position
from ludarium.envs.registry import make_game
from ludarium.models.kernels.packing import pack
from ludarium.models.kernels.target import HOST
from ludarium.play.build import main as build_modules
from ludarium.play.native import TARGETS, Library
from ludarium.play.native import library as linking
from ludarium.play.native.targets import Platform
from ludarium.play.native.texts import LIMITS, build_number
from ludarium.play.parts import module_part
from ludarium.play.wasm import kernels, linker
from ludarium.play.wasm.memory import memory_of, named_arrays
from ludarium.play.wasm.network import network_content
from ludarium.training.agents.checkpoints import fitting_agent, shipped_agent
from ludarium.training.networks import stored_network
from ludarium.training.search import BatchSearch
from tests.games import random_game
from tests.survival.mutate import wrong_text

from .node import need_tools

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples" / "native"
BENCHMARK = HERE.parent.parent / "benchmarks" / "native_moves.c"
LINUX, ARM, WINDOWS = "x86_64-linux", "aarch64-linux", "x86_64-windows"
LIBRARIES = {".a", ".so", ".lib", ".dll"}
#: Games that are compared with Python's, with options: boards of every kind, and a perceptron.
COMPARED = {"corso": {}, "osiron": {}, "obelisk": {}, "onyx": {"size": 6}}
#: Games of which all levels are played in Node.
PLAYED = {
    **COMPARED,
    "obsidio": {"size": 7},
    "obsidio-all": {},
    "onyx-all": {},
}
GAMES = int(os.environ.get("LUDARIUM_NATIVE_GAMES", "60"))
CALLS = 200_000
TEXTS = 10 * GAMES
ALIGNMENT = 64
_TYPES = {
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "void": ctypes.c_void_p,
    "char": ctypes.c_char_p,
}


class NativeGame:
    """One game of a library, with the functions of its header; errors are their negative codes.

    Args:
        folder: that was exported.
        library: the shared library in it.
    """

    def __init__(self, folder: Path, library: Path) -> None:
        (header,) = folder.glob("*.h")
        self.prefix = header.stem
        text = header.read_text(encoding="utf-8")
        self.codes = {
            name: int(code) for name, code in re.findall(r"LUDARIUM_(\w+) = (-\d+)", text)
        }
        self.options = {
            name: int(number) for name, number in re.findall(r"_OPTION_(\w+) = (\d+)", text)
        }
        self.actions = int(re.findall(r"_ACTIONS (\d+)", text)[0])
        self.slots = int(re.findall(r"_SLOTS (\d+)", text)[0])
        self._library = ctypes.CDLL(str(library))
        for kind, star, name, given in re.findall(
            r"_API (?:const )?(\w+) (\*?)(\w+)\(([^)]*)\)", text
        ):
            function = getattr(self._library, name)
            function.restype = _TYPES[kind] if not star else ctypes.c_char_p
            function.argtypes = [
                ctypes.c_void_p if "*" in each else _TYPES[each.split()[0]]
                for each in given.split(",")
                if each != "void"
            ]
        size = self.call("size", without_buffer=True)
        self._memory = np.zeros(size + ALIGNMENT, np.uint8)
        self.buffer = self._memory.ctypes.data + -self._memory.ctypes.data % ALIGNMENT
        self.size = size
        assert self.call("init", size) == 0

    def call(self, name: str, *arguments: object, without_buffer: bool = False) -> int:
        """Call a function by what follows the prefix; arrays are given by address."""
        given = [each.ctypes.data if isinstance(each, np.ndarray) else each for each in arguments]
        function = getattr(self._library, f"{self.prefix}_{name}")
        return function(*([] if without_buffer else [self.buffer]), *given)

    def mask(self) -> np.ndarray:
        found = np.empty(self.actions, np.uint8)
        count = self.call("legal", found, self.actions)
        assert count == found.sum()
        return found

    def text(self, action: int) -> str:
        found = ctypes.create_string_buffer(1000)
        length = self.call("text", action, ctypes.addressof(found), 1000)
        assert length == len(found.value)
        return found.value.decode()

    def told(self, name: str) -> str:
        """What ``position`` or ``refusal`` writes."""
        found = ctypes.create_string_buffer(100_000)
        assert self.call(name, ctypes.addressof(found), 100_000) == len(found.value)
        return found.value.decode()

    def view(self) -> np.ndarray:
        found = np.zeros(self.slots, np.int32)
        assert self.call("view", found, len(found)) == 0
        return found

    def save(self) -> np.ndarray:
        found = np.zeros(self.call("save_size"), np.uint8)
        assert self.call("save", found, len(found)) == len(found)
        return found

    def think(self, most: int = 1 << 30) -> int:
        """Run the search that has begun to its end; return the action."""
        while (code := self.call("run", most)) == 1:
            pass
        assert code == 0
        return self.call("choose")


on_linux = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="runs x86 Linux code"
)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a game of `COMPARED`, once it is asked for: Corso's is for all targets."""
    linker.find_zig()
    made = tmp_path_factory.mktemp("native")

    @cache
    def folder_of(name: str) -> Path:
        export(name, made / name)
        return made / name

    return folder_of


def export(name: str, folder: Path) -> None:
    """Export a game; ``parts`` has what its library for Linux is linked of."""
    link = linking._linked

    def linked(of: Library, target: Platform, objects: dict, sources: dict) -> dict[str, bytes]:
        if target is TARGETS[LINUX]:
            (folder / "parts").mkdir()
            for file, content in {**objects, **sources}.items():
                content = content.encode() if isinstance(content, str) else content
                (folder / "parts" / file).write_bytes(content)
        return link(of, target, objects, sources)

    targets = TARGETS if name == "corso" else (LINUX, ARM, WINDOWS)
    words = [f"--target={target}" for target in targets]
    words += [f"--option={option}={value}" for option, value in COMPARED[name].items()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linking, "_linked", linked)
        assert main(["export", name, "--as", "c", "--output", str(folder), *words]) == 0


@pytest.fixture
def folder(exported: Callable[[str], Path]) -> Path:
    return exported("corso")


@pytest.fixture
def native(folder: Path) -> NativeGame:
    return game_of(folder)


def game_of(folder: Path) -> NativeGame:
    (library,) = (folder / LINUX).glob("*.so")
    return NativeGame(folder, library)


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("name", COMPARED)
def test_random_games_are_those_of_python(exported, name):
    native, game = game_of(exported(name)), make_game(name, **COMPARED[name])
    for seed in range(GAMES):
        assert native.call("start", seed) == 0
        position = Position(game, seed)
        np.testing.assert_array_equal(native.view(), position.slots())
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
            before = position.copy()
            position.play(action)
            expected = position.slots(action, before)
            np.testing.assert_array_equal(native.view(), expected)
        score = np.zeros(1, np.int32)
        assert native.call("score", score) == 0
        assert (native.call("outcome"), score[0]) == (position.outcome, position.score)
        assert native.call("plies") == position.ply
        assert not native.mask().any()


def _read_in_python(game: Game, text: str) -> tuple[str, str]:
    """The text of a position that was read, or why it is none."""
    try:
        return Position.from_text(game, text).text, ""
    except ValueError as error:
        return "", str(error)


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("name", COMPARED)
def test_positions_are_written_and_read_as_in_python(exported, name):
    native, game = game_of(exported(name)), make_game(name, **COMPARED[name])
    lot = random.Random(name)
    for seed in range(max(2, GAMES // 10)):
        assert native.call("start", seed) == 0
        position = Position(game, seed)
        while not position.is_over:
            text = position.text
            assert native.told("position") == text
            wrong = list(text)
            wrong[lot.randrange(len(wrong))] = lot.choice("0/=,L*")
            wrong = "".join(wrong)
            expected, why = _read_in_python(game, wrong)
            code = native.call("start_at", wrong.encode())
            assert code == (native.codes["POSITION"] if why else 0)
            if why:
                assert native.told("refusal")[:200] in why
            else:
                assert native.told("position") == expected
            assert native.call("start_at", text.encode()) == 0
            position = Position.from_text(game, text)
            for _ in range(3):
                if position.is_over:
                    break
                np.testing.assert_array_equal(native.mask(), position.mask)
                action = lot.choice(position.legal_actions.tolist())
                assert native.call("play", action) == 0
                position.play(action)
            saved, known = native.save(), native.told("position")
            assert known == position.text
            assert native.call("start", 0) == 0
            assert native.call("restore", saved, len(saved)) == 0
            assert native.told("position") == known
            np.testing.assert_array_equal(native.save(), saved)
        assert native.call("outcome") == position.outcome


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("name", COMPARED)
def test_hostile_texts_are_refused_in_a_line_and_change_nothing(exported, name):
    native, game = game_of(exported(name)), make_game(name, **COMPARED[name])
    lot, refused = random.Random(name), 0
    texts = [position.text for position, _ in random_game(game, 3)]
    assert native.call("start_at", texts[-2].encode()) == 0
    saved = native.save()
    for _ in range(TEXTS):
        text = wrong_text(texts, lot).encode(errors="surrogateescape").partition(b"\0")[0]
        code = native.call("start_at", text)
        assert code in (0, native.codes["POSITION"])
        if code:
            refused += 1
            assert native.told("refusal").isprintable()
            np.testing.assert_array_equal(native.save(), saved)
        else:
            assert native.call("restore", saved, len(saved)) == 0
    print(f"{name}: {refused:,} of {TEXTS:,} hostile texts refused")


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("name", ["corso", "osiron"])
def test_what_is_taken_back_and_played_again_is_the_same(exported, name):
    """Also from a start that is not the usual one."""
    native, rng = game_of(exported(name)), np.arange(28, 44)
    assert native.call("start", 5) == 0
    if name == "osiron":
        assert native.call("set_up", b"DLLDLDLLDDLD" * 2) == 0

    def seen() -> list[np.ndarray]:
        """What was saved, but for the random numbers; and the position itself."""
        return [np.delete(native.save(), rng)[:-4], native.view(), native.mask()]

    saves, known = [native.save()], [seen()]
    while native.call("outcome") == 0:
        assert native.call("play", native.call("random_action")) == 0
        saves.append(native.save())
        known.append(seen())
    for before in reversed(known[:-1]):
        assert native.call("take_back") == 0
        for now, then in zip(seen(), before, strict=True):
            np.testing.assert_array_equal(now, then)
    assert native.call("take_back") == native.codes["START"]
    for saved, (_, view, _) in zip(saves, known, strict=True):
        assert native.call("restore", saved, len(saved)) == 0
        np.testing.assert_array_equal(native.save(), saved)
        np.testing.assert_array_equal(native.view(), view)


class Kind(NamedTuple):
    """What a program that plays is made for.

    Attributes:
        target: one of `TARGETS`.
        processor: its number, see ``use_processor``.
        emulators: names of a program that runs it, where it does not run by itself.
    """

    target: str
    processor: int
    emulators: tuple[str, ...] = ()


_QEMU = ("qemu-aarch64-static", "qemu-aarch64")
KINDS = {
    "v2": Kind(LINUX, 0),
    "v3": Kind(LINUX, 1),
    "vnni": Kind(LINUX, 2),
    "neon": Kind(ARM, 0, _QEMU),
    "dotprod": Kind(ARM, 1, _QEMU),
    "windows": Kind(WINDOWS, 0, ("wine64", "wine")),
}


class Seeds:
    """In the place of a generator: the seed that a level takes."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def integers(self, bound: int, size: int) -> np.ndarray:
        return np.full(size, self.seed)


class LevelGame(NamedTuple):
    """A game of two players of a level, with the seed ``1000 * number + ply`` for each move.

    Attributes:
        number: the seed of its start.
        level: from 1 on.
        start: letters for ``set_up``, or ``-``.
    """

    number: int
    level: int
    start: str


def game_played(name: str) -> Game:
    """A game of `PLAYED`; ``-all`` stands for its default board, played by the network for all."""
    return make_game(name.removesuffix("-all"), **PLAYED[name])


@cache
def level_games(name: str, count: int) -> list[LevelGame]:
    """Games at all levels in turn; every second one of Osiron has another setup."""
    levels = len(find_ladder(game_played(name)).levels)
    starts = ["-"] * count
    if name == "osiron":
        rng = np.random.default_rng(1)
        starts[1::2] = ["".join(rng.permutation(list("LLLDDD" * 4))) for _ in starts[1::2]]
    return [LevelGame(number, 1 + number % levels, start) for number, start in enumerate(starts)]


@cache
def level_agent(name: str) -> LevelAgent:
    game = game_played(name)
    path = fitting_agent(game)
    ladder = find_ladder(game)
    network = stored_network(path, game, str(path))
    return LevelAgent(game, network, ladder.levels[0].params, ladder.simulations)


@cache
def actions_of_python(name: str, played: LevelGame) -> list[int]:
    game = game_played(name)
    agent = level_agent(name)
    agent.adjust(find_ladder(game).levels[played.level - 1].params)
    if played.start != "-":
        game = make_game(name, setup=played.start)
    position, actions = Position(game, played.number), []
    while not position.is_over:
        seed = 1000 * played.number + position.ply
        agent.rng = Seeds(seed)
        actions.append(int(agent.search(position.states).actions[0]))
        position.play(actions[-1])
    return actions


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a wine that has started a program.

    Wine goes on making its folder after the first program has begun, and a program that finds half
    of the folder ends with "could not load kernel32.dll".
    """
    program = emulator(KINDS["windows"].emulators)
    env = {"WINEPREFIX": str(tmp_path_factory.mktemp("wine")), "WINEDEBUG": "-all"}
    for _ in range(5):
        with suppress(AssertionError):
            run(program, "cmd", "/c", "ver", env=env)
            return env
        time.sleep(2)
    pytest.skip("wine starts no program here")


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMPARED)
def test_levels_play_the_moves_of_python(exported, name, kind, tmp_path, request):
    """Half of them in a program whose floating-point state is another one, and stays so."""
    target, processor, emulators = KINDS[kind]
    before = [emulator(emulators)] if emulators else []
    env = request.getfixturevalue("wine") if target == WINDOWS else {}
    games = level_games(name, GAMES // (20 if emulators else 4))
    folder = exported(name)
    source = source_for(folder, tmp_path, "native_games.c")
    link_with_zig(folder, target, tmp_path / "games.exe", source)
    played = run(
        *(*before, tmp_path / "games.exe", processor),
        text="".join("{} {} {}\n".format(*game) for game in games),
        env=env,
    )
    if played.startswith("older"):
        pytest.skip("this machine is older")
    assert_played(name, games, played)


def source_for(folder: Path, into: Path, name: str) -> Path:
    """A program in C with the names of the game that was exported to a folder."""
    (header,) = folder.glob("*.h")
    text = (HERE / name).read_text()
    text = text.replace("ludarium_game", header.stem)
    source = into / name
    source.write_text(text.replace("LUDARIUM_GAME", header.stem.upper()))
    return source


def assert_played(name: str, games: list[LevelGame], played: str) -> None:
    lines = played.splitlines()
    assert len(lines) == len(games)
    for game, line in zip(games, lines, strict=True):
        assert [int(word) for word in line.split()] == actions_of_python(name, game), game


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_levels_play_the_moves_of_python_in_node(name, tmp_path):
    need_tools()
    game = game_played(name)
    path = fitting_agent(game)
    of_each = 1 if name.endswith("-all") else 10
    games = level_games(name, of_each * len(find_ladder(game).levels))
    (tmp_path / "module").write_bytes(module_part(game).content())
    network = stored_network(path, game, str(path))
    (tmp_path / "network").write_bytes(network_content(game, network))
    played = run(
        *("node", HERE / "native_games.mjs", tmp_path / "module", tmp_path / "network"),
        ladder_beside(path),
        text="".join("{} {} {}\n".format(*each) for each in games),
    )
    assert_played(name, games, played)


@pytest.mark.slow
def test_two_builds_are_the_same_bytes(exported, tmp_path):
    export("osiron", tmp_path)
    libraries = [path for path in exported("osiron").rglob("*") if path.suffix in LIBRARIES]
    assert len(libraries) == 2 * len((LINUX, ARM, WINDOWS))
    for path in libraries:
        again = tmp_path / path.relative_to(exported("osiron"))
        assert path.read_bytes() == again.read_bytes(), path.name


@pytest.mark.slow
@on_linux
def test_a_search_goes_on_with_another_processor(native):
    assert native.call("begin", 100, 3) == 0
    expected = native.think()
    assert native.call("init", native.size) == 0  # it remembers no answers of the network
    assert native.call("begin", 100, 3) == 0
    for processor in (0, 1, 2, 1, 0):
        assert native.call("run", 7) == 1
        code = native.call("use_processor", processor)
        assert code == 0 or (processor and code == native.codes["PROCESSOR"])
    assert native.think() == expected


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
    native.call("begin", 100, 3)
    while native.call("run", 1) == 1 and native.call("values", values, visits, 25) == 0:
        assert visits.sum() < 100  # so it needs more


def searched(native: NativeGame, **options: float) -> int:
    """Begin a search with options, by their names in the header."""
    numbers = np.array([native.options[name.upper()] for name in options], np.int32)
    return native.call("begin_with", numbers, np.array([*options.values()], float), len(options), 3)


@pytest.mark.slow
@on_linux
def test_a_search_takes_every_option_that_python_has(native):
    settings = SearchSettings(algorithm="puct", simulations=60, c_puct=4, solver=False)
    game, network = game_played("corso"), level_agent("corso")._evaluator
    result = BatchSearch(game, settings).run(game.start(0).states, network)
    assert [*native.options] == [each.name.upper() for each in search_options()]
    assert searched(native, algorithm=1, simulations=60, c_puct=4, solver=0) == 0
    native.think()
    visits = np.zeros(25, np.int32)
    native.call("values", np.zeros(25, np.float32), visits, 25)
    np.testing.assert_array_equal(visits, result.visits[0])
    for name, value in {
        **{"algorithm": 2, "max_considered": 17, "c_puct": 0, "noise": 1.1, "solver": 0.5},
        **{"simulations": 401, "temperature_plies": -1, "score": 1, "value_scale": np.nan},
    }.items():
        assert searched(native, **{name: value}) == native.codes["SETTING"], name


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("name", ["begin", "begin_level"])
def test_a_search_that_did_not_run_forgets_the_one_before(native, name):
    number = native.call("levels", without_buffer=True)
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
def test_a_search_ends_with_its_position_and_none_begins_after_the_end(native):
    saved, text = native.save(), native.told("position").encode()
    others = {"play": (0,), "take_back": (), "start": (0,), "restore": (saved, len(saved))}
    for name, arguments in {**others, "start_at": (text,)}.items():
        assert native.call("begin", 100, 3) == 0
        assert native.call("run", 1) == 1
        assert native.call(name, *arguments) == 0, name
        assert native.call("run", 1) == native.call("choose") == native.codes["NO_SEARCH"], name
    while native.call("outcome") == 0:
        native.call("play", native.call("random_action"))
    refused = [native.call(name, 1, 0) for name in ("begin", "begin_level")]
    refused += [native.call("play", 0), native.call("random_action")]
    assert refused == 4 * [native.codes["OVER"]]


@pytest.mark.slow
@on_linux
def test_each_function_refuses_what_is_wrong(native):
    codes, buffer = native.codes, native.buffer
    levels = native.call("levels", without_buffer=True)
    small = np.zeros(1, np.int32)
    functions = {
        "init": (native.size,), "start": (0,), "set_up": (b"",), "mover": (), "outcome": (),
        "plies": (), "score": (small,), "legal": (small, 25), "play": (0,), "take_back": (),
        "random_action": (), "text": (0, small, 9), "action": (b"a1",), "view": (small, 99),
        "save_size": (), "save": (small, 4), "restore": (small, 4), "begin_level": (1, 0),
        "begin": (1, 0), "run": (1,), "choose": (), "values": (small, small, 25),
        "processor": (), "use_processor": (0,), "start_at": (b"",), "position": (small, 9),
        "refusal": (small, 9), "begin_with": (small, small, 0, 0),
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
        ("NULL", "start_at", None),
        ("POSITION", "start_at", b"5 0"),
        ("POSITION", "start_at", b"5" * 100_000),
        ("NULL", "position", None, 99),
        ("ROOM", "position", small, 4),
        ("ROOM", "refusal", small, 4),
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
        ("LEVEL", "begin_level", levels + 1, 0),
        ("SEED", "begin_level", 1, -1),
        ("SETTING", "begin", 0, 0),
        ("SETTING", "begin", 401, 0),
        ("NULL", "begin_with", small, None, 1, 0),
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
    # that no generator has, or a text of a position that is not there; the search goes on.
    native.call("begin", 100, 3)
    assert native.call("run", 5) == 1
    wrong_parts = [(64, saved[60:64]), (28, bytes(16)), (32, b"\1"), (40, b"\1"), (52, b"\1")]
    for place, content in wrong_parts:
        wrong = saved.copy()
        wrong[place : place + len(content)] = np.frombuffer(content, np.uint8)
        wrong[-4:] = np.frombuffer(np.uint32(zlib.crc32(wrong[:-4])).tobytes(), np.uint8)
        assert native.call("restore", wrong, len(wrong)) == native.codes["SAVE"]
        np.testing.assert_array_equal(native.save(), kept)
    action = native.think()
    native.call("begin", 100, 3)
    assert native.think() == action


def run(*command: object, text: str = "", env: dict[str, str] | None = None) -> str:
    """What a program writes.

    Args:
        command: its words.
        text: for its standard input.
        env: variables besides those of this process.
    """
    made = subprocess.run(
        [str(each) for each in command],
        input=text,
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr + made.stdout
    return made.stdout


@pytest.fixture(scope="session")
def played_in_c(exported: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the program in C writes that comes with the library of Corso."""
    folder = exported("corso")
    program = tmp_path_factory.mktemp("c") / "example"
    library = folder / LINUX / "libludarium_corso.a"
    run("cc", "-std=c11", folder / "example.c", f"-I{folder}", library, "-o", program)
    played = run(program)
    assert "\noutcome" in played
    return played


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("language", ["Python", "Rust", "C#"])
def test_examples_play_the_same_game(folder, played_in_c, language, tmp_path):
    libraries = folder / LINUX
    program = tmp_path / "program"
    if language == "Python":
        command = (sys.executable, EXAMPLES / "opponent.py", libraries / "libludarium_corso.so")
    elif language == "Rust":
        need("rustc")
        linked = ("-L", libraries, "-l", "static=ludarium_corso")
        run("rustc", EXAMPLES / "opponent.rs", "-o", program, *linked)
        command = (program,)
    else:
        need("mcs")
        need("mono")
        run("mcs", EXAMPLES / "Opponent.cs", f"-out:{program}")
        command = ("mono", program)
    assert run(*command, env={"LD_LIBRARY_PATH": str(libraries)}) == played_in_c


@pytest.mark.slow
@on_linux
def test_the_example_in_node_plays_the_same_game(played_in_c, tmp_path):
    need_tools()
    assert build_modules(["corso", "--output", str(tmp_path)]) == 0
    ladder = ladder_beside(fitting_agent(make_game("corso")))
    assert run("node", EXAMPLES / "opponent.mjs", tmp_path / "corso", ladder) == played_in_c


@pytest.mark.slow
@on_linux
def test_the_example_is_the_same_on_arm(folder, played_in_c, tmp_path):
    link_with_zig(folder, ARM, tmp_path / "arm", folder / "example.c")
    assert run(emulator(_QEMU), tmp_path / "arm") == played_in_c


def need(program: str) -> None:
    """Skip the test without this program, or with one that cannot even tell its version."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    if subprocess.run([program, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"{program} is installed, and does not work")


def emulator(names: tuple[str, ...]) -> str:
    """The program of one of these names."""
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        pytest.skip(f"there is no {names[-1]}")
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize("target", [n for n in TARGETS if n not in ("arm64-android", "arm64-ios")])
def test_a_program_is_linked_for_each_target(folder, target, tmp_path):
    link_with_zig(folder, target, tmp_path / "program", folder / "example.c")
    assert (tmp_path / "program").stat().st_size > 100_000


def link_with_zig(folder: Path, target: str, program: Path, source: Path) -> None:
    (library,) = (folder / target).glob("*.a")
    run(
        *(linker.find_zig() / "zig", "cc", "-target", TARGETS[target].zig, source),
        *(f"-I{HERE}", f"-I{folder}", library, "-o", program),
    )


@pytest.mark.slow
@on_linux
def test_the_benchmark_tells_the_time_of_each_level(folder, tmp_path):
    program, library = tmp_path / "native_moves", folder / LINUX / "libludarium_corso.a"
    run(
        *("cc", "-O2", "-Wall", "-Werror", "-DGAME=corso"),
        *("-include", folder / "ludarium_corso.h", BENCHMARK, library, "-o", program),
    )
    lines = run(program, 1, 1).splitlines()
    levels = len(find_ladder(make_game("corso")).levels)
    assert len(lines) % levels == 1
    assert lines[-1].startswith(f"processor 0 level {levels:2}:")


@pytest.mark.slow
@on_linux
def test_random_calls_harm_nothing(exported, tmp_path):
    """Program and glue.c with sanitizers; Osiron is the one with places to set up."""
    program, parts = tmp_path / "fuzz", exported("osiron") / "parts"
    run(
        *("gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DLUDARIUM_BUILD"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{HERE}", f"-I{parts}"),
        *(source_for(exported("osiron"), tmp_path, "native_fuzz.c"), parts / "glue.c"),
        *(*parts.glob("*.o"), "-o", program),
    )
    assert run(program, CALLS, "LLLDDD" * 4).startswith(f"{CALLS} calls")


def library_of_corso(**changes: object) -> Library:
    """What would be exported, its levels with these changes."""
    game = make_game("corso")
    path = fitting_agent(game)
    ladder = replace(find_ladder(game), **changes)
    return Library(game, stored_network(path, game, str(path)), ladder)


def test_there_is_room_for_the_strongest_level():
    assert library_of_corso().limits == LIMITS
    assert library_of_corso(simulations=3000).limits == replace(LIMITS, simulations=3000)


def test_builds_are_told_apart(monkeypatch):
    library, other = library_of_corso(), library_of_corso(simulations=3000)
    ranges = np.ones((2 * len(library.network.blocks), 2), np.float32)
    packed = pack(library.network, ranges, HOST)
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
    monkeypatch.setattr(library.game.rules, "MARBLE", np.broadcast_to(np.arange(2), 2))
    assert build_number(library, [packed]) not in numbers


@pytest.mark.parametrize("simulations", [0, 401])
def test_a_level_without_room_changes_nothing(simulations):
    memory = memory_of(make_game("corso"), LIMITS)
    memory["search"].params["simulations"] = simulations
    arrays = named_arrays("search", memory["search"])
    before = {name: array.tobytes() for name, array in arrays.items()}
    assert kernels.level_begin(memory["game"], memory["search"], 5, 1) == -1
    assert before == {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--as", "c", "--target", "amiga"], "accepted: x86_64-linux"),
        (["--target", LINUX], "--target and --levels are for --as c"),
        (["--as", "c", "--levels", "none.json"], "none.json"),
        (["--as", "c", "--seed", "7"], "--positions and --seed are for --as onnx"),
    ],
)
def test_a_wrong_export_is_told_in_a_line(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "corso", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_game_without_a_small_agent_gets_the_usual_one_and_a_warning(monkeypatch, capsys):
    monkeypatch.setattr("ludarium.cli.export.write_library", lambda *_: [])
    assert main(["export", "pocket:osiron", "--as", "c"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("osiron-c ")
    assert "has no small agent" in told.err


def test_only_a_pocket_agent_makes_a_pocket_library(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ludarium.cli.export.write_library", lambda *_: [])
    own = shutil.copy(shipped_agent("osiron"), tmp_path / "own-pocket.safetensors")
    for agent, folder in ((str(own), "osiron-c "), ("pocket:corso", "corso-pocket-c ")):
        assert main(["export", agent, "--as", "c"]) == 0
        assert capsys.readouterr().out.startswith(folder)


def test_the_folder_of_others_is_left_alone(tmp_path, capsys):
    (tmp_path / "README.md").write_text("mine")
    assert main(["export", "corso", "--as", "c", "--output", str(tmp_path)]) == 2
    assert "holds other files: name a new folder" in capsys.readouterr().err
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("README.md", "mine")]


def test_libraries_of_an_earlier_export_are_not_left_beside_a_new_header(tmp_path, capsys):
    (tmp_path / "ludarium_corso.h").touch()
    (tmp_path / "x86_64-windows").mkdir()
    arguments = ["--as", "c", "--target", "x86_64-linux", "--output", str(tmp_path)]
    assert main(["export", "corso", *arguments]) == 2
    assert "holds libraries for x86_64-windows of an earlier export" in capsys.readouterr().err
