"""``ludarium solve osiron``."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict

from ludarium.analysis import Answer, Progress
from ludarium.analysis.osiron import OsironSolution, Totals, rule_set, table_path
from ludarium.envs.registry import make_game

from .common import add_json, add_options, print_json, read_options
from .progress import status
from .resources import add_threads

_DESCRIPTION = """\
Compute what every position of Osiron is worth to its mover - won, lost or drawn, and in how
many plies if the winner hurries and the loser delays - by retrograde analysis: from the
finished games backwards, on all cores, in seconds. A position is a colouring of the 24
spaces, a player to move, and the pair that may not be exchanged back, if any.

Play without end counts as a draw; draws by repetition and the ply cap are ignored.

  ludarium solve osiron                              beginner rules
  ludarium solve osiron --option setup=alternating   all circles count; holds for random too
  ludarium probe osiron --moves "b1-c1"              ask it
  ludarium play osiron --opponent perfect            play against the solution"""


def add_solve(games: argparse._SubParsersAction) -> None:
    """Describe ``ludarium solve osiron``."""
    parser = games.add_parser(
        "osiron",
        help="every position, in seconds",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="where the table goes; default: the folder where probe and perfect look for it, "
        f"{table_path('RULES')}",
    )
    add_threads(parser)
    add_json(parser)
    parser.set_defaults(run=solve)


def solve(given: argparse.Namespace) -> int:
    """Solve, keep the table, print the totals."""
    game = make_game("osiron", **read_options(given.option))
    started = time.perf_counter()
    layers = 0
    with status("looking for finished games") as say:

        def show(progress: Progress) -> None:
            nonlocal layers
            layers = progress.done
            say(progress.stage)

        solution = OsironSolution.solve(game, show, given.threads)
        start = solution.value(game.start())
        totals = solution.totals
        path = solution.save(given.output or table_path(rule_set(game)))
    seconds = time.perf_counter() - started
    if given.json:
        result = {
            "game": game.name,
            "options": dict(game.options),
            "rules": rule_set(game),
            **asdict(totals),
            "start": Answer.exact(start).as_json(),
            "layers": layers,
            "seconds": round(seconds, 2),
            "table": str(path),
            "bytes": path.stat().st_size,
        }
        print_json(result)
    else:
        print(f"{game}, rules {rule_set(game)!r}, solved in {seconds:.1f} s")
        print(_totals_text(totals))
        print(f"value of the start for player_0: {start}")
        print(f"table: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _totals_text(totals: Totals) -> str:
    rows = [
        ("for the mover", "no forbidden pair", "all positions"),
        ("won", f"{totals.won:,}", f"{totals.won_all:,}"),
        ("lost", f"{totals.lost:,}", f"{totals.lost_all:,}"),
        ("drawn", f"{totals.drawn:,}", f"{totals.drawn_all:,}"),
        ("longest win", f"{totals.longest_win_unforbidden} plies", f"{totals.longest_win} plies"),
    ]
    return "\n".join(f"  {name:<14} {free:>18} {every:>16}" for name, free, every in rows)
