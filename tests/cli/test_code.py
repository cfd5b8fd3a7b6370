"""``ludarium code``: games compiled beforehand, and the cache."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from ludarium.arena.units import OF_GAMES, TEMPLATES
from ludarium.cli import code, main
from ludarium.envs.engine.compile import unit_of
from ludarium.training.evaluation.kernels import match

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and games of few units."""
    monkeypatch.setenv("LUDARIUM_CODE_FOLDER", str(tmp_path / "code"))
    monkeypatch.setattr(code, "units_of", lambda game: [unit_of(match, game)])
    monkeypatch.setattr(code, "network_units", dict)
    return tmp_path / "code"


def test_a_game_is_compiled_beforehand_listed_and_cleared(
    few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["code", "corso", "--option", "size=3"]
    assert main(line) == 0
    told = capsys.readouterr()
    assert told.err == "corso: matches, 1 of 1\n"
    assert told.out == "Corso(size=3): all code is ready, 1 units\n"
    (file,) = few.iterdir()
    assert main(line) == 0
    assert list(few.iterdir()) == [file]

    capsys.readouterr()
    size = file.stat().st_size
    assert main(["code", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    name = file.stem.rpartition("-")[0]
    assert data["code"] == [{"name": name, "files": 1, "bytes": size}]
    assert main(["code", "--clear"]) == 0
    assert f"1 file, {size / 1e6:.1f} MB removed from {few}" in capsys.readouterr().out
    assert not list(few.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("corso --clear", "leave out the game"),
        ("--option size=3", "name one"),
        ("corso --option size=99", "size"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: str, told: str, few: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["code", *words.split()]) == 2
    assert told in capsys.readouterr().err
    assert not few.exists()


def test_every_template_module_is_listed() -> None:
    """A module left out would be compiled by everybody who installs a wheel, at first use."""
    found = {
        import_module(".".join(["ludarium", *file.relative_to(ROOT).with_suffix("").parts]))
        for room in ("envs", "training", "analysis", "arena")
        for file in (ROOT / room).rglob("*.py")
        if re.search(r"^@(brief_)?kernel$", file.read_text("utf-8"), re.MULTILINE)
    }
    assert found == {*TEMPLATES, *OF_GAMES.values()}
    assert all(hasattr(each, "arguments") for each in found)
