"""``ludarium page``: the games as a folder of static files, for any web host."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ludarium.base.console import output
from ludarium.envs.registry import GAMES

from .progress import shown_progress

if TYPE_CHECKING:
    from ludarium.play.variants import Variant

HELP = "write the page to play in a browser, for any web host"
DESCRIPTION = """\
Write the page on which people play the games in their browser: a folder of static files.

  ludarium page site                     all games, each with its trained agents
  ludarium page site corso onyx          some
  ludarium page site 'corso?size=6'      with options; compiled if the page lacks them
  ludarium page site runs/mine           with the agent of a run of yours

Copy the folder to any web host, under any path: it needs no server program, and no address in it
needs to be changed. Rules, search and network run in the visitor's browser (Chrome 91, Firefox 89,
Safari 16.4, or newer), and a game that was played once works offline. The page asks no other
site for anything. A visitor loads the page and a game: with a shipped agent at most 1.5 MB.

Parts that the installed page has, or that were built before, are taken from there. Missing parts
are built on all cores: a module for each game and its options (ziglang: pip install
"ludarium[wasm]"), each in up to a minute. To replace a page, write a new folder beside it. To
look at the page here: ludarium play corso."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        help="a new or empty folder",
    )
    parser.add_argument(
        "games",
        nargs="*",
        metavar="GAME[?OPTION=VALUE&...]|CHECKPOINT",
        help=f"games, checkpoints, or runs' folders; default: all games ({', '.join(GAMES)})",
    )


def run(given: argparse.Namespace) -> int:
    """Write the folder."""
    try:
        return _write(given)
    except ModuleNotFoundError as error:
        raise ImportError(
            f'building the page needs more packages ({error}): pip install "ludarium[wasm]"'
        ) from error


def _write(given: argparse.Namespace) -> int:
    from ludarium.play.site import write_site

    variants: dict[str, Variant] = {}
    for text in given.games or GAMES:
        for variant in _variants_of(text):
            other = variants.setdefault(variant.id, variant)
            if other.agent != variant.agent:
                raise ValueError(
                    f"{other.agent} and {variant.agent} have one name on the page, "
                    f"{variant.label}: rename one"
                )
    with shown_progress() as progress:
        site = write_site(given.folder, list(variants.values()), progress)
    output(f"{given.folder}: {len(site.files)} files, {site.bytes / 1e6:.1f} MB")
    return 0


def _variants_of(text: str) -> list[Variant]:
    from ludarium.play.build import read_game
    from ludarium.play.variants import Variant, usual_variants
    from ludarium.training.agents.checkpoints import CheckpointSpec

    if "?" in text:
        return [Variant.of(read_game(text))]
    path = Path(text)
    if text in GAMES or not (len(path.parts) > 1 or path.exists()):
        return usual_variants(text)
    agent = CheckpointSpec(path=path)
    return [Variant.of_checkpoint(agent, agent.choose_game({}))]
