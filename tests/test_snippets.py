"""What the documents tell people to type: Python snippets run, command lines are understood."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from ludarium.cli import command_line
from ludarium.cli.modules import describe_modules

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "AGENTS.md", ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
#: Pages whose command lines are checked: also those of figures, agents and games.
_PLACES = ("RELEASING.md", "docs/re*/*.md", "models/shipped/*.md", "envs/*/README.md")
COMMAND_PAGES = [*PAGES, *sorted(page for place in _PLACES for page in ROOT.glob(place))]
#: Pages whose snippets other tests run, or that take long.
_ELSEWHERE = {"new-game.md", "own-network.md"}
_SLOW = {
    *("analysis.md", "arena.md", "exact-values.md", "levels.md", "plugs.md"),
    *("ppo.md", "report.md", "training.md", "wasm.md"),
}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The fenced blocks of a page: language, text, and the last line that is written before."""
    found, inside, before, above = [], None, "", ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if inside is None and line.startswith("```"):
            inside, above, before = (line[3:], []), before, ""
        elif inside is not None and line == "```":
            found.append((inside[0], "\n".join(inside[1]) + "\n", above))
            inside = None
        elif inside is not None:
            inside[1].append(line)
        elif line:
            before = line
    return found


def snippets(page: Path) -> list[str]:
    """The Python of a page, in order, but for what it says is not to be run."""
    return [
        code
        for language, code, above in blocks(page)
        if language == "python" and not above.startswith("<!-- not run:")
    ]


def _pages_with_snippets() -> list[object]:
    pages = [page for page in PAGES if page.name not in _ELSEWHERE and snippets(page)]
    marks = {name: [pytest.mark.slow] for name in _SLOW}
    return [
        pytest.param(page, id=f"{page.parent.name}-{page.name}", marks=marks.get(page.name, ()))
        for page in pages
    ]


@pytest.mark.parametrize("page", _pages_with_snippets())
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order and in one namespace, as somebody would who types them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    for code in snippets(page):
        exec(compile(code, page.name, "exec", dont_inherit=True), namespace)


def command_lines(page: Path) -> list[list[str]]:
    """The ``ludarium`` commands of a page, as words."""
    indented = re.findall(r"^ {4}(ludarium .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    fenced = [
        line.removeprefix("$ ")
        for language, text, _ in blocks(page)
        if language in ("", "bash")
        for line in text.replace("\\\n", " ").splitlines()
    ]
    return [
        shlex.split(line, comments=True)[1:]
        for line in fenced + indented
        if line.startswith("ludarium ")
    ]


@pytest.mark.parametrize("page", COMMAND_PAGES, ids=lambda page: f"{page.parent.name}-{page.name}")
def test_command_lines_are_understood(page: Path) -> None:
    wrong = []
    for words in command_lines(page):
        if words[0].startswith("--"):  # options that import modules of the reader's
            continue
        modules = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        describe_modules(modules)  # which are imported before the command is looked at
        _, others = modules.parse_known_args(words)
        try:
            command_line(others[:1]).parse_args(others)
        except ValueError as error:
            wrong.append((words, str(error)))
    assert not wrong


def test_there_are_snippets_and_command_lines() -> None:
    assert sum(len(snippets(page)) for page in PAGES) > 30
    assert sum(len(command_lines(page)) for page in PAGES) > 100
