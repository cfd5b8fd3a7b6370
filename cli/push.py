"""``ludarium push``: put an agent on the Hugging Face Hub."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ludarium.base.console import output
from ludarium.base.files import MEGABYTE, read_text_file
from ludarium.envs.registry import find_game
from ludarium.models import CheckpointHeader, load_header
from ludarium.training.agents import hub
from ludarium.training.agents.names import read_trained_agent

from .arguments import add_options
from .common import read_options

HELP = "put an agent on the Hugging Face Hub"
DESCRIPTION = """\
Put an agent on the Hugging Face Hub, with a card that describes it: the text of the Markdown file
beside the checkpoint, without its heading and its links to files, or else what the checkpoint
tells. Others then name the agent hf:OWNER/NAME wherever an agent is named.

  ludarium push runs/corso me/my-corso           the agent of a run
  ludarium push corso me/corso --private         a shipped one, with its page as the card

A missing repository is created; in an existing one the files are replaced. Log in to the hub once:
`hf auth login`. The client library comes with pip install "ludarium[hub]"."""

_HEADING = re.compile(r"\A\s*# .*")
#: A link to a file. No part of it goes beyond the next bracket, so that the time is linear.
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?!https?:)(?:[^()]|\([^()]*\))*\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "agent", metavar="AGENT", help="a checkpoint, a run, GAME, pocket:GAME or hf:OWNER/NAME"
    )
    parser.add_argument("repository", metavar="OWNER/NAME", help="the repository on the hub")
    parser.add_argument("--private", action="store_true", help="make a new repository private")
    add_options(parser)


def run(given: argparse.Namespace) -> int:
    """Put the files on the hub, and print the address."""
    path = read_trained_agent(given.agent).checkpoint_path(read_options(given.option))
    card = agent_card(path, load_header(path), given.repository)
    contents = {"README.md": card.encode(), hub.FILE: path.read_bytes()}
    output(hub.push(contents, given.repository, given.private))
    return 0


def agent_card(path: Path, header: CheckpointHeader, repository: str) -> str:
    """The card of an agent, from the Markdown file beside it, or else from its header.

    Args:
        path: the checkpoint, beside which the file may lie: ``corso.md`` for ``corso.safetensors``.
        header: what the checkpoint says of itself.
        repository: ``OWNER/NAME``, which the card's commands name.

    Returns:
        Markdown, after the lines of YAML that the hub reads.

    Raises:
        ValueError: there is no such game, or the file is too large, cannot be read or is not UTF-8.
    """
    game = find_game(header.game)
    beside = path.with_suffix(".md")
    if beside.is_file():
        text = read_text_file(beside, MEGABYTE, "an agent's card")
        told = _LINK.sub(r"\1", _HEADING.sub("", text, count=1)).strip()
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
            f"tags: [{', '.join(tags)}]",
            "---",
            "",
            f"# {game.title}, an agent",
            "",
            f"{game.summary} ({game.credit})" if game.credit else game.summary,
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
