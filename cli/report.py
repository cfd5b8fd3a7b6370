"""``ludarium report``: a page on a game for its inventor."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ludarium.arena.report import Report, ReportSettings, compare_options, make_report
from ludarium.arena.report.study import QUICK_GAMES, USUAL_GAMES
from ludarium.base.messages import quoted
from ludarium.envs.registry import GAMES, make_game

from .arguments import add_json, add_options, add_seed, output_file, read_games, require_writable
from .common import read_options
from .progress import shown_progress
from .result import Result

HELP = "write a page about a game: balance, drama, skill, first moves"
DESCRIPTION = """\
Play many games and write one HTML page about the game, for its inventor to read and to post. The
same figures are written as JSON beside it. The page tells who wins at each strength of play, how
fair each first move is and what a swap rule does, how long games are and how many moves there are,
when the winner is clear, how often the lead changes, how much skill there is, when first mistakes
happen, which rules come into play, whether mirror play works, and how large the game is. It has a
few games to step through. Measured figures have their numbers of games and 95 % intervals. The
page needs no other file and no network.

  ludarium report corso                                corso.html and corso.json
  ludarium report corso --quick                        a first look: seconds, wide intervals
  ludarium report onyx --option size=6 --output onyx-6.html
  ludarium report corso --compare size=5,6             two boards side by side
  ludarium report osiron --compare setup=beginner,alternating
  ludarium report corso --agent runs/corso:128         your own agent as the strongest player
  ludarium --game-module noughts report noughts        a game of your own

The strongest player is the game's shipped agent if it was trained with these options, and a tree
search otherwise. The same --seed gives the same figures on the same machine. The guide's page
"Reports on a game" explains every figure."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    add_options(parser)
    parser.add_argument(
        "--compare",
        metavar="NAME=VALUE,VALUE",
        help="an option with two or more of its values, reported side by side",
    )
    parser.add_argument(
        "--games",
        type=read_games,
        metavar="N",
        help="games of the weak search and of the strongest agent against itself (default "
        f"{USUAL_GAMES}, fewer for long games; {QUICK_GAMES} with --quick); random play has ten "
        "times as many, the strong search and each match of the ladder half as many",
    )
    parser.add_argument("--quick", action="store_true", help="few games of weaker players")
    parser.add_argument(
        "--agent", metavar="AGENT", help="the strongest player (see `ludarium agents`)"
    )
    add_seed(parser, "seed of everything drawn")
    parser.add_argument(
        "--output",
        type=output_file(".html", ".htm"),
        metavar="FILE.html",
        help="the page (default: GAME.html in this folder)",
    )
    add_json(parser)


def run(given: argparse.Namespace) -> Result:
    """Measure, write both files, return the summary."""
    game = make_game(given.game, **read_options(given.option))
    compared = None if given.compare is None else read_comparison(given.compare)
    output = given.output or Path(f"{game.name}.html")
    for file in (output, output.with_suffix(".json")):
        require_writable(file)
    chosen = {"games": given.games, "seed": given.seed, "agent": given.agent}
    settings = ReportSettings.quick(**chosen) if given.quick else ReportSettings(**chosen)
    with shown_progress() as progress:
        report: Report
        if compared is None:
            report = make_report(game, settings, progress)
        else:
            report = compare_options(game, *compared, settings, progress)
    figures = report.write(output)
    written = f"\nwritten: {output} (the page), {figures} (its figures)"
    return Result(report.data, "\n".join([*report.summary, written]))


def read_comparison(text: str) -> tuple[str, list[Any]]:
    """Name and values of ``size=5,6``.

    Raises:
        ValueError: the text is malformed.
    """
    name, equals, values = text.partition("=")
    if not equals or not name or not all(values.split(",")):
        raise ValueError(
            f"{quoted(text)} is not a comparison: write NAME=VALUE,VALUE, such as size=5,6"
        )
    return name, [read_options([f"{name}={value}"])[name] for value in values.split(",")]
