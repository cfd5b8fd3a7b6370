"""Acts like somebody who has installed ludarium: run it outside a clone, with the package.

    python newcomer.py            README's Python and a look around, with no extra
    python newcomer.py --typed    a program under mypy --strict (mypy is installed)
    python newcomer.py --train    a short run and a match (ludarium[export] is installed)
    python newcomer.py --page     the page that the wheel holds is served

Everything happens in a new folder, which is also the home folder, and without CI in the
environment, because that keeps some packages from reporting their use. It fails if a file is left
outside the documented folders, or if a process connected to another machine. With a wheel, or
without a compiler, it fails if any machine code is used but the wheel's.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
COMMAND = shutil.which("ludarium", path=sysconfig.get_path("scripts")) or "ludarium"
#: The folders where files are expected, by system: see docs/guide/install.md.
CACHES = (
    ".cache/ludarium",
    ".cache/matplotlib",
    "Library/Caches/ludarium",
    "AppData/Local/ludarium",
    "runs",
)

LOOK_AROUND = (
    "--help",
    "--version",
    "games",
    "agents",
    "probe osiron --moves b1-c1",
)
TRAIN = (
    "train corso --set budget.iterations=1 --set bootstrap.positions=500 --folder runs/try",
    "evaluate runs/try --against random --games 4",
    "evaluate corso --against random --games 4",
    "export corso",
)
TYPED = """\
from ludarium.envs import corso_v0, make_game

env = corso_v0.env(size=5, render_mode="ansi")
env.reset(seed=1)
position = make_game("onyx", size=6).start()
moves: list[str] = [position.action_to_text(int(action)) for action in position.legal_actions]
"""


def run(*words: str) -> None:
    """Run a command, which must succeed."""
    print("$", *words, flush=True)
    subprocess.run(words, check=True)


def run_readme() -> None:
    """Run the Python blocks of README.md in order."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert blocks, f"{README} has no Python"
    Path("readme.py").write_text("\n".join(blocks), encoding="utf-8")
    run(sys.executable, "readme.py")
    Path("readme.py").unlink()


def check_types() -> None:
    """Check a user's program as strictly as possible."""
    Path("mine.py").write_text(TYPED, encoding="utf-8")
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "mine.py")
    Path("mine.py").unlink()


def look_at_page() -> None:
    """Check that the page is served, and has every game."""
    words = [COMMAND, "play", "corso", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split("#")[0].strip()
            for name in ("index.html", "games/index.json", "site.json"):
                with urllib.request.urlopen(address + name, timeout=30) as answer:
                    content = answer.read()
            listed = json.loads(content)["files"]
            print(f"{address} has {len(listed)} files")
        finally:
            server.terminate()
    assert any(name.endswith(".wasm") for name in listed)


def has_machine_code() -> bool:
    """Whether the package has machine code: it comes from a wheel rather than from sources."""
    found = importlib.util.find_spec("ludarium.machine")
    assert found is not None, "ludarium is not installed"
    return any(Path(folder, "shipped").exists() for folder in found.submodule_search_locations)


def main() -> None:
    """Run one of the parts in a new home folder."""
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Path(name).resolve()
        os.chdir(home)
        for variable in ("HOME", "USERPROFILE"):
            os.environ[variable] = name
        os.environ["LOCALAPPDATA"] = str(home / "AppData/Local")
        for variable in ("CI", "XDG_CACHE_HOME"):
            os.environ.pop(variable, None)
        if has_machine_code() or importlib.util.find_spec("numba") is None:
            os.environ["LUDARIUM_CODE"] = "shipped"
        os.environ |= {"PYTHONPATH": str(HERE / "watch"), "WATCHED": str(home / "watched")}
        if part == "--typed":
            check_types()
        elif part == "--page":
            look_at_page()
        else:
            if part == "":
                run_readme()
            for line in TRAIN if part == "--train" else LOOK_AROUND:
                run(COMMAND, *line.split())
        watched = home / "watched"
        lines = watched.read_text(encoding="utf-8").splitlines() if watched.exists() else []
        others = [line for line in lines if line.split()[1] not in ("127.0.0.1", "::1")]
        assert not others, f"connections to other machines: {others}"
        watched.unlink(missing_ok=True)
        left = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
        strange = [path for path in left if not path.startswith(CACHES)]
        assert strange in ([], ["corso.onnx"]), f"files outside the named folders: {strange}"
        os.chdir(README.parent)


if __name__ == "__main__":
    main()
