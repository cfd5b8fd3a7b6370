"""``ludarium solve``: compute the exact values of positions of a game."""

from __future__ import annotations

import argparse

from . import solve_corso, solve_osiron

_DESCRIPTION = """\
Compute what positions of a game are worth with best play: all of Osiron's, kept in a table from
which `ludarium probe` answers at once and the agent `perfect` plays; the first actions of Corso.
Late positions of the other games: `ludarium probe`, and `ludarium accuracy` for many at once.

  ludarium solve osiron                        seconds
  ludarium solve corso                         who wins after each first action of 5 x 5: minutes
  ludarium solve osiron --help                 what exactly is solved, and its options"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "solve",
        help="compute what positions of a game are worth",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    games = parser.add_subparsers(metavar="GAME", required=True)
    solve_osiron.add_solve(games)
    solve_corso.add_solve(games)
