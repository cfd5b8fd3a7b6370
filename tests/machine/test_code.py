"""Machine code: made of parts, kept on disk, whatever happens to files, folder or compiler."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludarium.base.storage import cache_folder
from ludarium.cli import starter
from ludarium.envs import GAMES, Game, make_game
from ludarium.envs.corso import rules
from ludarium.envs.engine import compile as compile_module
from ludarium.envs.engine import kernels
from ludarium.envs.engine.compile import sources_of, specialise, unit_of
from ludarium.envs.engine.rule import ONGOING, PLAYER_0_WINS
from ludarium.machine import cache, compiler, recipe, unit
from ludarium.machine.compiler import CompileError
from ludarium.machine.making.exports import undefined_symbols
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit
from ludarium.models.kernels import answers, network_units
from ludarium.play.native.targets import TARGETS
from tests.machine import templates
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
        env=os.environ | {"LUDARIUM_CODE_FOLDER": str(folder), "LUDARIUM_CODE": ""} | environment,
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


def own_unit(*declared: tuple[str, tuple], name: str = "own", subject: str = "") -> Unit:
    """The kernels of `templates`, which need no game."""
    return Unit(name, subject, Recipe(templates.__name__), lambda: declared)


@pytest.fixture
def code_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for compiled code."""
    monkeypatch.setenv("LUDARIUM_CODE_FOLDER", str(tmp_path / "code"))
    return tmp_path / "code"


def test_threads_that_ask_at_once_get_the_same_kernels(monkeypatch):
    make = compile_module.unit_of

    def slowly(*arguments):
        time.sleep(0.05)
        return make(*arguments)

    monkeypatch.setattr(compile_module, "unit_of", slowly)
    monkeypatch.setattr(compile_module, "_specialised", {})
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: specialise(kernels, make_game("corso")), range(4)))
    assert all(each is made[0] for each in made)


def test_threads_that_call_first_at_once_get_results(code_folder: Path) -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(30):
                added = own_unit().kernels["added"]
                assert list(pool.map(added, range(4), range(4))) == [0, 2, 4, 6]
    finally:
        sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache folder with the kernels of a few plies, and what the process said."""
    folder = tmp_path_factory.mktemp("cache")
    output, errors = play(folder)
    assert errors == "ludarium: compiling tictactoe: rules\n"
    assert [file.suffix for file in files_in(folder)] == [".code"]
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
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"numba" + data[5:],
    ],
    ids=["empty", "torn", "one bit", "of another kind"],
)
def test_damaged_code_is_made_anew(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    made: list[object] = []
    compiled = unit.compiled
    monkeypatch.setattr(unit, "compiled", lambda *given: made.append(given) or compiled(*given))
    assert own_unit(("added", (1, 2))).kernels["added"](1, 2) == 3
    (file,) = files_in(code_folder)
    file.write_bytes(damage(file.read_bytes()))
    for _ in range(2):
        assert own_unit(("added", (1, 2))).kernels["added"](1, 2) == 3
    assert len(made) == 2


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
def test_processes_that_compile_at_once_leave_one_file(
    filled: tuple[Path, str], tmp_path: Path
) -> None:
    folder, output = filled
    for process in [start_playing(tmp_path) for _ in range(3)]:
        assert process.communicate()[0] == output
    names = [file.name for file in files_in(folder)]
    assert [file.name for file in files_in(tmp_path)] == names
    assert play(tmp_path) == (output, "")


def test_what_one_compiles_the_others_wait_for(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As processes of a vector environment, or of tests."""
    made: list[object] = []
    compile_it = compiler.compiled
    monkeypatch.setattr(unit, "compiled", lambda *given: made.append(given) or compile_it(*given))
    several = [own_unit(("added", (1, 2))) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda each: each.kernels["added"](1, 2), several)) == [3, 3, 3]
    assert len(made) == 1
    assert [file.suffix for file in files_in(code_folder)] == [".code"]


def test_no_folder_to_write_is_a_warning_and_the_code_is_compiled_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LUDARIUM_CODE_FOLDER", str(Path(__file__) / "no folder"))
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"no folder cannot .*LUDARIUM_CODE_FOLDER") as warned:
        found = [own_unit().kernels["added"](*given) for given in ((1, 2), (2.5, 1.0))]
    assert found == [3, 3.5]
    assert len(warned) == 1


def test_the_folder_is_the_users_cache_but_a_home_that_nobody_has_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("LUDARIUM_CODE_FOLDER", raising=False)
    assert cache.folder() == cache_folder() / "code"
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert cache.folder() is None


def test_a_full_disk_is_a_warning(code_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(unfinished: Path, file: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "take_place", full)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert own_unit(name="full").kernels["added"](1, 2) == 3
    assert files_in(code_folder) == []


def test_code_goes_when_nobody_used_it_for_days(tmp_path: Path) -> None:
    names = {
        "game-play-1.code": 9,
        "game-play-2.code": 1,
        "game-play-3.part": 9,  # left behind by a process that was killed
        "game-play-4.part": 0,
        "game-step-5.code": 9,  # another unit
        "game-play-6.code": 9,  # it is read below
    }
    content = cache.content_of(cache.ObjectCode((), b""))
    for name, days in names.items():
        file = tmp_path / name
        file.write_bytes(content)
        long_ago = time.time() - days * 86_400
        os.utime(file, (long_ago, long_ago))
    assert cache.read_file(tmp_path / "game-play-6.code") is not None
    cache._remove_unused(tmp_path, "game-play")
    assert [file.name[10] for file in files_in(tmp_path)] == ["2", "4", "6", "5"]


# The compiler.


def test_parts_of_another_module_are_compiled_with_integers_of_any_width() -> None:
    shifted = own_unit().kernels["shifted"]
    assert shifted(np.zeros(2, np.int8), np.zeros(2, np.int32)) == 3 << 40


def test_what_cannot_be_compiled_says_so() -> None:
    with pytest.raises(CompileError, match="NRT required"):
        own_unit().kernels["makes_a_list"](1)


def test_mathematics_of_the_system_is_refused() -> None:
    with pytest.raises(CompileError, match="would call tan of the system"):
        own_unit().kernels["tangent"](1.0)


@pytest.mark.parametrize("target", ["x86_64-linux", "x86_64-windows", "arm64-macos"])
def test_mathematics_of_other_systems_is_refused(target: str) -> None:
    each = own_unit(("tangent", (1.0,)))
    with pytest.raises(CompileError, match="would call tan of the system"):
        compiler.compiled(
            *(each.recipe, each.ingredients.digest(), each.ingredients.files(), each.declared()),
            *("v2", "symbol", [TARGETS[target].machine]),
        )


def test_a_long_name_of_an_object_for_windows_is_read_from_its_table() -> None:
    table = struct.pack("<I", 216) + bytes(196) + b"long_enough" + bytes(5)
    symbol = struct.pack("<IIIhHBB", 0, 200, 0, 0, 0, 2, 0)  # its name is at byte 200 of the table
    header = struct.pack("<HHIIIHH", 0x8664, 0, 0, 20, 1, 0, 0)
    assert undefined_symbols(header + symbol + table) == {"long_enough"}


def test_without_the_compiler_kernels_are_plain_python_after_one_warning(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    unit._warn_of_plain.cache_clear()
    added = own_unit(name="plain", subject="this game").kernels["added"]
    told = r"this game has no machine code here, .* plain Python.*pip install 'ludarium\[compile\]'"
    with pytest.warns(RuntimeWarning, match=told) as warned:
        found = [added(*given) for given in ((1, 2), (3, 4))]
    assert found == [3, 7]
    assert len(warned) == 1


def test_what_was_refused_is_not_asked_again(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def refuse(*given: object) -> None:
        asked.append(given)
        raise compiler.NoCompilerError("there is none")

    monkeypatch.setattr(unit, "compiled", refuse)
    kernels = own_unit(("added", (1, 2)), ("shifted", (np.zeros(2), np.zeros(2)))).kernels
    with pytest.warns(RuntimeWarning, match="there is none"):
        assert [kernels["added"](1, number) for number in range(3)] == [1, 2, 3]
    assert len(asked) == 1


def test_functions_of_the_program_that_was_started_are_told_to_be(tmp_path: Path) -> None:
    program = """
import sys
from ludarium.machine.marks import kernel
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit
@kernel
def added(one, other):
    return one + other
print(Unit("own-own", "this", Recipe("__main__"), lambda: ()).kernels["added"](1, 2))
"""
    done = python(program, environment={"LUDARIUM_CODE": ""}, check=True)
    assert done.stdout == "3\n"
    assert "is in the program that was started" in done.stderr


def test_units_are_compiled_side_by_side(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither waits for the other; who waits for one is told."""
    meet, compile_it = threading.Barrier(2), compiler.compiled

    def together(*given: Any) -> Any:
        meet.wait(60)
        return compile_it(*given)

    monkeypatch.setattr(unit, "compiled", together)
    both = [own_unit(("added", (1, 2)), name=f"own-{name}", subject=name) for name in ("a", "b")]
    unit.load_in_background(both)
    assert [each.kernels["added"](1, 2) for each in both] == [3, 3]
    told = capsys.readouterr().err.splitlines()
    assert set(told) <= {f"ludarium: compiling {name}: {name}" for name in ("a", "b")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_during_a_compilation_waits_for_no_thread(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_end, compile_it = threading.Event(), threading.Event(), compiler.compiled

    def slowly(*given: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            has_begun.set()
            may_end.wait(60)
        return compile_it(*given)

    monkeypatch.setattr(unit, "compiled", slowly)
    monkeypatch.setattr(cache, "making", lambda *_: nullcontext())  # the thread never ends here
    one = own_unit(("added", (1, 2)))
    unit.load_in_background([one])
    assert has_begun.wait(60)
    pid = os.fork()
    if pid == 0:
        os._exit(int(one.kernels["added"](1, 2)))
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    finally:
        may_end.set()
    assert one.kernels["added"](1, 2) == 3


def test_a_compiler_that_has_grown_is_replaced(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_MOST_ANSWERS", 1)
    before = len(compiler._children)
    kernels = own_unit().kernels
    assert [kernels["added"](1, 2), kernels["added"](1.5, 2.5)] == [3, 4]
    assert len(compiler._children) <= before


def test_a_source_of_any_encoding_may_be_edited_after_its_import(tmp_path: Path) -> None:
    (tmp_path / "strange.py").write_text(
        "# -*- coding: latin-1 -*-\nfrom ludarium.machine.marks import kernel\n\n\n"
        "@kernel\ndef added(one, other):\n    return one + other  # \u00e4\n",
        encoding="latin-1",
    )
    program = """
import os, sys
from ludarium.machine.recipe import Recipe
from ludarium.machine.unit import Unit
sys.path.insert(0, sys.argv[1])
import strange
os.utime(strange.__file__, (1, 1))
print(Unit("own-own", "", Recipe("strange"), lambda: ()).kernels["added"](1, 2))
"""
    variables = {"LUDARIUM_CODE": "own", "LUDARIUM_CODE_FOLDER": str(tmp_path / "code")}
    done = python(program, tmp_path, environment=variables, check=True)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_a_compiler_that_ends_is_replaced(code_folder: Path) -> None:
    kernels = own_unit().kernels
    assert kernels["added"](1, 2) == 3
    child = compiler._idle[-1]
    child._process.kill()
    child._process.wait()
    assert kernels["added"](1.5, 2.5) == 4
    assert child not in compiler._children


def test_a_compiler_that_was_ended_before_it_was_given_back_is_replaced(code_folder: Path) -> None:
    kernels = own_unit().kernels
    assert kernels["added"](1, 2) == 3
    child = compiler._idle[-1]
    compiler.end_children()
    compiler._give_back(child)
    assert kernels["added"](1.5, 2.5) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_a_compiler_of_its_own(code_folder: Path) -> None:
    kernels = own_unit().kernels
    assert kernels["added"](1, 2) == 3
    pid = os.fork()
    if pid == 0:
        os._exit(int(kernels["added"](1.5, 2.5)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
    assert kernels["added"](np.float32(1), np.float32(2)) == 3


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("LUDARIUM_CODE", "numba", "accepted: plain, own, shipped"),
        ("LUDARIUM_PROCESSOR", "v9", "accepted: v2, v3, v4, vnni, neon, dotprod"),
    ],
)
def test_variables_that_mean_nothing_are_refused(variable: str, value: str, told: str) -> None:
    done = python("from ludarium.envs import make; make('corso')", environment={variable: value})
    assert f"{variable}='{value}' means nothing; {told}" in done.stderr.splitlines()[-1]


def test_games_of_the_same_rules_do_not_share_code() -> None:
    units = [unit_of(kernels, make_game("corso", size=size)) for size in (3, 4)]
    digests = {each.ingredients.digest() for each in units}
    assert len(digests) == 1
    first, second = (each.kernels["perft"] for each in units)
    assert first is not second


# Sources.


def test_sources_have_the_same_digest_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is built here is that of the same sources where they are installed."""
    game = make_game("corso")
    here = sources_of(kernels, game)
    shutil.copy(rules.__file__, tmp_path)
    monkeypatch.setattr(rules, "__file__", str(tmp_path / "rules.py"))
    monkeypatch.setattr(rules, "__cached__", str(tmp_path / "rules.pyc"))
    assert sources_of(kernels, game) == here
    monkeypatch.setattr(rules, "MARBLE", 9)
    assert sources_of(kernels, game) != here


def test_what_kinds_of_processors_stand_for_belongs_to_the_digest() -> None:
    digest = own_unit().ingredients.digest
    assert digest(lambda file: file.name.encode()) != digest(
        lambda file: file.name.replace("machines", "changed").encode()
    )


@pytest.fixture
def shaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of tic-tac-toe with lines in a module `shapes`; what it makes is kept apart."""
    folder = tmp_path / "shaped"
    shutil.copytree(Path(starter.__file__).parent, folder, ignore=lambda *_: ["__pycache__"])
    edit(folder / "rules.py", "tables.lines", "LINES")
    edit(folder / "rules.py", "\nCELLS", "\nfrom .shapes import LINES\n\nCELLS")
    (folder / "templates.py").write_text(
        "from ludarium.machine.marks import kernel\n\n"
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
    monkeypatch.setenv("LUDARIUM_CODE_FOLDER", str(tmp_path / "code"))
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
    digest = sources_of(kernels, game)
    edit(shaped / "shapes.py", "0, 1, 2", "0, 1, 8")
    reload(sys.modules["shaped.shapes"])
    if read == "LINES":
        reload(game.rules)
    states = game.start(0).states
    play = specialise(import_module("shaped.templates"), game).play  # not asked for before
    for action in (0, 3, 1, 4, 2):
        play(game.tables, states, action)
    assert states["outcome"][0] == ONGOING
    changed = make_game("tictactoe")
    assert changed is make_game("tictactoe")
    assert not bottom_row_wins(changed)
    edit(shaped / "shapes.py", "0, 1, 8", "0, 1, 2")  # only the array itself is another
    assert sources_of(kernels, game) != digest


def test_code_is_kept_under_the_sources_that_it_was_imported_from(shaped: Path) -> None:
    """Somebody edits rules while a process runs the old ones, which are compiled only then."""
    kind = import_module("shaped").TicTacToe
    edit(shaped / "rules.py", "if length == 3", "if length == 4")
    assert bottom_row_wins(kind())
    reload(kind.rules)
    assert not bottom_row_wins(kind())


# Without sources.


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


def test_networks_whose_compiler_was_left_out_are_sources_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a frozen program, which has what was imported: shipped code is then believed."""

    def find_spec(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(recipe, "find_spec", find_spec)
    networks = network_units.__wrapped__()["vectors_in_float32"]
    with pytest.raises(OSError, match="No such file"):
        networks.ingredients.digest()


def test_what_has_no_plain_form_names_what_brings_the_compiler(
    code_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDARIUM_CODE", "own")
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    units = network_units.__wrapped__()
    kernel = units["vectors_in_float32"].kernels["vectors_in_float32"]
    with pytest.raises(ValueError, match=r"pip install 'ludarium\[compile\]'"):
        kernel(*answers.arguments())
