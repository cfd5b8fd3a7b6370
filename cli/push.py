"""``ludarium push``: put an agent, or the exact tests, on the Hugging Face Hub."""

from __future__ import annotations

import argparse
import re
from importlib.resources import files
from pathlib import Path

from ludarium.envs.engine.console import output
from ludarium.envs.engine.files import MEGABYTE, read_regular_file
from ludarium.envs.engine.messages import quoted
from ludarium.envs.registry import GAMES
from ludarium.models import CheckpointHeader, load_header
from ludarium.training.agents import hub
from ludarium.training.agents.names import read_trained_agent

from .arguments import add_options
from .common import read_options

HELP = "put an agent on the Hugging Face Hub"
DESCRIPTION = """\
Put an agent on the Hugging Face Hub, with a card that describes it. Others then name it
hf:OWNER/NAME wherever an agent is named.

  ludarium push runs/corso me/my-corso           the agent of a run
  ludarium push corso me/corso --private         a shipped one, with its page as the card
  ludarium push --exact-tests me/exact-tests     positions with exact values, as a data set

A missing repository is created; in an existing one the files are replaced. Log in to the hub once:
`hf auth login`. The client library comes with pip install "ludarium[hub]"."""

_LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "agent", nargs="?", metavar="AGENT", help="a checkpoint, a run's folder, or a game's name"
    )
    parser.add_argument("repository", metavar="OWNER/NAME", help="the repository on the hub")
    parser.add_argument("--exact-tests", action="store_true", help="push these, not an agent")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    parser.add_argument(
        "--card", type=Path, metavar="FILE", help="a Markdown file to use as the card"
    )
    add_options(parser)


def run(given: argparse.Namespace) -> int:
    """Put the files on the hub, and print the address."""
    if given.exact_tests == (given.agent is not None):
        raise ValueError("give either an agent or --exact-tests")
    card = None if given.card is None else _read_card(given.card)
    if given.exact_tests:
        folder = files("ludarium.analysis.exact_tests").joinpath("hard")
        tests = {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}
        contents = {"README.md": (card or tests_card(sorted(tests))).encode(), **tests}
        kind = "dataset"
    else:
        path = read_trained_agent(given.agent).checkpoint_path(read_options(given.option))
        card = card or agent_card(path, load_header(path), given.repository)
        contents = {"README.md": card.encode(), hub.FILE: path.read_bytes()}
        kind = "model"
    output(hub.push(contents, given.repository, kind, given.private))
    return 0


def _read_card(path: Path) -> str:
    content = read_regular_file(path, MEGABYTE, "a card")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"the card {quoted(str(path), 100)} is not UTF-8 text") from None


def agent_card(path: Path, header: CheckpointHeader, repository: str) -> str:
    """The card of an agent, from the Markdown file beside it, or else from its header."""
    game = GAMES[header.game]
    beside = path.with_suffix(".md")
    if beside.is_file():
        told = _LINK.sub(r"\1", beside.read_text(encoding="utf-8")).partition("\n")[2].strip()
    else:
        options = ", ".join(f"{name} {value}" for name, value in header.options.items())
        told = (
            "| | |\n|---|---|\n"
            f"| game | {game.title}, version {header.version}: {options or 'default options'} |\n"
            f"| network | {header.architecture} |\n"
            f"| learner steps | {header.step:,} |"
        )
    tags = ["ludarium", "reinforcement-learning", "board-games", "self-play", header.game]
    return "\n".join(
        [
            "---",
            "library_name: ludarium",
            "license: mit",
            f"tags: [{', '.join(tags)}]",
            "---",
            "",
            f"# {game.title}, an agent",
            "",
            f"{game.summary} {game.credit}".strip(),
            "",
            told,
            "",
            "## Use",
            "",
            "```",
            'pip install "ludarium[hub]"',
            f"ludarium play hf:{repository}",
            f"ludarium evaluate hf:{repository} --against uct:1000",
            "```",
            "",
        ]
    )


def tests_card(names: list[str]) -> str:
    """The card of the exact tests, which lets the hub show each file as a separate table."""
    configurations = [
        f"- config_name: {name.removesuffix('.test.jsonl')}\n  data_files: {name}" for name in names
    ]
    return "\n".join(
        [
            "---",
            "license: mit",
            "tags: [ludarium, board-games, exact-values]",
            "configs:",
            *configurations,
            "---",
            "",
            "# Positions with exact values",
            "",
            "Late positions that searches often get wrong, each with the actions that keep its",
            "value and what it is worth with best play. A line is a game, with its positions.",
            "",
            "```",
            "ludarium accuracy corso --test hard",
            "```",
            "",
            "```python",
            "from ludarium.analysis.exact_tests import read_exact_test",
            "```",
            "",
        ]
    )
