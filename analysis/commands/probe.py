"""``ludarium probe``: ask a solved game what a position and its actions are worth."""

from __future__ import annotations

import argparse

from . import corso, osiron

_DESCRIPTION = """\
Say what a position of a solved game is worth, and each action in it, the best first.

  ludarium probe osiron --moves "b1-c1 c2-c1"
  ludarium probe corso --moves "c3 b2 c2 b3"   searched: seconds to minutes
  ludarium probe osiron --help                 options of the game"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "probe",
        help="say what a position of a solved game is worth",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    games = parser.add_subparsers(metavar="GAME", required=True)
    osiron.add_probe(games)
    corso.add_probe(games)
