"""Commands tell nobody anything: they open no connection, and write only where they are told to.

Each runs in a process without ``CI``, which hides what some packages do for a person, with a home
folder of its own, but with the compiled games of other tests. Every process that it starts is
watched too.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ludarium.machine import cache
from tests.games import slow_but
from tests.processes import LUDARIUM, ROOT
from tests.tiny_runs import ARGUMENTS

#: What is documented to lie in the home folder: docs/guide/install.md, "What is written where".
CACHES = (
    ".cache/ludarium/",
    ".cache/matplotlib/",
    "AppData/Local/ludarium/",
    "Library/Caches/ludarium/",
)
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
#: Settings of others that would say where files go, or what is sent.
SETTINGS = ("CI", "MPLCONFIGDIR", "XDG_", "ORT_", "RAY_", "HF_", "DO_NOT_TRACK")
PAGE = """
import sys, threading, urllib.request
from pathlib import Path
from ludarium.play.server import PageServer
Path("index.html").write_text("the page")
with PageServer(Path.cwd()) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen(server.address).read() == b"the page"
    server.shutdown()
"""
NO_CLUSTER = """
from ludarium.training.cluster import joined
try:
    with joined("127.0.0.1:1"):
        raise AssertionError("nobody answers there")
except ValueError:
    pass
"""
RUN = ("corso", "--folder=made", "--set=budget={iterations: 1}")
SEARCH = ("--search=learner.learning_rate=0.001,0.002", "--trials=1")
#: What is run, by name: the words of the command line, and what it leaves in the current folder.
COMMANDS = {
    "evaluate": ("evaluate corso --against random --games 2 --simulations 2", []),
    "play": ("play corso --terminal", []),
    "export": ("export corso --output made.onnx", ["made.onnx"]),
    "report": ("report corso --option size=3 --games 4", ["corso.html", "corso.json"]),
    "tournament": ("tournament corso random greedy --games 2 --folder made", ["made"]),
    "train": (shlex.join(["train", *RUN, *ARGUMENTS]), ["made"]),
    "ppo": (shlex.join(["train", *RUN, "--algorithm=ppo", "--option=size=3"]), ["made"]),
    "tune": (shlex.join(["tune", *RUN, *ARGUMENTS, *SEARCH]), ["made"]),
}


class Watched:
    """A folder in which programs run with a home of their own, but with compiled kernels."""

    def __init__(self, folder: Path) -> None:
        self.home, self.temporary, self.here = (folder / name for name in ("home", "tmp", "here"))
        for each in (self.home, self.temporary, self.here):
            each.mkdir()
        self.log = folder / "log"

    def run(self, program: str, arguments: Sequence[str] = ()) -> str:
        """Run a program of Python, which must end well; what it printed."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        folders = dict.fromkeys(("HOME", "USERPROFILE"), str(self.home))
        folders |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary))
        watching = {"PYTHONPATH": str(ROOT / ".ci/watch"), "WATCHED": str(self.log)}
        watching["LUDARIUM_CODE_FOLDER"] = str(cache.folder())
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            cwd=self.here,
            env={**kept, **folders, "LOCALAPPDATA": str(self.home / "AppData/Local"), **watching},
            input="quit\n",
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hosts(self) -> set[str]:
        """Where it connected to or listened, what names it looked up, and who was not silenced."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return {line.split()[1] for line in lines}

    def strange_files(self) -> list[str]:
        """Files in the home folder and the folder for temporary ones that nothing documents."""
        found = [*self.home.rglob("*"), *self.temporary.rglob("*")]
        names = [path.relative_to(self.home.parent).as_posix() for path in found if path.is_file()]
        caches = tuple(f"home/{cache}" for cache in CACHES)
        return [name for name in names if not name.startswith(caches)]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def _check(watched: Watched, made: list[str]) -> None:
    assert watched.hosts() <= LOOPBACK
    assert watched.strange_files() == []
    assert sorted(path.name for path in watched.here.iterdir()) == made


def test_what_a_program_does_is_seen(watched: Watched) -> None:
    """Its own lookups and files, and those of a process that it starts."""
    child = "import socket; socket.getaddrinfo('192.0.2.1', 80)"
    watched.run(
        "import pathlib, subprocess, sys, tempfile\n"
        "(pathlib.Path.home() / '.id').touch()\n"
        "pathlib.Path(tempfile.gettempdir(), 'queue').touch()\n"
        f'subprocess.run([sys.executable, "-c", "{child}"], check=True)'
    )
    assert watched.hosts() == {"192.0.2.1"}
    assert watched.strange_files() == ["home/.id", "tmp/queue"]


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("library", ["onnxruntime", "ray"])
def test_who_may_report_its_use_is_seen(library: str, is_told: bool, watched: Watched) -> None:
    """By the import alone: what a stand-in of the library would send does not matter."""
    package = watched.here / library
    package.mkdir()
    (package / "__init__.py").write_text(f"import {library}.inner\n", encoding="utf-8")
    (package / "inner.py").touch()
    told = "import os; os.environ |= {'ORT_DISABLE_TELEMETRY': '1', 'RAY_USAGE_STATS_ENABLED': '0'}"
    program = f"import importlib; importlib.import_module('{library}')"
    watched.run(f"{told}\n{program}" if is_told else program)
    assert {host.partition(".")[0] for host in watched.hosts()} == (set() if is_told else {library})


@pytest.mark.parametrize(
    ("library", "program"),
    [
        pytest.param(
            "onnxruntime",
            "from ludarium.models.export import _require_onnx; _require_onnx()",
            marks=pytest.mark.slow,
        ),
        ("ray", NO_CLUSTER),
    ],
)
def test_who_reports_its_use_is_told_not_to(library: str, program: str, watched: Watched) -> None:
    pytest.importorskip(library)
    watched.run(f"{program}\nimport sys; assert '{library}' in sys.modules")
    _check(watched, [])


@pytest.mark.parametrize("name", slow_but(["evaluate"], COMMANDS))
def test_commands(watched: Watched, name: str) -> None:
    line, made = COMMANDS[name]
    watched.run(LUDARIUM, shlex.split(line))
    _check(watched, made)


def test_the_page_is_for_this_machine(watched: Watched) -> None:
    watched.run(PAGE)
    assert watched.hosts() == {"127.0.0.1"}
    _check(watched, ["index.html"])


@pytest.mark.slow
def test_a_picture_of_a_game(watched: Watched) -> None:
    words = ["play", "corso", "--terminal", "--json", "--seat", "1"]  # so that a move is played
    record = watched.run(LUDARIUM, words)
    (watched.here / "game.json").write_text(record, encoding="utf-8")
    watched.run(LUDARIUM, ["analyse", "corso", "--record", "game.json", "--picture", "game.svg"])
    _check(watched, ["game.json", "game.svg"])
