"""The switch for a release without Obsidio leaves nothing of it, and all else whole."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORDS = (b"obsidio", b"leduc")


SWITCH = SimpleNamespace(**run_path(str(ROOT / ".ci/without_obsidio.py")))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without") / "sources"
    SWITCH.copy_without(folder)
    return folder


def _told(name: str, content: bytes) -> bool:
    return any(word in name.encode().lower() + b"\0" + content.lower() for word in WORDS)


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


@pytest.mark.slow
def test_nothing_is_left_of_the_game(copy: Path) -> None:
    files = _files(copy)
    assert [name for name, content in files.items() if _told(name, content)] == []
    assert not set(SWITCH.PICTURES) & set(files)
    assert any(_told(name, (ROOT / name).read_bytes()) for name in SWITCH.sources())


@pytest.mark.slow
def test_what_is_left_is_whole(copy: Path) -> None:
    """Programs and data can be read, pages have no list or table torn apart."""
    files = _files(copy)
    kept = {name for name in SWITCH.sources() if not SWITCH.stays_behind(name)}
    assert set(files) == kept
    for name, content in files.items():
        if name.endswith(".py"):
            ast.parse(content, name)
        elif name.endswith((".json", ".ipynb")) and "damage" not in name:
            json.loads(content)
        elif name.endswith(".toml"):
            tomllib.loads(content.decode())
    lint = [sys.executable, "-m", "ruff"]
    for words in (["check", "--quiet", "."], ["format", "--check", "--quiet", "."]):
        done = subprocess.run([*lint, *words], cwd=copy, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_the_other_games_are_there_and_documents_lead_somewhere(copy: Path, tmp_path: Path) -> None:
    rooms = tmp_path / "ludarium"
    rooms.mkdir()
    for marker in copy.glob("*/py.typed"):
        (rooms / marker.parent.name).symlink_to(marker.parent)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import ludarium; ludarium.__path__ = [sys.argv[1] + '/ludarium']\n"
        "from ludarium.envs import GAMES; print(*GAMES)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["corso", "onyx", "osiron", "obelisk"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "tests/test_docs.py", "-k", "link or site"],
        cwd=copy, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_a_mention_that_cannot_go_is_an_error() -> None:
    mention = SWITCH.MENTION
    with pytest.raises(ValueError, match=r"a\.svg mentions Obsidio"):
        SWITCH.content_without("a.svg", b"<text>Obsidio</text>", SWITCH.as_text(mention))
    for name, before, after in (
        ("a.py", b"x = [\n    1,\n    obsidio(\n        2\n    ),\n]\n", b"x = [\n    1,\n]\n"),
        ("a.md", b"in Corso\nand (Obsidio,\nand more\n", b"in Corso\nand more\n"),
        ("a.json", b'[{"game": "obsidio"}, {"game": "corso"}]', b'[\n{"game": "corso"}\n]\n'),
    ):
        assert SWITCH.content_without(name, before, SWITCH.as_text(mention)) == after
