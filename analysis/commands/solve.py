"""``ludarium solve``: compute what every position of a game is worth."""

from __future__ import annotations

import argparse

from . import corso, osiron

_DESCRIPTION = """\
Compute what every position of a game is worth under perfect play, and keep it in a table.
With the table, `ludarium probe` answers at once, and the agent `perfect` plays.

  ludarium solve osiron                        seconds
  ludarium solve corso                         who wins after each first action of 5 x 5: minutes
  ludarium solve osiron --help                 what exactly is solved, and its options"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="compute what every position of a game is worth",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    games = parser.add_subparsers(metavar="GAME", required=True)
    osiron.add_solve(games)
    corso.add_solve(games)
