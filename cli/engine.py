"""``ludarium engine``: an analysis engine for other programs, JSON lines in and out."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ludarium.analysis.engine import Engine, format_line
from ludarium.base.console import output, say
from ludarium.envs.registry import GAMES

from .arguments import add_options, add_simulations
from .common import AGENTS_HELP, FALLBACK, agent_for, read_options
from .interrupt import STOPPED
from .result import warn

_SIMULATIONS = 1_000

HELP = "analyse positions for other programs: JSON lines in and out"
DESCRIPTION = f"""\
Analyse positions for another program, such as a front end or a bot: requests come as lines of JSON
on standard input, answers go as lines of JSON to standard output. The protocol follows
KataGo's analysis engine; the guide's page "The analysis engine" documents it.

  ludarium engine corso
  ludarium engine onyx --option size=12 --agent runs/onyx --simulations 5000
  echo '{{"id":"a","moves":["c3","b2"],"simulations":500}}' | ludarium engine corso

Other requests, each on a line of its own:
  {{"id":"b","moves":["c3","b2"],"analyzeTurns":[0,1,2],"seconds":2,"reportDuringSearchEvery":0.5}}
  {{"id":"c","action":"terminate","terminateId":"b"}}
  {{"id":"d","action":"query_version"}}

At the end of the input waiting requests are finished; Ctrl-C stops at once. Messages go to standard
error.

{AGENTS_HELP}"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("game", metavar="GAME", help=", ".join(GAMES))
    parser.add_argument(
        "--agent",
        metavar="AGENT",
        help=f"agent that analyses (default: the shipped agent, or {FALLBACK} if none fits)",
    )
    about = "simulations for a request that sets neither simulations nor seconds"
    add_simulations(parser, about, _SIMULATIONS)
    add_options(parser)


def run(given: argparse.Namespace) -> int:
    """Serve until standard input ends; the exit status is 130 after Ctrl-C."""
    _, agent, notes = agent_for(given.game, given.agent, read_options(given.option))
    for note in notes:
        warn(note)
    engine = Engine(agent, _write, given.simulations)
    say(f"ludarium: {agent.game} is ready, {agent.thinker} thinks")
    try:
        engine.serve(sys.stdin.buffer)
    except KeyboardInterrupt:
        engine.abort()
        return STOPPED
    except OSError:  # nobody can read the answers
        engine.abort()
        raise
    return 0


def _write(answer: dict[str, Any]) -> None:
    output(format_line(answer), end="")
