"""Copies the sources without Obsidio, whose inventor reserves all rights: the switch for a release.

    python .ci/without_obsidio.py build/without-obsidio

Wheel, sdist, page, site and tests are made in the copy as they are here. Left out are files that
are named after the game, and in the others

- each line that mentions the game, its inventor, or a file that stays behind;
- where such a line of Python opens a bracket, the lines to its end;
- each entry of a JSON list that names the game.

So each mention has to stand on a line that can go. A mention that remains is an error, and no copy
is made. Pictures that show the game among others cannot be searched: they are named here.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Pictures that show the game among others.
PICTURES = tuple(
    f"docs/img/{name}"
    for name in ("ladders.svg", "exact-moves.svg", "page-desktop.png", "run.svg", "threats.png")
)
#: This file and its test have no use without the game.
TOOLS = (".ci/without_obsidio.py", "tests/test_without_obsidio.py")
MENTION = re.compile(rb"obsidio|leduc|pled@", re.IGNORECASE)
TEXT = {".cff", ".in", ".js", ".md", ".mjs", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""}


def sources() -> list[str]:
    """The files that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    return sorted(name for name in listed.decode().split("\0") if (ROOT / name).is_file())


def stays_behind(name: str) -> bool:
    """Whether a file belongs to the game alone, or shows it."""
    return name in PICTURES + TOOLS or MENTION.search(name.encode()) is not None


def as_text(mention: re.Pattern[bytes], others: Sequence[str] = ()) -> re.Pattern[str]:
    """The pattern of a mention in a text, or of the address of a file that stays behind."""
    return re.compile("|".join([mention.pattern.decode(), *map(re.escape, others)]), re.IGNORECASE)


def without_lines(text: str, mention: re.Pattern[str], brackets: bool) -> str:
    """A text without the lines that mention the game and, in code, the brackets that they open."""
    kept, depth = [], 0
    for line in text.splitlines(keepends=True):
        if depth == 0 and not mention.search(line):
            kept.append(line)
        elif brackets:
            depth = max(0, depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")))
    return "".join(kept)


def without_entries(text: str, mention: re.Pattern[str]) -> str:
    """A JSON list without the entries that mention the game, one entry a line."""
    entries = [json.dumps(each, ensure_ascii=False) for each in json.loads(text)]
    return "[\n" + ",\n".join(each for each in entries if not mention.search(each)) + "\n]\n"


def content_without(name: str, content: bytes, mention: re.Pattern[str]) -> bytes:
    """The content of a file in the copy.

    Raises:
        ValueError: it mentions the game in a way that cannot be taken out.
    """
    text = content.decode() if MENTION.search(content) or Path(name).suffix in TEXT else ""
    if mention.search(text):
        if Path(name).suffix == ".json":
            content = without_entries(text, mention).encode()
        elif Path(name).suffix in TEXT:
            content = without_lines(text, mention, name.endswith(".py")).encode()
    if MENTION.search(content):
        raise ValueError(f"{name} mentions Obsidio, and nothing says how to take that out")
    return content


def copy_without(folder: Path) -> int:
    """Write the copy, and list its files for git; the number of files.

    Raises:
        ValueError: something of the game would be left, or the folder is there.
    """
    if folder.exists():
        raise ValueError(f"{folder} is there already: remove it, or name another")
    names = sources()
    left = [name for name in names if stays_behind(name)]
    mention = as_text(MENTION, [name.removeprefix("docs/") for name in PICTURES])
    contents = {
        name: content_without(name, (ROOT / name).read_bytes(), mention)
        for name in names
        if name not in left
    }
    for name, content in contents.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        shutil.copymode(ROOT / name, target)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    return len(contents)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        print(f"{sys.argv[1]}: {copy_without(Path(sys.argv[1]))} files, nothing of Obsidio")
    except ValueError as error:
        sys.exit(str(error))
