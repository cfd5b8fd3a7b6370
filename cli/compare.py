"""``ludarium compare``: is A stronger than B? With as few games as possible."""

from __future__ import annotations

import argparse

from ludarium.arena.contest import Comparison
from ludarium.arena.sprt import MOST_REPEATS

from .arguments import read_games
from .common import AGENTS_HELP
from .contests import add_contest, result_of, run_contest
from .result import Result

_RATES = {
    "elo0": "how much stronger A is under H0",
    "elo1": "how much stronger A is under H1",
    "alpha": "how often H1 may be accepted although H0 is true",
    "beta": "how often H0 may be accepted although H1 is true",
}

HELP = "is A stronger than B? by a sequential test (SPRT)"
DESCRIPTION = f"""\
Play two agents against each other until a sequential test (SPRT) tells whether A is stronger than
B, with stated rates of error. H0: A is --elo0 Elo points stronger; H1: A is --elo1 points stronger.
The test ends when the logarithm of the likelihood ratio (LLR) reaches one of its bounds.

  ludarium compare runs/corso corso                         is mine stronger than the shipped agent?
  ludarium compare uct:400 uct:200 --game corso --elo1 50
  ludarium compare corso:64 corso:32 --folder test          keeps the games
  ludarium compare --folder test                            resumes, or shows the result
  ludarium compare a.safetensors b.safetensors --elo0 -20 --elo1 0    is it no weaker?

The closer --elo0 and --elo1 are, the more games it takes: at 5 % errors about 600 for 0 and 30, 60
for 0 and 100. Games start from varied openings, each played from both seats; the pairs count.
A pair that repeats an earlier one does not count, and {MOST_REPEATS} of them in a row end the test.
The interval of the Elo difference is computed as for a number of games fixed in advance.
Normalised Elo, as testers of chess engines use it, counts in standard deviations of a game.

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="A and B")
    for name, text in _RATES.items():
        default = getattr(Comparison, name)
        parser.add_argument(f"--{name}", type=float, help=f"{text} (default {default:g})")
    parser.add_argument(
        "--games-limit",
        type=read_games,
        metavar="N",
        help="games after which the test ends without a verdict (default "
        f"{Comparison.games_limit:,})",
    )
    parser.add_argument(
        "--normalised",
        action="store_true",
        default=None,
        help="--elo0 and --elo1 are normalised Elo, in standard deviations of a game",
    )
    add_contest(parser)


def run(given: argparse.Namespace) -> Result:
    """Play, showing the state of the test, and return the verdict."""
    if given.agents and len(given.agents) != 2:
        raise ValueError(
            f"a comparison is of two agents, A and B, not of {len(given.agents)}: "
            "`ludarium compare uct:200 uct:100 --game corso`"
        )
    settings = {name: getattr(given, name) for name in (*_RATES, "games_limit", "normalised")}
    return result_of(run_contest(given, Comparison, settings))
