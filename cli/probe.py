"""``ludarium probe``: ask what a position and its actions are worth with best play."""

from __future__ import annotations

import argparse

from ludarium.envs.registry import GAMES

from . import solve_corso, solve_late, solve_osiron

_DESCRIPTION = """\
Say what a position is worth with best play, and each action in it, the best first. Osiron has a
table of all positions; in the other games late positions are searched to the end.

  ludarium probe osiron --moves "b1-c1 c2-c1"
  ludarium probe corso --moves "c3 b2 c2 b3"   searched: seconds to minutes
  ludarium probe onyx --record game.json       the end of a game that `play` saved
  ludarium probe osiron --help                 options of the game"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "probe",
        help="say what a position is worth, exactly",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    games = parser.add_subparsers(metavar="GAME", required=True)
    solve_osiron.add_probe(games)
    solve_corso.add_probe(games)
    for name in GAMES:
        if name not in games.choices:
            solve_late.add_probe(games, name)
