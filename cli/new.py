"""``ludarium new``: write a game to begin with."""

from __future__ import annotations

import argparse
import re
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path

from ludarium.base.messages import quoted
from ludarium.envs.engine.check import NAME
from ludarium.envs.registry import GAMES
from ludarium.training.agents.names import find_kind

from . import starter
from .arguments import add_json
from .result import Result

HELP = "write the files of a game of your own, to begin with"
DESCRIPTION = """\
Write a new folder with a game of that name: a small one, tic-tac-toe, that is complete and can be
played at once. In its files CHANGE marks what differs in another game.

  ludarium new noughts                 writes noughts/, with the package noughts/noughts
  cd noughts
  ludarium check noughts               what is wrong with it: nothing yet
  ludarium --game-module noughts play noughts --terminal
  python -m pytest                     its tests
  pip install --editable .             then every command knows it, without --game-module"""

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
dependencies = ["ludarium[compile]"]

[project.entry-points."ludarium.games"]
{name}_v0 = "{name}:{kind}"

[tool.setuptools]
packages = ["{name}"]
package-data = {{ "*" = ["README.md", "lesson.json"] }}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="NAME", help="such as noughts or my_game")
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Write the files.

    Raises:
        ValueError: no game can be called that, or there is something of that name.
    """
    name = given.name
    kind = "".join(word.capitalize() for word in name.split("_"))
    reason = _reason_against(name, kind)
    if reason is not None:
        raise ValueError(f"no game can be called {quoted(name)}: {reason}")
    names = {
        **{"TicTacToe": kind, '"tictactoe"': f'"{name}"', "ludarium.cli.starter": name},
        "Tic-tac-toe": name.replace("_", " ").capitalize(),
    }
    texts = {
        **{f"{name}/{file}.py": _template(file, names) for file in ("__init__", "board", "rules")},
        f"test_{name}.py": _template("test_game", names),
        "pyproject.toml": _PROJECT.format(name=name, kind=kind),
    }
    (Path(name) / name).mkdir(parents=True)
    for file, text in texts.items():
        Path(name, file).write_text(text, encoding="utf-8", newline="\n")
    files = [f"{name}/{file}" for file in texts]
    lines = [*(f"wrote {file}" for file in files), "", *DESCRIPTION.splitlines()[4:]]
    lines = [line.replace("noughts", name) for line in lines]
    return Result({"game": name, "class": kind, "files": files}, "\n".join(lines))


def _reason_against(name: str, kind: str) -> str | None:
    """Why a game cannot be called ``name``, and its class ``kind``; None if it can."""
    if not NAME.fullmatch(name):
        better = re.sub(r"[^a-z0-9]+", "_", name.lower()[:30]).strip("_0123456789")
        return f"write lower-case letters, digits and _, such as {better or 'noughts'}"
    if name in GAMES:
        return "there is a game of that name; ludarium games lists them"
    if find_kind(name) is not None:
        return "agents are called that; ludarium agents lists them"
    if Path(name).exists():
        return "something here is called that; remove it, or take another name"
    if iskeyword(name) or _has_word(kind) or find_spec(name) is not None:
        return "Python has something of that name; take another one"
    return None


def _has_word(kind: str) -> bool:
    """Whether the files of `starter` have a word like the name of the class, ``kind``."""
    texts = (_template(file, {}) for file in ("board", "rules", "test_game"))
    return any(re.search(rf"\b{kind}\b", text) for text in texts)


def _template(file: str, names: dict[str, str]) -> str:
    """A file of `starter`, under other names."""
    assert starter.__file__ is not None
    text = Path(starter.__file__).with_name(f"{file}.py").read_text(encoding="utf-8")
    for old, new in names.items():
        text = text.replace(old, new)
    return text
