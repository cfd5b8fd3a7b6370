"""``ludarium solve osiron``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from ludarium.analysis import Answer, Progress
from ludarium.analysis.osiron import (
    Counts,
    OsironSolution,
    SolvedTable,
    all_rule_sets,
    table_path,
    view_of_game,
)
from ludarium.envs.registry import make_game

from .common import add_json, add_options, print_json, read_options
from .progress import status
from .resources import add_threads

_DESCRIPTION = """\
Compute what every position of Osiron is worth to its mover - won, lost or drawn, and in how
many plies if the winner hurries and the loser delays - by retrograde analysis: from the
finished games backwards, on all cores, in seconds. A position is a colouring of the 24
spaces, a player to move, the kind of exchange, and the pair that may not be exchanged back,
if any. There is a table for each movement and for each way, up to symmetry, in which circles
do not count: 11 with basic movement, 18 with advanced, where it matters who begins the rounds.

Play without end counts as a draw; draws by repetition and the ply cap are ignored. From an
empty start the placing decides which table holds.

  ludarium solve osiron                              beginner's start, basic movement
  ludarium solve osiron --option movement=advanced --option setup=alternating
  ludarium solve osiron --option setup=LLLLLDLLLDLLDDLDDDDLDDDD
  ludarium solve osiron --all --option movement=advanced --json       all 18 tables
  ludarium probe osiron --moves "b1-c1"              ask it
  ludarium play osiron --opponent perfect            play against the solution

Tables are named by the circles that do not count, 1 to 7 from the bottom left, first those of
the player who begins the rounds: 12-67 in the beginner's start, 0-0 where all count."""


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
        "--all", action="store_true", help="all tables of the movement, whatever the setup"
    )
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
    """Solve, keep the tables, print how many positions have which value."""
    game = make_game("osiron", **read_options(given.option))
    if given.all and given.output:
        raise ValueError("--all makes many tables: leave out --output")
    if given.all:
        wanted = [(rules, 0) for rules in all_rule_sets(game.options["movement"])]
    else:
        rules, view = view_of_game(game)
        wanted = [(rules, int(view[0].exchanged))]
    results = []
    for rules, exchanged in wanted:
        started = time.perf_counter()
        layers = 0
        with status("looking for finished games") as say:

            def show(progress: Progress) -> None:
                nonlocal layers
                layers = progress.done
                say(progress.stage)

            table = SolvedTable.solve(rules, show, given.threads)
        seconds = time.perf_counter() - started
        path = table.save(given.output or table_path(rules))
        results.append(
            {
                "rules": str(rules),
                "phases": _phases(table, exchanged),
                "layers": layers,
                "seconds": round(seconds, 2),
                "table": str(path),
                "bytes": path.stat().st_size,
            }
        )
        if not given.json:
            print(f"osiron {rules}, solved in {seconds:.1f} s")
            print(_counts_text(table, exchanged))
            print(f"table: {path} ({path.stat().st_size / 1e6:.1f} MB)")
    if given.all:
        if given.json:
            print_json({"game": game.name, "tables": results})
        return 0
    start = OsironSolution(game, table).value(game.start())
    if given.json:
        print_json(
            {
                "game": game.name,
                "options": dict(game.options),
                **results[0],
                "start": Answer.exact(start).as_json(),
            }
        )
    else:
        print(f"value of the start of {game} for player_0: {start}")
    return 0


def _phases(table: SolvedTable, exchanged: int) -> list[dict[str, Any]]:
    """The counts of each phase; whether the table has the players exchanged or not."""
    return [
        {
            "mover": f"player_{phase % 2 ^ exchanged}",
            "exchange": _exchange(phase),
            "free": counts[0].as_json(),
            "forbidden": counts[1].as_json() if len(counts) > 1 else None,
        }
        for phase, counts in enumerate(table.counts)
    ]


def _exchange(phase: int) -> str:
    return ("bordering", "pointing")[phase // 2]


def _counts_text(table: SolvedTable, exchanged: int) -> str:
    heads = ("to move", "exchange", "forbidden pair", "won", "lost", "drawn", "longest win")
    rows = [heads]
    for phase, counts in enumerate(table.counts):
        for name, part in zip(("none", "each"), counts, strict=False):
            rows.append((f"player_{phase % 2 ^ exchanged}", _exchange(phase), name, *_cells(part)))
    return "\n".join(
        "  " + "".join(f"{cell:<16}" for cell in row[:3]) + "".join(f"{c:>14}" for c in row[3:])
        for row in rows
    )


def _cells(counts: Counts) -> tuple[str, ...]:
    numbers = (counts.won, counts.lost, counts.drawn + counts.without_exchange)
    return *(f"{number:,}" for number in numbers), f"{counts.longest_win} plies"
