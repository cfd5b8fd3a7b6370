"""``ludarium solve``: compute the exact values of positions of a game."""

from __future__ import annotations

import argparse

from . import solve_corso, solve_osiron
from .arguments import add_command

HELP = "compute the values of positions of a game"
DESCRIPTION = """\
Compute the values of positions with best play: of all of Osiron with all pieces placed, kept in a
table from which `ludarium probe` answers and the agent `perfect` plays; of Corso's first actions.
In the other games `ludarium probe` solves a late position, `ludarium accuracy` many at once.

  ludarium solve osiron                        seconds
  ludarium solve corso                         who wins after each first action of 5 x 5: minutes
  ludarium solve osiron --help                 what exactly is solved, and its options"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    games = parser.add_subparsers(metavar="GAME", required=True)
    add_command(games, "osiron", solve_osiron)
    add_command(games, "corso", solve_corso)
