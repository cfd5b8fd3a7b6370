"""``ludarium tournament``: everyone against everyone, or some against the others, rated."""

from __future__ import annotations

import argparse

from ludarium.analysis.figures import SUFFIXES
from ludarium.arena.contest import Contest, Tournament
from ludarium.arena.plot import plot_ratings
from ludarium.arena.standings import Standings
from ludarium.base.messages import quoted

from .arguments import add_games, output_file
from .common import AGENTS_HELP
from .contests import add_contest, result_of, run_contest
from .result import Result, warn

HELP = "rate any list of agents by a round robin or a gauntlet"
DESCRIPTION = f"""\
Play a tournament on all cores: a round robin, or a gauntlet of some agents against the others.
Print ratings with 95 % intervals, the cross-table, the value of moving first, and draws.

  ludarium tournament random greedy uct:100 uct:1000 corso:16 corso
  ludarium tournament random uct:100 corso --games 400 --folder tour --plot elo.svg
  ludarium tournament --folder tour                    resumes after Ctrl-C or a kill, or shows it
  ludarium tournament --folder tour --show             the present state, even while it is played
  ludarium tournament runs/a random uct:100 uct:1000 --gauntlet 1    runs/a against the rest
  ludarium tournament uct:100 uct:1000 --game onyx --option size=8 --anchor uct:1000=1000
                                      on the scale by which training rates its agents

With --folder, each game is kept as a record in a line of games.jsonl, beside results.json and
table.txt, and the same command resumes after a stop, also after that of an agent that fails. Games
start from varied openings, each played from both seats. The same seed gives the same games on any
number of cores and after any interruption, unless an agent thinks for a time, or is a program or a
language model.

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="two or more agents")
    add_games(parser, f"games of each pairing (default {Tournament.games})", None)
    parser.add_argument(
        "--gauntlet",
        action="append",
        default=[],
        metavar="N|AGENT",
        help="the first N agents, or this one (may be repeated), meet the others but not each "
        "other; default: everyone meets everyone",
    )
    parser.add_argument(
        "--anchor",
        action="append",
        default=[],
        metavar="AGENT=ELO",
        help="fix an agent's rating (may be repeated); default: the mean of all is 0",
    )
    parser.add_argument(
        "--plot",
        type=output_file(*SUFFIXES),
        metavar="FILE",
        help=f"draw the ratings with their intervals: {', '.join(SUFFIXES)}",
    )
    add_contest(parser)


def run(given: argparse.Namespace) -> Result:
    """Play the tournament, and return the standings."""
    gauntlet = _read_gauntlet(given.gauntlet, given.agents)
    settings = {"games": given.games, "gauntlet": gauntlet}
    contest = run_contest(given, Tournament, settings, _read_anchors(given.anchor))
    if given.plot is not None and contest is not None:
        _plot(given, contest)
    return result_of(contest)


def _plot(given: argparse.Namespace, contest: Contest) -> None:
    if isinstance(contest.outcome, Standings):
        game = contest.game
        options = ", ".join(f"{name}={value}" for name, value in game.options.items())
        title = f"{game.title} ({options})" if options else game.title
        plot_ratings(contest.outcome, given.plot, title)
    else:
        warn("nothing is drawn: there are no standings yet")


def _read_gauntlet(texts: list[str], agents: list[str]) -> tuple[str, ...] | None:
    if agents and len(texts) == 1 and texts[0].isdecimal() and texts[0] not in agents:
        count = int(texts[0])
        if not 1 <= count < len(agents):
            raise ValueError(
                f"--gauntlet {count}: of {len(agents)} agents, 1 to {len(agents) - 1} can run it"
            )
        return tuple(agents[:count])
    return tuple(texts) or None


def _read_anchors(texts: list[str]) -> dict[str, float]:
    anchors = {}
    for text in texts:
        name, equals, elo = text.rpartition("=")
        try:
            anchors[name] = float(elo)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise ValueError(
                f"{quoted(text)} is not an anchor: write AGENT=ELO, such as uct:1000=1000"
            )
    return anchors
