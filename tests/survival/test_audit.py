"""Nothing executes: while hostile files are read, nothing is imported, run, written or connected.

In a process of its own, for an audit hook cannot be taken out again.
"""

from __future__ import annotations

import pytest

from tests.processes import ROOT, python

#: What no reader may do. Opening files is only watched for names and modes.
PROGRAM = r"""
import os, random, sys, tempfile
from pathlib import Path
from tests.survival.readers import READERS, hostile
from tests.tictactoe import TicTacToe

CASES = int(sys.argv[1])
FORBIDDEN = ("exec", "compile", "import", "subprocess.", "os.system", "os.exec", "os.posix_spawn",
    "os.spawn", "os.fork", "os.startfile", "socket.", "ctypes.", "pickle.", "marshal.", "code.",
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink",
    "os.truncate", "shutil.", "urllib.", "webbrowser.", "sys.addaudithook", "ftplib.", "smtplib.",
    "http.", "os.putenv", "os.kill", "signal.", "sqlite3.")
watching, seen = False, set()

def hook(event, arguments):
    if not watching:
        return
    if event == "open":
        path, mode, flags = arguments
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        own = str(path).startswith((str(folder), sys.prefix, sys.base_prefix, ROOT, *MEMORY))
        if writes or not (own or isinstance(path, int)):
            seen.add(f"open {path!r} {mode!r}")
    elif event == "compile" and arguments[1] == "<unknown>":
        pass  # numpy reads an array's header by ast.literal_eval, which makes a tree and no code
    elif event.startswith(FORBIDDEN):
        seen.add(f"{event} {str(arguments)[:200]}")

ROOT = sys.argv[2]
MEMORY = "/proc/meminfo", "/sys/fs/cgroup/"  # how much is free, before a reader takes some
folder = Path(tempfile.mkdtemp())
sys.addaudithook(hook)
position = TicTacToe().start()
position.play(0)
position.refusal(0)
for reader in READERS:
    good = reader.good()
    path = folder / (reader.file or "file")
    for content in good:  # what is imported at the first use of all
        path.write_bytes(content)
        reader.read(path)
    for seed in range(-20, CASES):
        path.write_bytes(hostile(reader, good, seed))
        watching = seed >= 0
        try:
            reader.read(path)
        except Exception:
            pass
        watching = False
    print(reader.name, *sorted(seen), sep="\n  ")
    if seen:
        sys.exit(1)
watching = True
try:
    exec("1")
finally:
    watching = False
assert seen, "the hook sees nothing"
"""


@pytest.mark.parametrize("cases", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_nothing_executes_while_hostile_files_are_read(cases: int) -> None:
    done = python(PROGRAM, cases, ROOT, cwd=ROOT, environment={"LUDARIUM_CODE": "plain"})
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
