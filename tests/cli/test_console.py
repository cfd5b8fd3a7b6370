"""What is printed: names are text, any stream will do, and what cannot be written is told."""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from ludarium.base.console import plain_column, plain_console, say
from ludarium.base.durable import StorageError, write_file
from ludarium.base.storage import writing
from ludarium.cli import main
from ludarium.cli.arguments import output_file
from ludarium.training.table import text_table
from tests.processes import LUDARIUM, ROOT, python

PACKAGES = (
    "analysis",
    "arena",
    "base",
    "cli",
    "configs",
    "envs",
    "language",
    "models",
    "play",
    "training",
)
NAMES = ("uct:100:smile:", "runs[lr=0.1]", "x[/b]", "[red]y")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")


def test_consoles_and_columns_of_texts_are_made_in_one_place() -> None:
    makers = set()
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_rich = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rich")
            if is_rich and {"Console", "TextColumn"} & {each.name for each in node.names}:
                makers.add(path.relative_to(ROOT).as_posix())
    assert makers == {"base/console.py"}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_as_they_are(name: str) -> None:
    from rich.progress import Progress

    shown = io.StringIO()
    console = plain_console(file=shown, width=200, force_terminal=True, color_system=None)
    console.print(name)
    with Progress(plain_column("{task.description}"), console=console) as bar:
        bar.add_task(name)
    assert shown.getvalue().count(name) >= 2
    assert name in text_table(["name"], [[name]], terminal=True)


def run_unread(program: str, stream: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """Run a program one of whose streams nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: writer}
    done = subprocess.run(
        [sys.executable, "-c", program],
        text=True,
        **{**streams, **settings},  # type: ignore[call-overload]
    )
    os.close(writer)
    return done


@pytest.mark.parametrize(
    "color",
    [pytest.param("", marks=pytest.mark.slow), "1"],  # 1: the stream is taken for a terminal
)
def test_a_run_and_a_progress_bar_go_on_where_nobody_reads_them(tmp_path: Path, color: str) -> None:
    program = f"""
from pathlib import Path
from ludarium.cli.progress import shown_progress
from ludarium.training.runs.folder import RunFolder
from ludarium.training.runs.reporting import RunLog, columns_of
with shown_progress() as progress:
    RunLog(RunFolder(Path({str(tmp_path)!r})), columns_of("alphazero"), progress).close()
    progress.begin("games", 10)
    progress.advance(1)
    progress.say("a message")
print("goes on")
"""
    done = run_unread(program, "stderr", env={**os.environ, "FORCE_COLOR": color})
    assert done.stdout == "goes on\n"
    assert done.returncode == 0


def test_a_game_in_a_terminal_that_is_gone_is_saved(tmp_path: Path) -> None:
    program = (
        "import sys; from ludarium.cli import main\n"
        "sys.exit(main(['play', 'corso', '--terminal', '--option', 'size=3', '--opponent', "
        "'random', '--seat', '1']))"
    )
    done = run_unread(program, "stdout", cwd=tmp_path, input="a1\n")
    (saved,) = tmp_path.glob("ludarium-corso-*.json")
    assert len(json.loads(saved.read_text())["moves"]) == 1
    assert done.returncode == 130, done.stderr


@pytest.mark.slow
def test_a_table_in_a_terminal_that_is_gone_does_not_end_the_thinking() -> None:
    program = (
        "import sys; from ludarium.cli import main\n"
        "sys.exit(main(['analyse', 'corso', '--agent', 'uct:500', '--json']))"
    )
    done = run_unread(program, "stderr", env={**os.environ, "FORCE_COLOR": "1"})
    assert json.loads(done.stdout)["simulations"] == 500
    assert done.returncode == 0


@needs_full
@pytest.mark.parametrize("word", ["games", "--help"])
def test_a_full_disk_is_told_and_no_success(word: str) -> None:
    with open("/dev/full", "w") as full:
        done = python(LUDARIUM, word, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "ludarium: cannot write standard output (No space left on device)\n"


@pytest.mark.parametrize("line", ["agents", "--help", "analyse corso --agent=greedy"])
def test_a_reader_that_is_gone_ends_a_command_in_silence(line: str) -> None:
    """As in ``ludarium agents | head -1``; the status is what shells have for such programs."""
    reader, writer = os.pipe()
    os.close(reader)
    done = python(LUDARIUM, *line.split(), stdout=writer)
    os.close(writer)
    assert done.returncode == 141
    assert "pipe" not in done.stderr


_PLAY = ("play", "corso", "--terminal", "--opponent", "random", "--seat", "0")


@pytest.mark.skipif(os.name != "posix", reason="streams are closed as a shell does")
@pytest.mark.parametrize(
    ("arguments", "closed", "status", "told"),
    [
        (_PLAY, [0], 0, ""),
        (_PLAY[:2] + _PLAY[3:], [0], 0, ""),
        (("engine", "corso", "--agent", "uct:8"), [0], 0, "is ready"),
        (_PLAY, [2], 0, ""),
        (("games",), [1], 2, "cannot write standard output"),
        (_PLAY, [1], 130, "the terminal is gone"),
        (("games",), [0, 1, 2], 2, ""),
    ],
)
def test_a_closed_input_is_empty_and_a_closed_output_an_error(
    arguments: tuple[str, ...], closed: list[int], status: int, told: str, tmp_path: Path
) -> None:
    line = " ".join([f'exec "{sys.executable}" "$@"', *(f"{stream}>&-" for stream in closed)])
    done = subprocess.run(
        ["sh", "-c", line, "sh", "-c", LUDARIUM, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == status, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="others keep the current folder")
def test_a_current_folder_that_was_deleted_is_told_in_a_line(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", sys.executable, "-c", "import ludarium.cli"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ludarium: the current folder was deleted")
    assert len(done.stderr.splitlines()) == 1


def test_a_game_is_saved_under_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    done = python(
        *(LUDARIUM, *_PLAY),
        cwd=tmp_path,
        input=os.fsdecode(b"save a\xff.json\n"),
        errors="surrogateescape",
    )
    assert done.returncode == 0, done.stderr
    assert list(os.listdir(os.fsencode(tmp_path))) == [b"a\xff.json"]


@needs_full
def test_an_engine_ends_where_its_answers_cannot_be_written() -> None:
    query = json.dumps({"id": "a", "moves": [], "simulations": 8})
    with open("/dev/full", "w") as full:
        done = python(
            LUDARIUM, "engine", "corso", "--agent", "uct:8", stdout=full, input=query + "\n"
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("ludarium: cannot write standard output")
    assert "Traceback" not in done.stderr


@needs_full
def test_messages_that_nobody_can_read_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        say("lost")
        monkeypatch.setattr(sys, "stderr", None)
        say("lost")
        monkeypatch.undo()
        with open("/dev/null", "w") as nowhere:
            os.dup2(nowhere.fileno(), full.fileno())


@needs_full
def test_a_device_is_no_file_to_be_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, picture = tmp_path / "device.html", tmp_path / "device.png"
    for device in (page, picture):
        os.mkfifo(device)
        with pytest.raises(StorageError, match="regular file"):
            write_file(device, b"")
    words = ("report corso --output", "levels corso --measure --output", "accuracy corso --save")
    words += ("export corso --output", "render game.json --output")
    for each in words:
        assert main([*each.split(), str(picture if "render" in each else page)]) == 2
        assert "is not a regular file" in capsys.readouterr().err
    assert page.is_fifo()
    assert picture.is_fifo()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused_before_any_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Exception, match="not writable"):
        output_file()(str(tmp_path / "x"))


@pytest.mark.parametrize("suffixes", [(), (".svg",)])
def test_an_output_file_without_a_name_is_refused(suffixes: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentTypeError, match="the name of the file is empty"):
        output_file(*suffixes)("")


def test_an_error_while_a_file_is_written_names_it() -> None:
    with pytest.raises(OSError, match=r"cannot write some/file \(No space"), writing("some/file"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"PYTHONIOENCODING": "ascii"},
        pytest.param(
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, marks=pytest.mark.slow
        ),
    ],
)
def test_any_name_and_any_encoding_will_do(settings: dict[str, str], tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff[/b].json")
    done = python(
        LUDARIUM, "analyse", "corso", "--record", name, environment=settings, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith("ludarium: there is no file \\udcff[/b].json")
    shown = python(LUDARIUM, "games", environment=settings, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr


_WAITS = """
import signal, sys, tempfile, time
from ludarium import cli

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup, which ignores it

def wait(arguments):
    with tempfile.TemporaryDirectory(prefix="ludarium-") as folder:
        print(folder, flush=True)
        time.sleep(60)

cli._run = wait
sys.exit(cli.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_leaves_no_temporary_folder(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WAITS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert folder.is_dir()
        process.send_signal(number)
        assert process.wait(60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "\nludarium: stopped\n"
    assert not folder.exists()


_NOHUP = """
import os, signal, sys
from ludarium import cli

signal.signal(signal.SIGHUP, signal.SIG_IGN)

def hear(arguments):
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")
    return 0

cli._run = hear
sys.exit(cli.main())
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_command_under_nohup_goes_on_when_its_terminal_is_closed() -> None:
    done = python(_NOHUP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


def test_a_setting_that_is_not_utf_8_is_refused_in_a_line(tmp_path: Path) -> None:
    words = ("train", "corso", "--folder", "x", "--set", os.fsdecode(b"x\xff=1"))
    done = python(LUDARIUM, *words, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
