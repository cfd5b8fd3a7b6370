"""Compiled kernels: made of parts, kept on disk, whatever happens to the files or the folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, reload
from pathlib import Path
from types import ModuleType

import numba
import numpy as np
import pytest
from numba import njit

from ludarium.base.storage import cache_folder
from ludarium.envs import GAMES, Game, make_game
from ludarium.envs.corso import rules
from ludarium.envs.engine import compile as compile_module
from ludarium.envs.engine import kernels
from ludarium.envs.engine.compile import sources_of, specialise
from ludarium.envs.engine.jit import disk_cache, kernel, part
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS, random_bits, seed_rng
from tests import tictactoe
from tests.processes import python

ROOT = Path(__file__).resolve().parents[2]
PLAY = """
from tests.tictactoe import TicTacToe
position = TicTacToe().start(0)
for action in (4, 0, 8):
    position.play(action)
print(position.mask.tolist(), position.observation(1).tolist())
"""


def start_playing(folder: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PLAY],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder), "NUMBA_DISABLE_JIT": "0"} | environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def play(folder: Path, **environment: str) -> tuple[str, str]:
    """Standard output and standard error of a process that plays some plies."""
    process = start_playing(folder, **environment)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output, errors


def files_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def test_threads_that_ask_at_once_get_the_same_kernels(monkeypatch):
    own = ModuleType("own_rules")  # not asked for before
    vars(own).update({name: value for name, value in vars(rules).items() if name != "__name__"})
    found = compile_module.ingredients

    def slowly(*arguments):
        time.sleep(0.05)
        return found(*arguments)

    monkeypatch.setattr(compile_module, "ingredients", slowly)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: specialise(kernels, own), range(4)))
    assert all(each is made[0] for each in made)


@pytest.mark.parametrize(
    ("module", "game"), [("my_game.rules", "my_game"), ("pack.a_hex.rules", "a_hex"), ("a", "a")]
)
def test_compiling_is_announced_by_the_name_of_the_game(module: str, game: str) -> None:
    own = ModuleType(module)
    vars(own).update({name: value for name, value in vars(rules).items() if name != "__name__"})
    play = specialise(kernels, own).play
    assert getattr(play, "py_func", play).ludarium_subject == game


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache folder with the kernels of a few plies, and what the process said."""
    folder = tmp_path_factory.mktemp("cache")
    output, errors = play(folder)
    assert errors.count("compiling tictactoe") == 1
    assert "compiling tictactoe for this command (up to half a minute)" in errors
    assert {file.suffix for file in files_in(folder)} == {".kernel"}
    return folder, output


# Files.


def test_a_second_process_compiles_nothing(filled: tuple[Path, str]) -> None:
    folder, output = filled
    before = files_in(folder)
    assert play(folder) == (output, "")
    assert files_in(folder) == before


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty", marks=pytest.mark.slow),
        pytest.param(lambda data: data[: len(data) // 2], id="torn"),
        pytest.param(
            lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="one byte", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda data: b"numba" + data[5:], id="of another kind", marks=pytest.mark.slow
        ),
    ],
)
def test_damaged_files_are_compiled_anew(filled: tuple[Path, str], tmp_path: Path, damage) -> None:
    folder, output = filled
    copies = tmp_path / "cache"
    shutil.copytree(folder, copies)
    for file in files_in(copies):
        file.write_bytes(damage(file.read_bytes()))
    again, errors = play(copies)
    assert again == output
    assert errors.count("compiling tictactoe") == 1
    assert play(copies) == (output, "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_process_killed_while_it_compiles_leaves_nothing_that_matters(
    filled: tuple[Path, str], tmp_path: Path
) -> None:
    _, output = filled
    process = start_playing(tmp_path)
    while not files_in(tmp_path) and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    assert play(tmp_path)[0] == output
    assert play(tmp_path) == (output, "")


@pytest.mark.slow
def test_processes_that_compile_at_once_leave_one_file_for_each_kernel(
    filled: tuple[Path, str], tmp_path: Path
) -> None:
    folder, output = filled
    for process in [start_playing(tmp_path) for _ in range(3)]:
        assert process.communicate()[0] == output
    names = [file.name for file in files_in(folder)]
    assert [file.name for file in files_in(tmp_path)] == names
    assert play(tmp_path) == (output, "")


def test_no_folder_to_write_is_a_warning_and_the_code_is_compiled_in_memory(
    filled: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "kernel_folder", lambda: Path(__file__) / "no folder")
    function = kernel(lambda number: number + 1, "no-folder", "sources")
    disk_cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"no folder cannot .*NUMBA_CACHE_DIR") as warned:
        assert (function(1), function(2.5)) == (2, 3.5)
    assert len(warned) == 1


def test_the_folder_is_the_users_cache_but_a_home_that_nobody_has_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert disk_cache.kernel_folder() == cache_folder()
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert disk_cache.kernel_folder() is None


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(disk_cache, "_write", full)
    disk_cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert kernel(lambda number: number + 1, "full", "sources")(1) == 2


def test_code_of_other_sources_goes_when_nobody_used_it_for_days(tmp_path: Path) -> None:
    names = {
        "game-play-old-1.kernel": 9,  # other sources, not used for 9 days
        "game-play-old-2.kernel": 1,
        "game-play-new-3.kernel": 9,  # another option set of the same sources
        "game-play-old-4-abc.part": 9,  # left behind by a process that was killed
        "game-play-old-5-abc.part": 0,
        "game-step-old-6.kernel": 9,  # another kernel
    }
    for name, days in names.items():
        file = tmp_path / name
        file.write_bytes(b"")
        long_ago = time.time() - days * 86_400
        os.utime(file, (long_ago, long_ago))
    disk_cache._remove_unused(tmp_path, "game-play", "new")
    assert {file.name for file in files_in(tmp_path)} == {
        name for name in names if name[-8] in "2356" or "old-5" in name
    } - {"game-play-old-4-abc.part"}


# Parts.


def test_parts_give_the_same_to_everyone_who_calls_them() -> None:
    """Python, a kernel, and compiled functions that numba makes in its own way."""

    @part
    def twice(number):
        return 2 * number

    @part
    def four_times(number):
        return twice(twice(number))

    def entry(number):
        return four_times(number) + twice(number)

    assert four_times(np.int8(100)) == 400
    assert kernel(entry, "parts", "sources")(7) == 42
    assert njit(entry)(7) == 42


def test_a_part_that_python_called_first_still_goes_into_kernels() -> None:
    rngs = seed_rng(3)
    numbers = [random_bits(rngs[0]) for _ in range(3)]
    again = seed_rng(3)
    draw = njit(lambda rngs: random_bits(rngs[0]))
    assert [draw(again) for _ in range(3)] == numbers


def test_integers_of_any_width_make_one_copy_of_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "kernel_folder", lambda: tmp_path)

    @part
    def shifted(number):
        return number << 40

    def entry(narrow, wide):
        return shifted(narrow) + shifted(wide) + shifted(1)

    compiled = kernel(entry, "widths", "sources")
    assert compiled(np.int8(1), np.int64(2)) == 4 << 40
    assert len(shifted._callee.signatures) == 1


def test_sources_have_the_same_digest_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is built here is that of the same sources where they are installed."""
    here = sources_of(kernels, rules)
    shutil.copy(rules.__file__, tmp_path)
    monkeypatch.setattr(rules, "__file__", str(tmp_path / "rules.py"))
    monkeypatch.setattr(rules, "__cached__", str(tmp_path / "rules.pyc"))
    assert sources_of(kernels, rules) == here
    monkeypatch.setattr(rules, "MARBLE", 9)
    assert sources_of(kernels, rules) != here


@pytest.fixture
def shaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of tic-tac-toe with lines in a module `shapes`; what it makes is kept apart."""
    folder = tmp_path / "shaped"
    shutil.copytree(Path(tictactoe.__file__).parent, folder, ignore=lambda *_: ["__pycache__"])
    edit(folder / "rules.py", "tables.lines", "LINES")
    edit(folder / "rules.py", "\nCELLS", "\nfrom .shapes import LINES\n\nCELLS")
    (folder / "templates.py").write_text(
        "from ludarium.envs.engine.compile import kernel\n\n"
        "rules = None\n\n\n"
        "@kernel\ndef play(tables, states, action):\n"
        "    rules.step(tables[0], states[0], action)\n"
    )
    (folder / "shapes.py").write_text(
        "import numpy as np\n\n"
        "LINES = np.array([[0, 1, 2]], np.uint8)\n"
        "LINES.setflags(write=False)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # its clock is too coarse for tests
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    yield folder
    for name in [name for name in sys.modules if name.startswith("shaped")]:
        del sys.modules[name]


def edit(file: Path, old: str, new: str) -> None:
    file.write_text(file.read_text().replace(old, new))


def bottom_row_wins(game: Game) -> bool:
    position = game.start(0)
    position.play_all([0, 3, 1, 4, 2])
    return position.outcome == PLAYER_0_WINS


@pytest.mark.parametrize("read", ["LINES", "shapes.LINES"])
def test_an_array_of_another_module_belongs_to_the_rules_that_read_it(
    shaped: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """After a change its module is reloaded; so are rules that have a name of their own for it."""
    if read != "LINES":
        edit(shaped / "rules.py", "LINES", read)
        edit(shaped / "rules.py", ".shapes import shapes.LINES", ". import shapes")
    monkeypatch.setitem(GAMES, "tictactoe", import_module("shaped").TicTacToe)
    game = make_game("tictactoe")
    assert bottom_row_wins(game)
    digest = sources_of(kernels, game.rules)
    edit(shaped / "shapes.py", "0, 1, 2", "0, 1, 8")
    reload(sys.modules["shaped.shapes"])
    if read == "LINES":
        reload(game.rules)
    states = game.start(0).states
    play = specialise(import_module("shaped.templates"), game.rules).play  # not asked for before
    for action in (0, 3, 1, 4, 2):
        play(game.tables, states, action)
    assert states["outcome"][0] == ONGOING
    changed = make_game("tictactoe")
    assert changed is make_game("tictactoe")
    assert not bottom_row_wins(changed)
    edit(shaped / "shapes.py", "0, 1, 8", "0, 1, 2")  # only the array itself is another
    assert sources_of(kernels, game.rules) != digest


def test_code_is_kept_under_the_sources_that_it_was_imported_from(shaped: Path) -> None:
    """Somebody edits rules while a process runs the old ones, which are compiled only then."""
    kind = import_module("shaped").TicTacToe
    edit(shaped / "rules.py", "if length == 3", "if length == 4")
    assert bottom_row_wins(kind())
    reload(kind.rules)
    assert not bottom_row_wins(kind())


# Without sources.


@pytest.mark.xfail(
    strict=True,
    reason="the digest of compiled code is made of source files, which frozen programs lack",
)
def test_a_game_is_played_where_only_byte_code_is(tmp_path: Path) -> None:
    """As in a frozen program: modules come from an archive that has no sources."""
    archive = tmp_path / "frozen.zip"
    with zipfile.PyZipFile(archive, "w") as frozen:
        frozen.writestr("ludarium/__init__.py", "")
        frozen.writepy(str(ROOT / "envs"), "ludarium")
    program = """
from ludarium import envs
assert "frozen.zip" in envs.__file__ and envs.__file__.endswith(".pyc")
env = envs.make("corso", size=2)
env.reset(seed=1)
env.step(0)
"""
    environment = {"PYTHONPATH": str(archive), "LUDARIUM_CODE": "plain"}
    python(program, environment=environment, cwd=tmp_path, check=True)
