"""``ludarium page``: the games as a folder of static files, for any web host."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ludarium.envs.engine.console import output, say
from ludarium.envs.registry import GAMES

if TYPE_CHECKING:
    from ludarium.play.variants import Variant

HELP = "write the page to play in a browser, for any web host"
DESCRIPTION = """\
Write the page on which people play the games in their browser: a folder of static files.

  ludarium page site                     all games, each with its trained agents
  ludarium page site corso onyx          some
  ludarium page site 'corso?size=6'      with options; compiled where the page lacks them

Copy the folder to any web host, under any path: there is no server to run, and no address in it
needs to be changed. Rules, search and network run in the visitor's browser (Chrome 91, Firefox 89,
Safari 16.4, or newer), and what was played once works without a connection. It asks no other
site for anything. A visitor loads the page and the game at hand, at most 1.5 MB.

What the page that came with the installation has is taken from there. What that lacks is built: a
module for each game and its options (ziglang: pip install "ludarium[wasm]"). To replace a page,
write a new folder beside it. To look at the page here: ludarium play corso."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=Path,
        help="a new or an empty one",
    )
    parser.add_argument(
        "games",
        nargs="*",
        metavar="GAME[?OPTION=VALUE&...]",
        help=f"default: all ({', '.join(GAMES)})",
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

    variants = {
        variant.id: variant for text in given.games or GAMES for variant in _variants_of(text)
    }
    site = write_site(given.folder, list(variants.values()), say)
    output(f"{given.folder}: {len(site.files)} files, {site.bytes / 1e6:.1f} MB")
    return 0


def _variants_of(text: str) -> list[Variant]:
    from ludarium.play.build import read_game
    from ludarium.play.variants import Variant, usual_variants

    return [Variant.of(read_game(text))] if "?" in text else usual_variants(text)
